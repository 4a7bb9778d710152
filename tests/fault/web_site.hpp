// A web site on this machine, with all that a crawler meets in the wild.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

// Serves pages /p/0 to /p/n-1, each of which links to some others and to itself. Some of them are
// slow, huge, malformed, errors, or redirect in a circle; some say nothing when they are first
// asked for. Only on the loopback address, at a port that the system chooses.
class web_site {
 public:
  explicit web_site(int pages);
  ~web_site();
  web_site(const web_site&) = delete;
  web_site& operator=(const web_site&) = delete;

  // The address of a path.
  [[nodiscard]] std::string url(const std::string& path) const;
  // All pages that there are, and that a crawler can find.
  [[nodiscard]] std::set<std::string> all() const;

  // Waits until all requests are dealt with that were made before, also by a process that is gone.
  void settle();
  // How often each page was asked for since the last call; those that were ever answered; how many
  // requests there were.
  std::map<std::string, int> take_asked();
  [[nodiscard]] std::set<std::string> answered() const;
  [[nodiscard]] std::size_t requests() const { return requests_; }

 private:
  void accept_all();
  void serve(int connection);
  std::string answer(const std::string& path);
  bool send_all(int connection, const std::string& bytes) const;

  const int pages_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<int> served_now_ = 0;

  mutable std::mutex mu_;  // of all below
  std::map<std::string, int> asked_;
  std::map<std::string, int> asked_ever_;
  std::set<std::string> answered_;
  std::vector<std::thread> connections_;

  std::thread acceptor_;
};
