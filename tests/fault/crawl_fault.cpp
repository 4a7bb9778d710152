// Stops and kills the program crawl at random moments, on a local web site, until it is done: no
// page is lost, and no completed page is fetched again.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>

#include "../support/temporary_folder.hpp"
#include "web_site.hpp"

#ifndef TAKT_CRAWL  // the build defines the absolute path
#define TAKT_CRAWL "crawl"
#endif

namespace {

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

// A process that runs crawl.
class process {
 public:
  process(const std::vector<std::string>& arguments) {  // NOLINT(google-explicit-constructor)
    std::vector<std::string> words{TAKT_CRAWL};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
    }
    if (posix_spawn(&id_, TAKT_CRAWL, &files, nullptr, argv.data(), environ) != 0) id_ = -1;
    posix_spawn_file_actions_destroy(&files);
  }
  ~process() {
    if (id_ <= 0 || status_) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  void send(int signal) const {
    if (!status_) kill(id_, signal);
  }
  [[nodiscard]] bool has_ended() {
    int status = 0;
    if (!status_ && waitpid(id_, &status, WNOHANG) == id_) status_ = status;
    return status_.has_value();
  }
  // Returns the exit code, or the negated number of the signal that ended the process.
  [[nodiscard]] int result() const {
    return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -WTERMSIG(*status_);
  }

 private:
  pid_t id_ = -1;
  std::optional<int> status_;
};

// Polls until the deadline.
template <class Condition>
bool comes_true(time_point deadline, Condition condition) {
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

std::uint64_t seed_of_this_run() {
  const char* const given = std::getenv("TAKT_FAULT_SEED");
  return given == nullptr ? std::random_device()() : std::strtoull(given, nullptr, 10);
}

// The incomplete pages of a list, and how often each page was accepted: a page is accepted again
// for each shorter path.
struct pages_in_list {
  std::set<std::string> open;
  std::map<std::string, int> accepted;
};
pages_in_list read_list(const takt::file_work_queue& list, const web_site& site) {
  const auto path_of = [&](const std::string& key) {  // a key is URL#DEPTH
    const std::size_t from = site.url("").size();
    return key.substr(from, key.rfind('#') - from);
  };
  pages_in_list all;
  for (const takt::work_item& item : list.incomplete()) {
    all.open.insert(path_of(item.key));
    ++all.accepted[path_of(item.key)];
  }
  for (const std::string& key : list.completed_keys()) ++all.accepted[path_of(key)];
  return all;
}

TEST(crawl, loses_nothing_when_it_is_stopped_and_killed) {
  const std::uint64_t seed = seed_of_this_run();
  std::printf("TAKT_FAULT_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::uint64_t n) { return random() % n; };

  const time_point deadline = std::chrono::steady_clock::now() + 40s;
  web_site site(300);
  const takt_test::temporary_folder folder;
  const std::filesystem::path file = folder / "list";
  constexpr std::size_t workers = 8;

  pages_in_list before;         // at the end of the previous round
  std::set<std::string> asked;  // all pages requested so far
  std::size_t again = 0;
  int rounds = 0;
  int result = -1;
  for (; result != 0; ++rounds) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "too slow, in round " << rounds;
    std::vector<std::string> arguments{
        "--list",        file.string(), "--delay", "1",         "--depth",
        "1000",          "--max-bytes", "5000000", "--workers", std::to_string(workers),
        site.url("/p/0")};
    if (up_to(2) == 0) arguments.emplace_back("--no-sync");
    process crawl(arguments);

    // Stops or kills the process, or both, after some requests; in the last rounds it runs to its
    // end.
    const std::size_t enough = site.requests() + up_to(60);
    const std::uint64_t how = rounds < 20 ? up_to(4) : 4;
    ASSERT_TRUE(comes_true(
        deadline, [&] { return crawl.has_ended() || (how != 4 && site.requests() >= enough); }));
    if (how <= 1) crawl.send(SIGINT);
    if (how == 1) {
      const time_point moment =
          std::chrono::steady_clock::now() + std::chrono::microseconds(up_to(5000));
      comes_true(moment, [] { return false; });
    }
    if (how >= 1 && how <= 2) crawl.send(SIGKILL);
    if (how == 3) crawl.send(SIGTERM);
    ASSERT_TRUE(comes_true(deadline, [&] { return crawl.has_ended(); })) << "does not stop";
    result = crawl.result();
    site.settle();
    const std::map<std::string, int> now = site.take_asked();
    // A signal kills the process only if it arrives before the process has made any request.
    const bool too_early = now.empty() && (result == -SIGINT || result == -SIGTERM);
    ASSERT_TRUE(result == 0 || result == 3 || result == -SIGKILL || too_early) << result;
    const takt::file_work_queue list(file);  // opens, whatever has happened to the process
    pages_in_list after = read_list(list, site);
    for (const auto& [path, times] : now) {
      const int was_open = before.open.contains(path) ? 1 : 0;
      const int accepted = after.accepted[path] - before.accepted[path];
      EXPECT_LE(times, was_open + accepted) << path << " in round " << rounds;
      if (!asked.insert(path).second && was_open != 0) ++again;
    }
    before = std::move(after);
    if (result == 0) {
      EXPECT_TRUE(before.open.empty());
      EXPECT_EQ(before.accepted.size(), site.all().size());
    }
  }
  EXPECT_EQ(site.answered(), site.all());
  EXPECT_GT(rounds, 3);
  EXPECT_LE(again, static_cast<std::size_t>(rounds) * workers);
  std::printf("%d rounds, %zu pages, %zu of them again\n", rounds, asked.size(), again);
}

}  // namespace
