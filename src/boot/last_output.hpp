// SPDX-License-Identifier: BSD-3-Clause
// boot/last_output.hpp: what a process wrote before it asks its launcher to abort must have been read by
// then: Hydra throws away what it finds in the pipes of a job that it ends, and with it the message that says
// why.
#pragma once

namespace herald::boot {

// Returns when nothing that was written to `fd` waits to be read, or after `limit_ms`. At once if it is no
// pipe.
void wait_until_read(int fd, int limit_ms) noexcept;

}  // namespace herald::boot
