// SPDX-License-Identifier: BSD-3-Clause
// base/fd.hpp: descriptors of the library. A program may run with descriptors 0 to 2 closed; a socket that
// got one of them would receive what the program prints.
#pragma once
#include <cstdio>

namespace herald {

// Takes over `fd`. A descriptor below 3 is replaced by a close-on-exec duplicate above; -1 stays -1, and
// errno says why there is none.
int safe_fd(int fd) noexcept;

// fopen() with `flags` of open(2) that obeys the same rule. Null and errno on failure.
std::FILE* open_file(const char* path, int flags) noexcept;

}  // namespace herald
