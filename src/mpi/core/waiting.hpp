// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/waiting.hpp: describes what a call waits for, for tools that ask a job why it hangs.
#pragma once
#include "mpi/core/request.hpp"

namespace herald::mpi {

// The call of this thread, its communicator and the messages that no receive has matched.
void show_call(ShownWait& wait) noexcept;
void show_send(ShownWait& wait, const p2p::SendOp& op, const Comm* comm) noexcept;
void show_receive(ShownWait& wait, const p2p::RecvOp& op, const Comm* comm) noexcept;
void show_receive(ShownWait& wait, int source, int tag, const Comm* comm) noexcept;
void show_comm(ShownWait& wait, const Comm& comm) noexcept;
// The requests of an array that are not ready.
void show_requests(ShownWait& wait, int count, const MPI_Request* handles, bool any) noexcept;

}  // namespace herald::mpi
