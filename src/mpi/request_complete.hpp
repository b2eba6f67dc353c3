// SPDX-License-Identifier: BSD-3-Clause
// mpi/request_complete.hpp: from a request that is ready to a status, and back to the program.
#pragma once
#include "mpi/call.hpp"
#include "mpi/request.hpp"

namespace herald::mpi {

// What an operation that ended with `status` tells the program.
int error_of(Status status) noexcept;

// The status and the error class of a request that is ready. `status` may be MPI_STATUS_IGNORE.
int read_status(const Request& request, MPI_Status* status) noexcept;

// As read_status, for a request that retire() follows: what has to be done at its end is done.
int settle(Request& request, MPI_Status* status) noexcept;
// The request goes (handle set to MPI_REQUEST_NULL), or if persistent becomes inactive.
void retire(Request* request, MPI_Request* handle) noexcept;

// Says in `call` what went wrong with `request`, which is ready with `error`; the error goes to the handler
// of the request's communicator. Call it before retire().

void explain(Call& call, const Request& request, int error) noexcept;
// settle, explain, retire.
int complete(Call& call, Request* request, MPI_Request* handle, MPI_Status* status) noexcept;

// The error class of a receive that is done; and saying it in words.
int error_of(const p2p::RecvOp& op) noexcept;
// A peer that this needs is gone.
int fail_lost(Call& call, p2p::PeerId peer) noexcept;
int fail_receive(Call& call, const p2p::RecvOp& op) noexcept;

// A request that MPI_Wait and MPI_Test treat as nothing: null, or persistent and not started.
// Null with call.failed() if the handle is not valid; null without if there is nothing to wait for.
Request* active_request(Call& call, MPI_Request handle, Arg arg) noexcept;

}  // namespace herald::mpi
