// SPDX-License-Identifier: BSD-3-Clause
// Construction, destruction and counting of objects, and the lookup of handles.
#include "mpi/core/objects.hpp"

#include "mpi/core/runtime.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

template <class Handle>
std::uintptr_t number(Handle handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}

template <class T>
void drop(HandleTable<T>& table, T* object, bool predefined) noexcept {
  if (!predefined && --object->refs == 0) table.destroy(object);
}

}  // namespace

Session::Session() noexcept = default;
Session::~Session() {
  if (errhandler != nullptr) release(errhandler);
}

Comm::Comm() noexcept = default;
// The processes of other jobs that no communicator contains any more are forgotten.
Comm::~Comm() {
  if (group != nullptr && runtime().has_engine() && runtime().engine().foreign().is_open())
    for (const std::int32_t peer : group->peers) runtime().engine().foreign().release(peer);
  if (group != nullptr) release(group);
  if (remote != nullptr) release(remote);
  if (both != nullptr) release(both);
  if (errhandler != nullptr) release(errhandler);
}

Win::Win() noexcept = default;
Win::~Win() {
  state.reset();
  if (errhandler != nullptr) release(errhandler);
  if (comm != nullptr) release(comm);
}

File::File() noexcept = default;
File::~File() {
  state.reset();
  if (errhandler != nullptr) release(errhandler);
  if (comm != nullptr) release(comm);
}

void release(Comm* comm) noexcept {
  if (--comm->refs != 0) return;
  if (comm->context != 0 && runtime().live()) {
    engine::Messages& messages = runtime().engine().messages();
    messages.forget_program_context(comm->context);
    (void)messages.forget_context(comm->context | kCollective);
    (void)messages.forget_context(comm->context | kLeaders);
  }
  if (comm->predefined)
    delete comm;
  else
    tables().comms.destroy(comm);
}

void release(Group* group) noexcept { drop(tables().groups, group, group->predefined); }
void release(Errhandler* handler) noexcept { drop(tables().errhandlers, handler, handler->predefined); }
void release(Datatype* datatype) noexcept { drop(tables().datatypes, datatype, datatype->predefined); }
void release(Op* op) noexcept { drop(tables().ops, op, op->kind == Op::Kind::predefined); }

Comm* find(MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_WORLD) return runtime().world;
  if (handle == MPI_COMM_SELF) return runtime().self;
  return tables().comms.find(number(handle));
}

Group* find(MPI_Group handle) noexcept {
  if (handle == MPI_GROUP_EMPTY) return tables().empty_group;
  Group* group = tables().groups.find(number(handle));
  return group != nullptr && group->users != 0 ? group : nullptr;
}

Errhandler* find(MPI_Errhandler handle) noexcept {
  if (handle == MPI_ERRORS_ARE_FATAL) return tables().fatal;
  if (handle == MPI_ERRORS_ABORT) return tables().abort;
  if (handle == MPI_ERRORS_RETURN) return tables().give_back;
  Errhandler* errhandler = tables().errhandlers.find(number(handle));
  return errhandler != nullptr && errhandler->users != 0 ? errhandler : nullptr;
}

// The first call of the process makes the tables, and with them the predefined objects.
Datatype* find_slow(MPI_Datatype handle) noexcept {
  Datatype* made = tables().datatypes.find(number(handle));
  return made != nullptr ? made : find_predefined(predefined_datatypes, kFirstDatatype, handle);
}

Op* find_slow(MPI_Op handle) noexcept {
  Op* made = tables().ops.find(number(handle));
  return made != nullptr ? made : find_predefined(predefined_ops, 0, handle);
}

Info* find(MPI_Info handle) noexcept {
  return handle == MPI_INFO_ENV ? tables().env_info : tables().infos.find(number(handle));
}

Session* find(MPI_Session handle) noexcept { return tables().sessions.find(number(handle)); }
Win* find(MPI_Win handle) noexcept { return tables().wins.find(number(handle)); }
File* find(MPI_File handle) noexcept { return tables().files.find(number(handle)); }

}  // namespace herald::mpi
