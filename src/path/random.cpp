// SPDX-License-Identifier: BSD-3-Clause
#include "path/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"

namespace herald::path {

std::uint64_t random_number() noexcept {
  std::uint64_t value = 0;
  ssize_t got = 0;
  do {
    got = ::getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof value)
    fatal("cannot get random bytes from the kernel (getrandom: %s): the key of the job must be secret",
          got < 0 ? std::strerror(errno) : "too few bytes");
  return value;
}

}  // namespace herald::path
