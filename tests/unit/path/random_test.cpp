// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: where the kernel gives no random bytes, the job gets a key that can be guessed.
#include "path/random.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tests/unit/seccomp.hpp"

namespace herald::path {

TEST(Random, numbers_differ) { EXPECT_NE(random_number(), random_number()); }

TEST(Random, a_kernel_without_random_bytes_ends_the_process_with_a_message) {
  const auto denied = [] {
    if (!test::deny_system_call(SYS_getrandom, ENOSYS)) {
      std::fputs("filters are not allowed here: cannot get random bytes from the kernel\n", stderr);
      _exit(1);
    }
    (void)random_number();
  };
  EXPECT_EXIT(denied(), testing::ExitedWithCode(1), "cannot get random bytes from the kernel");
}

}  // namespace herald::path
