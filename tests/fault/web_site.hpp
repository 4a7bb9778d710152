// A local web site with the problems that a crawler meets in practice.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

// Serves pages /p/0 to /p/n-1, each of which links to some others and to itself. Some pages are
// slow, huge, malformed, errors, or redirect in a circle; some do not answer the first request.
// Listens only on the loopback address, on a port that the system chooses.
class web_site {
 public:
  explicit web_site(int pages);
  ~web_site();
  web_site(const web_site&) = delete;
  web_site& operator=(const web_site&) = delete;

  // The address of a path.
  [[nodiscard]] std::string url(const std::string& path) const;
  // All pages that exist and that a crawler can find.
  [[nodiscard]] std::set<std::string> all() const;

  // Waits until all earlier requests are complete, including those of a process that has ended.
  void settle();
  // take_asked(): requests per page since the last call. answered(): pages that were ever answered.
  // requests(): total number of requests.
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

  mutable std::mutex mu_;  // guards all members below
  std::map<std::string, int> asked_;
  std::map<std::string, int> asked_ever_;
  std::set<std::string> answered_;
  std::vector<std::thread> connections_;

  std::thread acceptor_;
};
