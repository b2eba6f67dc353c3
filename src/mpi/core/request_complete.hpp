// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/request_complete.hpp: completes requests that are ready: status, error, end of the request.
#pragma once
#include "mpi/core/call.hpp"
#include "mpi/core/request.hpp"

namespace herald::mpi {

// The error class of an operation that ended with `status`.
int error_of(Status status) noexcept;

// The status and the error class of a request that is ready. `status` may be MPI_STATUS_IGNORE.
int read_status(const Request& request, MPI_Status* status) noexcept;

// As read_status, for a request that retire() follows: also performs its final action.
int settle(Request& request, MPI_Status* status) noexcept;
// Destroys the request (the handle becomes MPI_REQUEST_NULL); a persistent one becomes inactive.
void retire(Request* request, MPI_Request* handle) noexcept;

// Describes in `call` what went wrong with `request`, which is ready with `error`; the error goes to the
// handler of the request's communicator. Call it before retire().
void explain(Call& call, const Request& request, int error) noexcept;
// settle, explain, retire.
int complete(Call& call, Request* request, MPI_Request* handle, MPI_Status* status) noexcept;

// The error class of a receive that is done.
int error_of(const p2p::RecvOp& op) noexcept;
// Fails `call` because a peer has gone.
int fail_lost(Call& call, p2p::PeerId peer) noexcept;
int fail_receive(Call& call, const p2p::RecvOp& op) noexcept;

// Null with call.failed() if the handle is not valid; null without if there is nothing to wait for: the
// handle is null, or the request is persistent and not started.
Request* active_request(Call& call, MPI_Request handle, Arg arg) noexcept;

}  // namespace herald::mpi
