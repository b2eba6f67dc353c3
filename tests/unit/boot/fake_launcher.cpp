// SPDX-License-Identifier: BSD-3-Clause
#include "fake_launcher.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "boot/pmi1_text.hpp"

namespace herald::boot::test {

FakeLauncher::FakeLauncher(Rule rule, bool torn) : rule_{std::move(rule)}, torn_{torn} {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  client_fd_ = ends[0];
  server_fd_ = ends[1];
  thread_ = std::thread{[this] { serve(); }};
}

FakeLauncher::~FakeLauncher() {
  ::shutdown(server_fd_, SHUT_RDWR);
  thread_.join();
  ::close(server_fd_);
  ::close(client_fd_);
}

Environment FakeLauncher::environment(int rank, int size) const {
  return Environment{{"PMI_FD=" + std::to_string(client_fd_), "PMI_RANK=" + std::to_string(rank),
                      "PMI_SIZE=" + std::to_string(size), "PATH=/bin"}};
}

std::vector<std::string> FakeLauncher::heard() const {
  std::lock_guard lock{mutex_};
  return heard_;
}

void FakeLauncher::set(const std::string& key, const std::string& value) {
  std::lock_guard lock{mutex_};
  store_[key] = value;
}

bool FakeLauncher::wait_for(const std::string& line) const {
  for (int i = 0; i < 5000; ++i) {
    auto lines = heard();
    if (std::find(lines.begin(), lines.end(), line) != lines.end()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return false;
}

bool FakeLauncher::send(const std::string& text) const {
  std::size_t step = torn_ ? 3 : text.size();
  for (std::size_t i = 0; i < text.size(); i += step) {
    if (::send(server_fd_, text.data() + i, std::min(step, text.size() - i), MSG_NOSIGNAL) < 0) return false;
    if (torn_) std::this_thread::sleep_for(std::chrono::microseconds{50});
  }
  return true;
}

std::string FakeLauncher::answer(const std::string& line) {
  std::string command{field(line, "cmd").value_or("")};
  if (command == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
  if (command == "get_maxes") return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024";
  if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_17_0";
  if (command == "get_appnum") return "cmd=appnum appnum=2";
  if (command == "get_universe_size") return "cmd=universe_size size=-1";
  if (command == "barrier_in") return "cmd=barrier_out";
  if (command == "finalize") return "cmd=finalize_ack";
  std::lock_guard lock{mutex_};
  std::string key{field(line, "key").value_or("")};
  if (command == "put") {
    if (!store_.emplace(key, field(line, "value").value_or("")).second)
      return "cmd=put_result rc=-1 msg=duplicate";
    return "cmd=put_result rc=0 msg=success";
  }
  if (command == "get") {
    auto found = store_.find(key);
    if (found == store_.end()) return "cmd=get_result rc=-1 msg=key_not_found value=unknown";
    return "cmd=get_result rc=0 msg=success value=" + found->second;
  }
  return {};
}

void FakeLauncher::serve() {
  std::string buffer;
  char bytes[512];
  for (;;) {
    std::size_t end = buffer.find('\n');
    if (end == std::string::npos) {
      ssize_t got = ::recv(server_fd_, bytes, sizeof bytes, 0);
      if (got <= 0) return;
      buffer.append(bytes, static_cast<std::size_t>(got));
      continue;
    }
    std::string line = buffer.substr(0, end);
    buffer.erase(0, end + 1);
    {
      std::lock_guard lock{mutex_};
      heard_.push_back(line);
    }
    std::string reply = rule_ ? rule_(line) : "";
    if (reply == kHangUp) {
      ::shutdown(server_fd_, SHUT_RDWR);
      return;
    }
    if (reply == kSilence) continue;
    if (reply.empty()) reply = answer(line);
    if (!reply.empty() && !send(reply + "\n")) return;
  }
}

}  // namespace herald::boot::test
