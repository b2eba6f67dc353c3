// SPDX-License-Identifier: BSD-3-Clause
// Communicators: properties, names, free and disconnect.
#include "mpi/comm/comm.hpp"

#include <algorithm>
#include <cstring>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/core/attr.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

void set_up(Comm& comm, Group* group, std::uint64_t context, Errhandler* errhandler, Session* session) {
  comm.context = context;
  comm.group = group;
  comm.rank = group->rank;
  comm.size = group->size();
  comm.partners = group;
  comm.partner_count = comm.size;
  comm.errhandler = errhandler;
  comm.session = session;
  retain(errhandler);
  engine::ForeignPeers& foreign = runtime().engine().foreign();
  if (foreign.is_open())
    for (const std::int32_t peer : group->peers) foreign.retain(peer);
}

Comm* make_predefined(MPI_Comm handle, const char* name, std::vector<std::int32_t> peers,
                      std::uint64_t context) {
  auto* comm = new Comm;
  comm->handle = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
  comm->predefined = true;
  comm->name = name;
  set_up(*comm, make_group(std::move(peers), nullptr), context, initial_errhandler(), nullptr);
  return comm;
}

}  // namespace

Comm* make_comm(Group* group, std::uint64_t context, Errhandler* errhandler, Session* session) noexcept {
  Comm* comm = tables().comms.create();
  set_up(*comm, group, context, errhandler, session);
  return comm;
}

Comm* make_hidden_comm(Group* group, std::uint64_t context, Errhandler* errhandler,
                       Session* session) noexcept {
  auto* comm = new Comm;
  comm->predefined = true;
  set_up(*comm, group, context, errhandler, session);
  return comm;
}

Comm* make_inter(Group* group, Group* remote, bool lower, std::uint64_t context, Errhandler* errhandler,
                 Session* session) noexcept {
  const Group &first = lower ? *group : *remote, &second = lower ? *remote : *group;
  std::vector<std::int32_t> all = first.peers;
  all.insert(all.end(), second.peers.begin(), second.peers.end());
  Comm* both = make_hidden_comm(make_group(std::move(all), session), 0, errhandler, session);
  Comm* comm = make_comm(group, 0, errhandler, session);
  comm->remote = remote;
  comm->partners = remote;
  comm->partner_count = remote->size();
  comm->both = both;
  comm->lower = lower;
  set_context(*comm, context);
  return comm;
}

void set_context(Comm& comm, std::uint64_t context) noexcept {
  comm.context = context;
  if (comm.both != nullptr && context != 0) comm.both->context = context + 1;
}

std::uint64_t propose_context() noexcept {
  const std::uint64_t context = runtime().next_context();
  (void)runtime().next_context();
  return context;
}

void make_world_comms() noexcept {
  engine::Engine& engine = runtime().engine();
  std::vector<std::int32_t> all(static_cast<std::size_t>(engine.peers().size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  runtime().world = make_predefined(MPI_COMM_WORLD, "MPI_COMM_WORLD", std::move(all), kWorldContext);
  runtime().self = make_predefined(MPI_COMM_SELF, "MPI_COMM_SELF", {engine.peers().rank()}, kSelfContext);
}

static_assert(MPI_CONGRUENT < MPI_SIMILAR && MPI_SIMILAR < MPI_UNEQUAL);
int compare_members(const Group& one, const Group& other) noexcept {
  std::vector<std::int32_t> a = one.peers, b = other.peers;
  if (a == b) return MPI_CONGRUENT;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b ? MPI_SIMILAR : MPI_UNEQUAL;
}

namespace api {
namespace {

// Copies a name into the program's buffer of MPI_MAX_OBJECT_NAME characters.
int give_name(Call& call, const char* name, char* out, int* length) noexcept {
  if (out == nullptr)
    return call.fail(MPI_ERR_ARG,
                     "argument 2 (comm_name) is a null pointer; give a buffer of "
                     "MPI_MAX_OBJECT_NAME characters");
  const std::size_t n = std::min<std::size_t>(std::strlen(name), MPI_MAX_OBJECT_NAME - 1);
  std::memcpy(out, name, n);
  out[n] = '\0';
  *length = static_cast<int>(n);
  return MPI_SUCCESS;
}

int end_comm(Call& call, MPI_Comm* handle) noexcept {
  Comm* comm = call.object(*handle, {1, "comm"});
  if (comm == nullptr) return call.error();
  if (comm->predefined)
    return call.fail(MPI_ERR_COMM, "argument 1 (comm) is %s, which cannot be freed", comm->name.c_str());
  const int error = delete_attributes(call, store_of(*comm));
  if (error != MPI_SUCCESS) return error;
  if (comm == runtime().parent) runtime().parent = nullptr;
  tables().comms.retire(comm);
  release(comm);  // operations under way hold their own counts
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

// Counts that do not belong to an operation under way: the handle's, and requests that are done or not
// started.
std::uint32_t idle_counts(Comm* comm) noexcept {
  std::uint32_t counts = 1;
  tables().requests.each([&](Request& request) {
    if (request.comm == comm && (!request.active || request.ready())) ++counts;
  });
  return counts;
}

}  // namespace

int comm_size(Call&, Comm* comm, int* size) {
  *size = comm->size;
  return MPI_SUCCESS;
}

int comm_rank(Call&, Comm* comm, int* rank) {
  *rank = comm->rank;
  return MPI_SUCCESS;
}

int comm_group(Call&, Comm* comm, MPI_Group* group) {
  *group = hand_out(comm->group);
  return MPI_SUCCESS;
}

int comm_compare(Call&, Comm* comm1, Comm* comm2, int* result) {
  if (comm1 == comm2)
    *result = MPI_IDENT;
  else if ((comm1->remote == nullptr) != (comm2->remote == nullptr))
    *result = MPI_UNEQUAL;
  else
    *result = std::max(compare_members(*comm1->group, *comm2->group),
                       compare_members(*comm1->partners, *comm2->partners));
  return MPI_SUCCESS;
}

int comm_free(Call& call, MPI_Comm* comm) { return end_comm(call, comm); }

// Each member waits for its own operations, then for the other members.
int comm_disconnect(Call& call, MPI_Comm* comm) {
  Comm* object = call.object(*comm, {1, "comm"});
  if (object == nullptr) return call.error();
  if (!object->predefined) {
    wait_until([object] { return object->refs == idle_counts(object); });
    const int error = barrier(object->remote == nullptr ? *object : *object->both);
    if (error != MPI_SUCCESS) return error;
  }
  return end_comm(call, comm);
}

int comm_get_name(Call& call, Comm* comm, char* comm_name, int* resultlen) {
  return give_name(call, comm == nullptr ? "MPI_COMM_NULL" : comm->name.c_str(), comm_name, resultlen);
}

int comm_set_name(Call&, Comm* comm, const char* comm_name) {
  comm->name.assign(comm_name, ::strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int comm_test_inter(Call&, Comm* comm, int* flag) {
  *flag = comm->remote != nullptr;
  return MPI_SUCCESS;
}

int comm_get_parent(Call&, MPI_Comm* parent) {
  *parent = runtime().parent == nullptr ? MPI_COMM_NULL : handle_of(runtime().parent);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
