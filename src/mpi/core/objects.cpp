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
void drop(HandleTable<T>& table, T* object) noexcept {
  if (--object->refs == 0) table.destroy(object);
}

}  // namespace

Session::Session() noexcept = default;
Session::~Session() {
  if (errhandler != nullptr) release(errhandler);
}

Comm::Comm() noexcept = default;
Comm::~Comm() {
  if (group != nullptr) release(group);
  if (remote != nullptr) release(remote);
  if (both != nullptr) release(both);
  if (errhandler != nullptr) release(errhandler);
}

void retain(Comm* comm) noexcept { ++comm->refs; }
void release(Comm* comm) noexcept {
  if (--comm->refs != 0) return;
  if (comm->context != 0 && runtime().live()) {
    runtime().engine().messages().forget_context(comm->context);
    runtime().engine().messages().forget_context(comm->context | kCollective);
    runtime().engine().messages().forget_context(comm->context | kLeaders);
  }
  if (comm->predefined)
    delete comm;
  else
    tables().comms.destroy(comm);
}

void retain(Group* group) noexcept { ++group->refs; }
void release(Group* group) noexcept {
  if (!group->predefined) drop(tables().groups, group);
}
void retain(Errhandler* errhandler) noexcept { ++errhandler->refs; }
void release(Errhandler* errhandler) noexcept {
  if (!errhandler->predefined) drop(tables().errhandlers, errhandler);
}
void retain(Datatype* datatype) noexcept { ++datatype->refs; }
void release(Datatype* datatype) noexcept {
  if (!datatype->predefined) drop(tables().datatypes, datatype);
}
void retain(Op* op) noexcept { ++op->refs; }
void release(Op* op) noexcept {
  if (op->kind != Op::Kind::predefined) drop(tables().ops, op);
}

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

Datatype* find(MPI_Datatype handle) noexcept {
  const std::uintptr_t offset = number(handle) - Tables::kFirstDatatype;
  if (offset < std::size(tables().predefined_datatypes)) return tables().predefined_datatypes[offset];
  return tables().datatypes.find(number(handle));
}

Op* find(MPI_Op handle) noexcept {
  if (number(handle) < std::size(tables().predefined_ops)) return tables().predefined_ops[number(handle)];
  return tables().ops.find(number(handle));
}

Info* find(MPI_Info handle) noexcept {
  return handle == MPI_INFO_ENV ? tables().env_info : tables().infos.find(number(handle));
}

Session* find(MPI_Session handle) noexcept { return tables().sessions.find(number(handle)); }

}  // namespace herald::mpi
