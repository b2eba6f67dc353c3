// SPDX-License-Identifier: BSD-3-Clause
// New communicators. All members must come to the same context number without a global agreement: the leader
// of the new communicator makes it, and it travels with what the members exchange anyway. Numbers of
// different leaders differ, so threads may make communicators from different parents at the same time.
#include <algorithm>
#include <memory>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/comm/context_agreement.hpp"
#include "mpi/core/attr.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {

Comm* join(Comm& comm, const std::vector<SplitEntry>& entries) noexcept {
  const auto wish = [&](int member) { return entries[static_cast<std::size_t>(member)]; };
  const std::int32_t color = wish(comm.rank).color;
  if (color == MPI_UNDEFINED) return nullptr;
  std::vector<int> members;
  for (int i = 0; i < comm.size; ++i)
    if (wish(i).color == color) members.push_back(i);
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return wish(a).key < wish(b).key; });
  std::vector<std::int32_t> peers;
  peers.reserve(members.size());
  for (int member : members) peers.push_back(comm.peer(member));
  return make_comm(make_group(std::move(peers), comm.session), wish(members[0]).context, comm.errhandler,
                   comm.session);
}

namespace api {
namespace {

// The same members and topology, attributes copied, no context yet. Null if a copy callback failed.
Comm* twin(Call& call, Comm& comm, const Info* info) noexcept {
  retain(comm.group);
  if (comm.remote != nullptr) retain(comm.remote);
  Comm* copy = comm.remote == nullptr
                   ? make_comm(comm.group, 0, comm.errhandler, comm.session)
                   : make_inter(comm.group, comm.remote, comm.lower, 0, comm.errhandler, comm.session);
  if (copy_attributes(call, store_of(comm), store_of(*copy)) != MPI_SUCCESS) {
    release(copy);
    return nullptr;
  }
  copy->topology = comm.topology;
  if (info != nullptr)
    take_hints(*copy, *info);
  else
    copy->info.entries = comm.info.entries;
  return copy;
}

// All its members in one intra-communicator.
Comm& members(Comm& comm) noexcept { return comm.remote == nullptr ? comm : *comm.both; }

int dup(Call& call, Comm* comm, const Info* info, MPI_Comm* newcomm) noexcept {
  Comm& all = members(*comm);
  std::uint64_t context = all.rank == 0 ? propose_context() : 0;
  const int error = bcast_bytes(all, &context, sizeof context, 0);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not agree on a new communicator");
  Comm* copy = twin(call, *comm, info);
  if (copy == nullptr) return call.error();
  set_context(*copy, context);
  *newcomm = handle_of(copy);
  return MPI_SUCCESS;
}

// A duplicate that waits for its context number.
struct Pending {
  Comm* copy;
  std::uint64_t context;
};

int arrived(void* argument) {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(argument));
  set_context(*pending->copy, pending->context);
  release(pending->copy);
  return MPI_SUCCESS;
}

int idup(Call& call, Comm* comm, const Info* info, MPI_Comm* newcomm, MPI_Request* request) noexcept {
  Comm* copy = twin(call, *comm, info);
  if (copy == nullptr) return call.error();
  retain(copy);  // until the number has arrived
  Comm& all = members(*comm);
  auto* pending = new Pending{copy, all.rank == 0 ? propose_context() : 0};
  auto work = ibcast_bytes(all, &pending->context, sizeof pending->context, 0, {arrived, pending});
  *newcomm = handle_of(copy);
  *request = handle_of(new_work(comm, std::move(work), false));
  return MPI_SUCCESS;
}

// Fails the call unless every member of `group` is a member of `comm`.
bool within(Call& call, const Group& group, const Comm& comm) noexcept {
  std::vector<std::int32_t> members = comm.group->peers;
  std::sort(members.begin(), members.end());
  for (std::size_t i = 0; i < group.peers.size(); ++i) {
    if (std::binary_search(members.begin(), members.end(), group.peers[i])) continue;
    return call.fail(MPI_ERR_GROUP, "argument 2 (group): its rank %zu is not in the communicator", i);
  }
  return true;
}

Comm* of_group(Group& group, std::uint64_t context, const Comm& parent) noexcept {
  retain(&group);
  return make_comm(&group, context, parent.errhandler, parent.session);
}

// The entries of one group of an inter-communicator: a key is a rank in the new group.
int create_inter(Call& call, Comm& comm, const Group& group, MPI_Comm* newcomm) noexcept {
  const bool in = group.rank != MPI_UNDEFINED;
  const SplitEntry mine{in ? 0 : MPI_UNDEFINED, group.rank, in ? propose_context() : 0};
  std::vector<SplitEntry> entries(static_cast<std::size_t>(comm.both->size));
  const int error = allgather_bytes(*comm.both, &mine, entries.data(), sizeof mine);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not agree on a new communicator");
  const Comm* made = join_inter(comm, entries);
  *newcomm = made == nullptr ? MPI_COMM_NULL : handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace

int comm_dup(Call& call, Comm* comm, MPI_Comm* newcomm) { return dup(call, comm, nullptr, newcomm); }

int comm_dup_with_info(Call& call, Comm* comm, Info* info, MPI_Comm* newcomm) {
  const Info none;
  return dup(call, comm, info != nullptr ? info : &none, newcomm);
}

int comm_idup(Call& call, Comm* comm, MPI_Comm* newcomm, MPI_Request* request) {
  return idup(call, comm, nullptr, newcomm, request);
}

int comm_idup_with_info(Call& call, Comm* comm, Info* info, MPI_Comm* newcomm, MPI_Request* request) {
  const Info none;
  return idup(call, comm, info != nullptr ? info : &none, newcomm, request);
}

int comm_split(Call& call, Comm* comm, int color, int key, MPI_Comm* newcomm) {
  if (color < 0 && color != MPI_UNDEFINED)
    return call.fail(MPI_ERR_ARG, "argument 2 (color) is %d; use 0 or more, or MPI_UNDEFINED", color);
  Comm& all = members(*comm);
  const SplitEntry mine{color, key, color == MPI_UNDEFINED ? 0 : propose_context()};
  std::vector<SplitEntry> entries(static_cast<std::size_t>(all.size));
  const int error = allgather_bytes(all, &mine, entries.data(), sizeof mine);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not exchange their colors");
  const Comm* made = comm->remote == nullptr ? join(*comm, entries) : join_inter(*comm, entries);
  *newcomm = made == nullptr ? MPI_COMM_NULL : handle_of(made);
  return MPI_SUCCESS;
}

// Members may give different groups that do not overlap, so every leader proposes a number.
int comm_create(Call& call, Comm* comm, Group* group, MPI_Comm* newcomm) {
  if (!within(call, *group, *comm)) return call.error();
  if (comm->remote != nullptr) return create_inter(call, *comm, *group, newcomm);
  std::uint64_t mine = group->rank == 0 ? runtime().next_context() : 0;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(comm->size));
  const int error = allgather_bytes(*comm, &mine, all.data(), sizeof mine);
  if (error != MPI_SUCCESS) return call.fail(error, "the members could not agree on a new communicator");
  if (group->rank == MPI_UNDEFINED) {
    *newcomm = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  const auto& members = comm->group->peers;
  const auto leader = std::find(members.begin(), members.end(), group->peers[0]) - members.begin();
  if (all[static_cast<std::size_t>(leader)] == 0)
    return call.fail(MPI_ERR_GROUP,
                     "argument 2 (group) differs between its members; give all the same group");
  *newcomm = handle_of(of_group(*group, all[static_cast<std::size_t>(leader)], *comm));
  return MPI_SUCCESS;
}

int comm_create_group(Call& call, Comm* comm, Group* group, int tag, MPI_Comm* newcomm) {
  if (comm->remote != nullptr)
    return call.fail(MPI_ERR_COMM, "argument 1 (comm) is an inter-communicator; give an intra-communicator");
  if (!within(call, *group, *comm)) return call.error();
  if (group->rank == MPI_UNDEFINED) {
    *newcomm = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  std::uint64_t context = 0;
  const AgreementKey key = agreement_key(*group, comm->context, std::to_string(tag).c_str());
  const int error = agree_context(*group, key, context);
  if (error != MPI_SUCCESS) return call.fail(error, "the members of the group could not reach each other");
  *newcomm = handle_of(of_group(*group, context, *comm));
  return MPI_SUCCESS;
}

int comm_create_from_group(Call& call, Group* group, const char* stringtag, Info* info,
                           Errhandler* errhandler, MPI_Comm* newcomm) {
  if (!check_errhandler(call, *errhandler, ObjectKind::comm, 4)) return call.error();
  if (!runtime().live())
    return call.fail(MPI_ERR_OTHER, "MPI is not started; call MPI_Session_init or MPI_Init first");
  if (group->size() == 0) {
    *newcomm = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  if (group->rank == MPI_UNDEFINED)
    return call.fail(MPI_ERR_GROUP,
                     "argument 1 (group): this process is not a member; only members may call");
  if (group->session != nullptr) call.blame(group->session);
  std::uint64_t context = 0;
  const int error = agree_context(*group, agreement_key(*group, 0, stringtag), context);
  if (error != MPI_SUCCESS) return call.fail(error, "the members of the group could not reach each other");
  retain(group);
  Comm* made = make_comm(group, context, errhandler, group->session);
  if (info != nullptr) take_hints(*made, *info);
  *newcomm = handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
