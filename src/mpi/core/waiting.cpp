// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/core/waiting.hpp"

#include <algorithm>
#include <cstdio>

#include "mpi/core/call.hpp"

namespace herald::mpi {
namespace {

constexpr int kMostCounted = 10'000;  // unexpected messages

// The rank of a process in the group that messages of the communicator go to.
int member_of(const Comm* comm, std::int32_t peer) noexcept {
  if (comm == nullptr) return peer;
  const auto& peers = comm->partners->peers;
  const auto found = std::find(peers.begin(), peers.end(), peer);
  return found == peers.end() ? -1 : static_cast<int>(found - peers.begin());
}

void add_members(ShownWait& wait, const Group* group) noexcept {
  if (group == nullptr) return;
  if (wait.member_count + group->peers.size() > ShownWait::kMembers) {
    wait.member_count = 0;
    return;
  }
  for (const std::int32_t peer : group->peers) wait.members[wait.member_count++] = peer;
}

}  // namespace

void show_comm(ShownWait& wait, const Comm& comm) noexcept {
  wait.context = comm.context;
  wait.comm_size = comm.size;
  if (comm.name.empty())
    std::snprintf(wait.comm.data(), wait.comm.size(), "a communicator of %d ranks", comm.size);
  else
    std::snprintf(wait.comm.data(), wait.comm.size(), "%s", comm.name.c_str());
  wait.member_count = 0;
  add_members(wait, comm.group);
  if (wait.member_count != 0) add_members(wait, comm.remote);
}

void show_call(ShownWait& wait) noexcept {
  const Call* call = Call::current;
  std::snprintf(wait.call.data(), wait.call.size(), "%s", call != nullptr ? call->function() : "MPI");
  if (call != nullptr && call->comm() != nullptr) show_comm(wait, *call->comm());
  if (call != nullptr && call->win() != nullptr) show_comm(wait, *call->win()->comm);
  int counted = 0;
  runtime().engine().messages().for_each_unexpected([&](const p2p::Envelope& envelope) {
    if ((envelope.context & kCollective) == 0 && envelope.context != kAgreementContext)
      engine::add_unexpected(wait, envelope.from);
    return ++counted < kMostCounted;
  });
}

void show_send(ShownWait& wait, const p2p::SendOp& op, const Comm* comm) noexcept {
  engine::add_op(wait, {WaitedKind::send, true, op.to, member_of(comm, op.to), op.tag});
}

void show_receive(ShownWait& wait, int source, int tag, const Comm* comm) noexcept {
  const bool any = source == MPI_ANY_SOURCE;
  const std::int32_t peer = any ? -1 : comm != nullptr ? comm->peer(source) : source;
  engine::add_op(wait, {WaitedKind::receive, tag != MPI_ANY_TAG, peer, any ? -1 : source, tag});
}

void show_receive(ShownWait& wait, const p2p::RecvOp& op, const Comm* comm) noexcept {
  const bool matched = op.phase == p2p::RecvPhase::pulling;
  if (matched)
    show_receive(wait, op.from_source, op.from_tag, comm);
  else
    show_receive(wait, op.source, op.tag, comm);
}

void show_request(ShownWait& wait, const Request& request) noexcept {
  if (request.comm != nullptr && wait.comm_size == 0) show_comm(wait, *request.comm);
  switch (request.kind) {
    case Request::Kind::send: return show_send(wait, request.send, request.comm);
    case Request::Kind::recv: return show_receive(wait, request.recv, request.comm);
    case Request::Kind::work: {
      const bool collective = request.work->name() != nullptr;
      engine::add_op(wait, {collective ? WaitedKind::collective : WaitedKind::other, false, -1, -1, 0});
      return;
    }
    case Request::Kind::nothing: return;
  }
}

void show_requests(ShownWait& wait, int count, const MPI_Request* handles, bool any) noexcept {
  wait.any = any;
  for (int i = 0; i < count; ++i) {
    const Request* request = find(handles[i]);
    if (request != nullptr && request->active && !request->ready()) show_request(wait, *request);
  }
}

}  // namespace herald::mpi
