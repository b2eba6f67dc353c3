// SPDX-License-Identifier: BSD-3-Clause
// mpi/core/objects.hpp: the object of each kind of MPI handle, except requests (mpi/core/request.hpp).
// All access is under the engine's lock.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/core/handle_table.hpp"
#include "type/layout.hpp"

namespace herald::coll {
struct CommState;
}

namespace herald::mpi {

// In the order they were set (mpi/core/attr.hpp).
struct Attributes {
  std::vector<std::pair<int, void*>> values;  // keyval, value
};

struct Info : ObjectOf<MPI_Info> {
  std::vector<std::pair<std::string, std::string>> entries;  // in the order they were set
};

// Objects that can have attributes or an error handler.
enum class ObjectKind : std::uint8_t { any, comm, type, win, file, session };

struct Errhandler : ObjectOf<MPI_Errhandler> {
  enum class Kind : std::uint8_t { fatal, abort, give_back, user };
  Kind kind = Kind::fatal;
  ObjectKind made_for = ObjectKind::any;
  void (*function)() = nullptr;  // cast to the type that made_for says
  bool predefined = false;
  std::uint32_t users = 0;  // handles that the program holds; 0: the handle is not valid
};

struct Session;

struct Group : ObjectOf<MPI_Group> {
  std::vector<std::int32_t> peers;  // the member's rank in the world, by rank in the group
  int rank = MPI_UNDEFINED;         // of this process
  Session* session = nullptr;
  bool predefined = false;
  std::uint32_t users = 0;  // handles that the program holds; 0: the handle is not valid
  int size() const noexcept { return static_cast<int>(peers.size()); }
};

struct Op : ObjectOf<MPI_Op> {
  enum class Kind : std::uint8_t { predefined, user, user_large };
  Kind kind = Kind::predefined;
  int builtin = 0;  // op::Kind when predefined
  void* function = nullptr;
  bool commutes = true;
  const char* name = "";  // of a predefined one
};

struct Contents;  // how the datatype was made (mpi/type/datatype.hpp)

struct Datatype : ObjectOf<MPI_Datatype> {
  type::LayoutRef layout;
  bool committed = false;
  bool predefined = false;
  std::string name;
  Attributes attributes;
  std::shared_ptr<const Contents> contents;
};

struct Topology;     // mpi/topo/topology.hpp
struct PartNumbers;  // partitioned requests (mpi/p2p/partitioned.cpp)
struct SendBuffer;   // buffered sends (mpi/p2p/bsend.hpp); shared pointers destroy it without its definition

struct Session : ObjectOf<MPI_Session> {
  Errhandler* errhandler = nullptr;
  std::shared_ptr<SendBuffer> buffer;
  int thread_level = MPI_THREAD_SINGLE;
  Info info;

  Session() noexcept;
  ~Session();
};

// Contexts separate the traffic of communicators. The leader of a new communicator makes its number: the
// leader's rank in the world in the upper half, a count in the lower half. The top bit marks collective
// traffic.
constexpr std::uint64_t kCollective = std::uint64_t{1} << 63;
constexpr std::uint64_t kWorldContext = 1, kSelfContext = 2,
                        kAgreementContext = 3;  // of leader 0: reserved counts
constexpr std::uint32_t kFirstContextCount = 16;

// Marks messages between the leaders of two groups that make an inter-communicator.
constexpr std::uint64_t kLeaders = std::uint64_t{1} << 62;

struct Comm : ObjectOf<MPI_Comm> {
  std::uint64_t context = 0;
  Group* group = nullptr;  // holds a count
  int rank = 0;
  int size = 0;
  // Of an inter-communicator: the other group (holds a count), and an intra-communicator of both groups, for
  // agreements between them (holds a count; context + 1). The lower group comes first in it.
  Group* remote = nullptr;
  Comm* both = nullptr;
  bool lower = false;
  // The members that ranks of messages and roots refer to: those of `group`, or of `remote`.
  const Group* partners = nullptr;
  int partner_count = 0;
  Errhandler* errhandler = nullptr;  // holds a count
  Session* session = nullptr;        // not null if it came from a session
  bool predefined = false;
  std::string name;
  Attributes attributes;
  Info info;
  std::shared_ptr<SendBuffer> buffer;
  std::shared_ptr<PartNumbers> partitioned;  // null: there were no requests
  std::shared_ptr<coll::CommState> coll;
  std::shared_ptr<const Topology> topology;  // null: none

  Comm() noexcept;
  ~Comm();
  std::int32_t peer(int member) const noexcept { return partners->peers[static_cast<std::size_t>(member)]; }
  // In the root's own group of an inter-communicator.
  bool has_own_roots(int root) const noexcept {
    return remote != nullptr && (root == MPI_ROOT || root == MPI_PROC_NULL);
  }
  bool names(int member) const noexcept {
    return static_cast<unsigned>(member) < static_cast<unsigned>(partner_count);
  }
};

struct WinState;  // memory and epochs (mpi/rma/window.hpp); shared pointers destroy it without its definition

struct Win : ObjectOf<MPI_Win> {
  Comm* comm = nullptr;              // its own, without a handle; holds a count
  Errhandler* errhandler = nullptr;  // holds a count
  std::string name;
  Attributes attributes;
  Info info;
  // The predefined attributes; the program gets the addresses of all but the first.
  void* base = nullptr;
  MPI_Aint size = 0;
  int disp_unit = 1, flavor = MPI_WIN_FLAVOR_CREATE, model = MPI_WIN_UNIFIED;
  std::shared_ptr<WinState> state;

  Win() noexcept;
  ~Win();
};

struct FileState;  // mpi/io/file.hpp; shared pointers destroy it without its definition

struct File : ObjectOf<MPI_File> {
  Comm* comm = nullptr;              // its own, without a handle; holds a count
  Errhandler* errhandler = nullptr;  // holds a count
  std::shared_ptr<FileState> state;

  File() noexcept;
  ~File();
};

// Reference counts. `release` destroys at zero.
inline void retain(Object* object) noexcept { ++object->refs; }
void release(Comm* comm) noexcept;
void release(Group* group) noexcept;
void release(Errhandler* errhandler) noexcept;
void release(Datatype* datatype) noexcept;
void release(Op* op) noexcept;

// From a handle to its object; null if there is none (null handles too).
Comm* find(MPI_Comm handle) noexcept;
Group* find(MPI_Group handle) noexcept;
Errhandler* find(MPI_Errhandler handle) noexcept;
Datatype* find_slow(MPI_Datatype handle) noexcept;
Op* find_slow(MPI_Op handle) noexcept;
Info* find(MPI_Info handle) noexcept;
Session* find(MPI_Session handle) noexcept;
Win* find(MPI_Win handle) noexcept;
File* find(MPI_File handle) noexcept;

// Predefined datatypes by handle - kFirstDatatype, and operations by handle; never destroyed. Null until the
// tables are made (mpi/core/tables.hpp), and where there is no such handle.
constexpr std::uintptr_t kFirstDatatype = 512, kPredefinedDatatypes = 256, kPredefinedOps = 64;
extern std::atomic<Datatype*> predefined_datatypes[kPredefinedDatatypes];
extern std::atomic<Op*> predefined_ops[kPredefinedOps];

template <class Object, std::size_t kCount, class Handle>
Object* find_predefined(const std::atomic<Object*> (&table)[kCount], std::uintptr_t first,
                        Handle handle) noexcept {
  const std::uintptr_t index = reinterpret_cast<std::uintptr_t>(handle) - first;
  return index < kCount ? table[index].load(std::memory_order_acquire) : nullptr;
}
inline Datatype* find(MPI_Datatype handle) noexcept {
  Datatype* found = find_predefined(predefined_datatypes, kFirstDatatype, handle);
  return found != nullptr ? found : find_slow(handle);
}
inline Op* find(MPI_Op handle) noexcept {
  Op* found = find_predefined(predefined_ops, 0, handle);
  return found != nullptr ? found : find_slow(handle);
}

// How errors name a kind of handle.
struct HandleKind {
  int error_class;
  const char* noun;
  const void* null;
};
inline HandleKind kind_of(MPI_Comm) noexcept { return {MPI_ERR_COMM, "communicator", MPI_COMM_NULL}; }
inline HandleKind kind_of(MPI_Group) noexcept { return {MPI_ERR_GROUP, "group", MPI_GROUP_NULL}; }
inline HandleKind kind_of(MPI_Datatype) noexcept { return {MPI_ERR_TYPE, "datatype", MPI_DATATYPE_NULL}; }
inline HandleKind kind_of(MPI_Op) noexcept { return {MPI_ERR_OP, "operation", MPI_OP_NULL}; }
inline HandleKind kind_of(MPI_Info) noexcept { return {MPI_ERR_INFO, "info", MPI_INFO_NULL}; }
inline HandleKind kind_of(MPI_Session) noexcept { return {MPI_ERR_SESSION, "session", MPI_SESSION_NULL}; }
inline HandleKind kind_of(MPI_Win) noexcept { return {MPI_ERR_WIN, "window", MPI_WIN_NULL}; }
inline HandleKind kind_of(MPI_File) noexcept { return {MPI_ERR_FILE, "file", MPI_FILE_NULL}; }
inline HandleKind kind_of(MPI_Errhandler) noexcept {
  return {MPI_ERR_ERRHANDLER, "error handler", MPI_ERRHANDLER_NULL};
}

}  // namespace herald::mpi
