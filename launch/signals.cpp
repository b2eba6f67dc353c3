// SPDX-License-Identifier: BSD-3-Clause
#include "signals.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kOtherSignals[] = {SIGCHLD, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

}  // namespace

Signals::Signals(Inherited& inherited) {
  struct sigaction old {};
  sigaction(SIGPIPE, nullptr, &old);
  inherited.sigpipe_ignored = old.sa_handler == SIG_IGN;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // if mpiexec inherited it as ignored, the kernel would reap the ranks
  sigset_t mask;
  sigemptyset(&mask);
  for (int number : kOtherSignals) sigaddset(&mask, number);
  for (int number : kEndingSignals) {
    sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_IGN)
      sigaddset(&mask, number);  // ignored by nohup, and in background jobs of scripts
  }
  sigprocmask(SIG_BLOCK, &mask, &inherited.mask);
  fd_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0) throw std::runtime_error(cat("signalfd: ", std::strerror(errno)));
}

Signals::~Signals() { close(fd_); }

std::optional<signalfd_siginfo> Signals::next() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return {};
  return info;
}

}  // namespace herald::launch
