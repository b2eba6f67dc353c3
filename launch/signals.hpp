// SPDX-License-Identifier: BSD-3-Clause
// launch/signals.hpp: the signals of mpiexec, blocked and read from a descriptor.
#pragma once
#include <sys/signalfd.h>

#include <optional>

#include "start.hpp"

namespace herald::launch {

class Signals {
 public:
  // Keeps in `inherited` what ranks get instead. Throws std::runtime_error.
  explicit Signals(Inherited& inherited);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_; }
  std::optional<signalfd_siginfo> next();

 private:
  int fd_ = -1;
};

}  // namespace herald::launch
