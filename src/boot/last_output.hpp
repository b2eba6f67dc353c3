// SPDX-License-Identifier: BSD-3-Clause
// boot/last_output.hpp: lets the launcher read the output of a process before the process requests an abort.
// Hydra discards unread output of a job that it ends, and with it the error message.
#pragma once

namespace herald::boot {

// Returns when all bytes written to the pipe `fd` have been read, or after `limit_ms`; immediately if it is
// no pipe.
void wait_until_read(int fd, int limit_ms) noexcept;

}  // namespace herald::boot
