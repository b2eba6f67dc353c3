// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/caller.hpp: from the arguments of a collective call to a plan that runs.
// In:  buffers, counts and types, each with its number and name; which form of the call it is.
// Out: the call's return value; or a request that runs the plan.
// The generated entry point does not check arguments that matter at some ranks only: datatypes, counts and
// buffers are checked here. A call that fails its checks does not count as a collective.
#pragma once
#include <vector>

#include "coll/coll_spec.hpp"
#include "coll/neighbors.hpp"
#include "mpi/coll/state.hpp"
#include "mpi/coll/work.hpp"
#include "mpi/core/call.hpp"

namespace herald::mpi {

// A buffer argument with its counts and types; numbers and names as in the standard.
struct Data {
  const void* buffer;
  Arg buffer_arg;
  MPI_Count count;
  Arg count_arg;
  Datatype* type;
  Arg type_arg;
};
// The same with an array of counts and displacements; of types too: MPI_Alltoallw.
template <class Type>
struct DataArray {
  const void* buffer;
  Arg buffer_arg;
  Counts counts;
  Arg counts_arg;
  Counts displacements;
  Arg displacements_arg;
  Type type;
  Arg type_arg;
};
using DataV = DataArray<Datatype*>;
using DataW = DataArray<const MPI_Datatype*>;

class Caller {
 public:
  Caller(Call& call, Comm& comm, coll::Op op, How how, int root = 0) noexcept;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  bool at_root() const noexcept {
    return spec_.root == (spec_.sides == nullptr ? comm_.rank : coll::kRootSelf);
  }
  // This rank exchanges data with the root: not in the root's own group of an inter-communicator.
  bool faces_root() const noexcept { return spec_.root >= 0; }
  // Checks, and makes it the send or receive side. `blocks`: how many blocks of `count` lie in the buffer.
  void send(const Data& data, int blocks = 1) noexcept { side(spec_.send, binding_.send, data, blocks); }
  void recv(const Data& data, int blocks = 1) noexcept { side(spec_.recv, recv_, data, blocks); }
  void send(const DataV& data) noexcept { side(spec_.send, binding_.send, data); }
  void recv(const DataV& data) noexcept { side(spec_.recv, recv_, data); }
  void send(const DataW& data) noexcept { side(spec_.send, binding_.send, data); }
  void recv(const DataW& data) noexcept { side(spec_.recv, recv_, data); }
  // The data of this side is in the other buffer.
  bool in_place(const void* buffer, bool allowed = true) noexcept {
    return spec_.in_place = buffer == MPI_IN_PLACE && allowed && spec_.sides == nullptr;
  }
  // The operation, and that it fits the type of the receive side (or of the send side).
  void reduction(Op* op, Datatype* datatype) noexcept;
  // Blocks of the send side that lie one after another, of these sizes (MPI_Reduce_scatter).
  void send_in_parts(Counts counts, Arg counts_arg) noexcept;
  // Two buffers that must not be the same memory.
  void distinct(const void* one, Arg one_arg, const void* other, Arg other_arg, std::uint64_t bytes) noexcept;

  // If the call passes its checks, the cache finds it by this key.
  void remember(const CallKey& call_key) noexcept {
    call_key_ = spec_.sides == nullptr ? &call_key : nullptr;
  }

  coll::CollSpec& spec() noexcept { return spec_; }
  bool failed() const noexcept { return call_.failed(); }
  // `bytes` is CollSpec::bytes. Returns what the entry point returns.
  int go(std::uint64_t bytes) noexcept;

 private:
  bool check_type(const Datatype* type, Arg arg, std::int64_t index = -1) noexcept;
  bool check_fits(const Datatype& type, MPI_Count count, int blocks, Arg arg) noexcept;
  void check_place(const void* buffer, Arg arg, MPI_Count count, const Datatype& type) noexcept;
  void side(coll::Blocks& blocks, const void*& place, const Data& data, int many) noexcept;
  void side(coll::Blocks& blocks, const void*& place, const DataV& data) noexcept;
  void side(coll::Blocks& blocks, const void*& place, const DataW& data) noexcept;
  // Of a neighborhood collective: the neighbours that the blocks of a side belong to; null: they belong to
  // ranks.
  const std::vector<coll::Edge>* edges_of(const coll::Blocks& blocks) const noexcept;
  bool check_counts(std::size_t count, Counts counts, Arg counts_arg) noexcept;
  // Checks counts and displacements of all blocks, and adds them to the key; false: they are not valid.
  template <class Type>
  bool add_rows(const coll::Blocks& blocks, const DataArray<Type>& data) noexcept;
  int finish_failed() noexcept;
  int check_persistent() noexcept;
  exec::Runner* make_check(coll::Form form) noexcept;
  void tell_refused() noexcept;

  Call& call_;
  Comm& comm_;
  Comm& runs_;  // whose members the plan names: of an inter-communicator, those of both groups
  coll::Sides sides_;
  How how_;
  coll::Key& key_;
  CollCall collective_;
  coll::CollSpec& spec_;
  CollBinding& binding_;
  const void* recv_ = nullptr;
  const CallKey* call_key_ = nullptr;
};

// Runs or starts the plan of a call that was made before; takes over the caller's count of it. Returns what
// the entry point returns.
int run_again(Call& call, Comm& comm, coll::CachedPlan* cached, const CollBinding& binding, How how) noexcept;
// The plan of such a call, blocking or nonblocking, with a count for the caller; null if there is none.
inline coll::CachedPlan* recall(Comm& comm, How how, const CallKey& call_key) noexcept {
  return how.form < How::Form::keep && comm.remote == nullptr ? coll_state(comm).call_cache.find(call_key)
                                                              : nullptr;
}

inline bool is_in_place(const void* buffer) noexcept { return buffer == MPI_IN_PLACE; }

inline std::uint64_t bytes_of(MPI_Count count, const Datatype* type) noexcept {
  return type == nullptr
             ? 0
             : static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(type->layout->size());
}

}  // namespace herald::mpi
