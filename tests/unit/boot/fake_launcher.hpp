// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/boot/fake_launcher.hpp: a PMI-1 server in a thread on one end of a socketpair, for one client.
// It records the lines it receives and can answer wrongly, late, in pieces, or close the connection.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace herald::boot::test {

// An environment as `environ` is.
class Environment {
 public:
  explicit Environment(std::vector<std::string> entries) : entries_{std::move(entries)} {
    for (auto& entry : entries_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
  }
  char** get() { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

class FakeLauncher {
 public:
  static constexpr char kHangUp[] = "(hang up)";
  static constexpr char kSilence[] = "(silence)";
  // Returns the answer to a line; an empty answer selects the default behaviour, kHangUp closes the
  // connection.
  using Rule = std::function<std::string(const std::string&)>;

  explicit FakeLauncher(Rule rule = {}, bool torn = false);
  ~FakeLauncher();

  int client_fd() const { return client_fd_; }
  Environment environment(int rank, int size) const;
  std::vector<std::string> heard() const;        // all lines so far
  bool wait_for(const std::string& line) const;  // until `line` is received; false after five seconds
  void set(const std::string& key, const std::string& value);  // as if another rank had put it

 private:
  void serve();
  std::string answer(const std::string& line);
  bool send(const std::string& text) const;

  Rule rule_;
  bool torn_;
  int client_fd_ = -1;
  int server_fd_ = -1;
  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
  std::map<std::string, std::string> store_;
  std::thread thread_;
};

}  // namespace herald::boot::test
