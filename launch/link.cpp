// SPDX-License-Identifier: BSD-3-Clause
#include "link.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "host_job.hpp"
#include "relay.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kReachNotice{10'000}, kReach{60'000};  // for the proxy's first words
constexpr milliseconds kAliveEvery{3000};
constexpr milliseconds kSilence{20'000};  // the other end has gone
constexpr milliseconds kEnd{2000};        // for the last output
constexpr std::size_t kInputWindow = 64 * 1024, kMostWords = 4000;
constexpr int kTurn = 200;

struct Pipe {
  int reader = -1, writer = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error(cat("cannot open a pipe: ", std::strerror(errno)));
    reader = ends[0];
    writer = ends[1];
  }
};

int watch_signals(std::initializer_list<int> numbers) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : numbers) sigaddset(&mask, number);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

int next_signal(int fd) {
  signalfd_siginfo info{};
  return read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo)
                                                                           : 0;
}

void unblock_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
}

// The process of the remote shell. It dies with the link. In a session of its own: Linux autogroup gives a
// session, not a process, its share of a busy processor, and all shells compute keys at once.
pid_t start_shell(const std::vector<std::string>& words, const Pipe& in, const Pipe& out, const Pipe& err) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  dup2(in.reader, 0);
  dup2(out.writer, 1);
  dup2(err.writer, 2);
  unblock_signals();
  execvp(argv[0], argv.data());
  dprintf(2, "cannot execute %s: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
  while (!text.empty() && text.back() == ' ') text.pop_back();
  while (text.find("  ") != std::string::npos) text.erase(text.find("  "), 1);
  return text;
}

class Link {
 public:
  explicit Link(const std::vector<std::string>& words)
      : host_(words.at(0)), signals_(watch_signals({SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})) {
    const Pipe in, out, err;
    shell_ = start_shell({words.begin() + 1, words.end()}, in, out, err);
    if (shell_ < 0) throw std::runtime_error(cat("cannot start ", words.at(1), ": ", std::strerror(errno)));
    close(in.reader);
    close(out.writer);
    close(err.writer);
    words_ = err.reader;
    fcntl(words_, F_SETFL, O_NONBLOCK);
    relay_ =
        std::make_unique<Relay>(out.reader, in.writer, true, [this](const Frame& frame) { on_frame(frame); });
    const char* pmi = std::getenv("PMI_FD");
    const int socket = pmi != nullptr ? std::atoi(pmi) : -1;
    relay_->add_source(Channel::pmi, socket);
    relay_->add_sink(Channel::pmi, fcntl(socket, F_DUPFD_CLOEXEC, 3));
    relay_->add_source(Channel::input, fcntl(0, F_DUPFD_CLOEXEC, 3));
    relay_->limit(Channel::input, kInputWindow);
    relay_->add_sink(Channel::output, fcntl(1, F_DUPFD_CLOEXEC, 3));
    relay_->add_sink(Channel::error, fcntl(2, F_DUPFD_CLOEXEC, 3));
  }

  int run() {
    const auto begin = Clock::now();
    heard_ = begin;
    auto next_alive = begin + kAliveEvery;
    while (!code_) {
      if (relay_->turn(kTurn, signals_)) on_signal();
      read_words();
      const auto now = Clock::now();
      if (now >= next_alive) {
        relay_->send(Channel::alive, "?");
        next_alive = now + kAliveEvery;
      }
      if (!relay_->is_connected() && !code_) return lost();
      if (!relay_->found_peer() && now - begin > kReach)
        return lost(cat("no answer within ", kReach.count() / 1000, " s"));
      if (!relay_->found_peer() && !noticed_ && now - begin > kReachNotice) notice();
      if (relay_->found_peer() && now - std::max(heard_, begin) > kSilence)
        return lost(cat("nothing came from it for ", kSilence.count() / 1000, " s"));
    }
    const auto limit = Clock::now() + kEnd;
    while (!relay_->has_written() && Clock::now() < limit) relay_->turn(kTurn, -1);
    end_shell();
    return *code_;
  }

 private:
  void on_frame(const Frame& frame) {
    heard_ = Clock::now();
    if (frame.channel == Channel::code) code_ = static_cast<int>(to_int(frame.payload).value_or(1));
    if (frame.channel == Channel::taken)
      relay_->taken(Channel::input, static_cast<std::size_t>(to_int(frame.payload).value_or(0)));
  }
  void on_signal() {
    while (const int number = next_signal(signals_)) {
      ended_ = ended_ || (number != SIGUSR1 && number != SIGUSR2);
      relay_->send(Channel::signal, cat(number == SIGUSR1 || number == SIGUSR2 ? number : SIGTERM));
    }
  }
  void read_words() {
    std::array<char, 4096> buffer;
    const ssize_t n = read(words_, buffer.data(), buffer.size());
    if (n <= 0) return;
    said_.append(buffer.data(), static_cast<std::size_t>(n));
    if (said_.size() > kMostWords) said_.erase(0, said_.size() - kMostWords);
  }
  std::string last_words() const {
    const std::string all = said_ + relay_->noise();
    return one_line(all.size() > kMostWords ? all.substr(all.size() - kMostWords) : all);
  }
  void end_shell() const {
    kill(shell_, SIGKILL);
    waitpid(shell_, nullptr, 0);
  }
  // ssh itself gives up after its ConnectTimeout, so most often the login shell is slow.
  void notice() {
    noticed_ = true;
    const std::string said = last_words();
    std::fputs(cat("mpiexec: host ", host_, " has not answered for ", kReachNotice.count() / 1000,
                   " s: the connection or the login shell's start-up files are slow; waiting for ",
                   kReach.count() / 1000, " s in all", said.empty() ? "" : ": ", said, "\n")
                   .c_str(),
               stderr);
  }
  int lost(const std::string& why = {}) {
    pollfd more{words_, POLLIN, 0};
    if (why.empty()) poll(&more, 1, 500);  // the shell's last words
    read_words();
    end_shell();
    if (ended_) return 1;
    std::string text =
        cat("host ", host_, relay_->found_peer() ? ": the connection to it was lost" : " cannot be reached");
    if (!why.empty()) text += ": " + why;
    if (const std::string said = last_words(); !said.empty()) text += ": " + said;
    std::fputs(cat("mpiexec: ", text, "\n").c_str(), stderr);
    return 1;
  }

  std::string host_;
  int signals_, words_ = -1;
  pid_t shell_ = -1;
  std::unique_ptr<Relay> relay_;
  std::string said_;  // by the shell
  std::optional<int> code_;
  Clock::time_point heard_{};
  bool noticed_ = false;
  bool ended_ = false;  // mpiexec ends the job
};

class Proxy {
 public:
  Proxy() : signals_(watch_signals({SIGCHLD, SIGTERM, SIGHUP, SIGINT})) {
    const Pipe in, out, err;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      throw std::runtime_error(cat("cannot open a socket pair: ", std::strerror(errno)));
    job_ = fork();
    if (job_ < 0) throw std::runtime_error(cat("cannot start a process: ", std::strerror(errno)));
    if (job_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // the job's guard ends its ranks then
      dup2(in.reader, 0);
      dup2(out.writer, 1);
      dup2(err.writer, 2);
      for (const int fd : {in.writer, out.reader, err.reader, pair[0]}) close(fd);  // or no end is ever seen
      unblock_signals();
      _exit(run_host_job(pair[1]));
    }
    close(in.reader);
    close(out.writer);
    close(err.writer);
    close(pair[1]);
    relay_ = std::make_unique<Relay>(fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(1, F_DUPFD_CLOEXEC, 3), false,
                                     [this](const Frame& frame) { on_frame(frame); });
    relay_->send_raw(kMarker);
    relay_->add_sink(Channel::input, in.writer);
    relay_->add_source(Channel::output, out.reader);
    relay_->add_source(Channel::error, err.reader);
    relay_->add_source(Channel::pmi, pair[0]);
    relay_->add_sink(Channel::pmi, fcntl(pair[0], F_DUPFD_CLOEXEC, 3));
  }

  int run() {
    heard_ = Clock::now();
    while (!code_) {
      if (relay_->turn(kTurn, signals_)) on_signal();
      if (!relay_->is_connected() || Clock::now() - heard_ > kSilence) return end_job();
    }
    const auto limit = Clock::now() + kEnd;
    const auto open = [&] {
      return relay_->has_source(Channel::output) || relay_->has_source(Channel::error);
    };
    while (open() && relay_->is_connected() && Clock::now() < limit) relay_->turn(kTurn, -1);
    relay_->send(Channel::code, cat(*code_));
    while (!relay_->has_sent() && Clock::now() < limit + kEnd) relay_->turn(kTurn, -1);
    return *code_;
  }

 private:
  void on_frame(const Frame& frame) {
    heard_ = Clock::now();
    if (frame.channel == Channel::signal)
      kill(job_, static_cast<int>(to_int(frame.payload).value_or(SIGTERM)));
    if (frame.channel == Channel::alive) relay_->send(Channel::alive, "!");
  }
  void on_signal() {
    while (const int number = next_signal(signals_)) {
      int status = 0;
      if (number != SIGCHLD)
        kill(job_, SIGTERM);
      else if (waitpid(job_, &status, WNOHANG) == job_)
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
  }
  // mpiexec has gone: the ranks go too.
  int end_job() {
    kill(job_, SIGTERM);
    const auto limit = Clock::now() + kEnd;
    while (!code_ && Clock::now() < limit) {
      pollfd wait{signals_, POLLIN, 0};
      if (poll(&wait, 1, kTurn) > 0) on_signal();
    }
    if (!code_) kill(job_, SIGKILL);
    return 1;
  }

  int signals_;
  pid_t job_ = -1;
  std::unique_ptr<Relay> relay_;
  std::optional<int> code_;
  Clock::time_point heard_{};
};

}  // namespace

int run_link(const std::vector<std::string>& words) { return Link(words).run(); }
int run_proxy() { return Proxy().run(); }

}  // namespace herald::launch
