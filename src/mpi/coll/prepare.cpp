// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/prepare.hpp"

#include <algorithm>
#include <climits>

#include "calls.hpp"
#include "mpi/coll/caller.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

// Longer calls gain nothing from a hint, and a wrong count must not make a plan of millions of steps.
constexpr MPI_Count kMostBytes = MPI_Count{1} << 30;

// Hints about messages to or from one partner, numbered behind the collectives.
constexpr int kSend = coll::kOps, kRecv = kSend + 1;
bool is_message(int operation) noexcept { return operation >= kSend; }

// Stand for the buffers of a call, which a plan does not name.
std::byte send_place, recv_place;

bool is_rooted(coll::Op op) noexcept {
  return op == coll::Op::bcast || op == coll::Op::gather || op == coll::Op::gatherv ||
         op == coll::Op::scatter || op == coll::Op::scatterv || op == coll::Op::reduce;
}
bool reduces(coll::Op op) noexcept {
  return op == coll::Op::reduce || op == coll::Op::allreduce || op == coll::Op::reduce_scatter ||
         op == coll::Op::reduce_scatter_block || op == coll::Op::scan || op == coll::Op::exscan;
}

bool is_moderate(MPI_Count count, const Datatype* type) noexcept {
  return count >= 0 && type != nullptr && count <= kMostBytes / std::max<MPI_Count>(1, type->layout->size());
}

// One side of a call whose arguments are known, and give a plan of moderate size.
class Known {
 public:
  Known(const Hint::Side& side, const Comm& comm) noexcept
      : side_(side), ranks_(static_cast<std::size_t>(comm.size)), type_(find(side.type)) {}

  Datatype* type() const noexcept { return type_; }
  bool one(MPI_Count blocks) const noexcept {
    return is_moderate(side_.count, type_) && is_moderate(side_.count * blocks, type_);
  }
  bool counts() const noexcept {
    return !side_.counts.null() && add_up([this](std::size_t) { return type_; });
  }
  bool array() const noexcept { return !side_.displacements.null() && counts(); }
  bool array_of_types() const noexcept {
    return !side_.counts.null() && !side_.displacements.null() && side_.types != nullptr &&
           add_up([this](std::size_t i) { return find(side_.types[i]); });
  }

 private:
  template <class TypeOf>
  bool add_up(TypeOf type_of) const noexcept {
    MPI_Count sum = 0;
    for (std::size_t i = 0; i < ranks_; ++i) {
      const Datatype* type = type_of(i);
      if (!is_moderate(side_.counts[i], type)) return false;
      sum += side_.counts[i] * type->layout->size();
    }
    return sum <= kMostBytes;
  }
  const Hint::Side& side_;
  std::size_t ranks_;
  Datatype* type_;
};

class Preparation {
 public:
  Preparation(Call& call, Comm& comm, coll::Op operation, const Hint& hint) noexcept
      : call_(call), comm_(comm), operation_(operation), hint_(hint) {}

  // Makes the plan as the call itself would. Does nothing if an argument that matters at this rank is not
  // known.
  int run() noexcept {
    const Hint::Side &s = hint_.send, &r = hint_.recv;
    switch (operation_) {
      case coll::Op::barrier: return api::barrier(call_, &comm_, kHow);
      case coll::Op::bcast:
        if (!recv_.one(1)) break;
        return api::bcast(call_, &recv_place, r.count, recv_.type(), hint_.root, &comm_, kHow);
      case coll::Op::gather:
        if (!send_known(1) || (at_root() && !recv_.one(comm_.size))) break;
        return api::gather(call_, in_place_or_send(), s.count, send_.type(), &recv_place, r.count,
                           recv_.type(), hint_.root, &comm_, kHow);
      case coll::Op::gatherv:
        if (!send_known(1) || (at_root() && !recv_.array())) break;
        return api::gatherv(call_, in_place_or_send(), s.count, send_.type(), &recv_place, r.counts,
                            r.displacements, recv_.type(), hint_.root, &comm_, kHow);
      case coll::Op::scatter:
        if ((at_root() && !send_.one(comm_.size)) || !recv_known()) break;
        return api::scatter(call_, &send_place, s.count, send_.type(), in_place_or_recv(), r.count,
                            recv_.type(), hint_.root, &comm_, kHow);
      case coll::Op::scatterv:
        if ((at_root() && !send_.array()) || !recv_known()) break;
        return api::scatterv(call_, &send_place, s.counts, s.displacements, send_.type(), in_place_or_recv(),
                             r.count, recv_.type(), hint_.root, &comm_, kHow);
      default: return run_between_all();
    }
    return MPI_SUCCESS;
  }

 private:
  static constexpr How kHow{How::Form::prepare, nullptr};

  int run_between_all() noexcept {
    const Hint::Side &s = hint_.send, &r = hint_.recv;
    switch (operation_) {
      case coll::Op::allgather:
        if (!send_known(1) || !recv_.one(comm_.size)) break;
        return api::allgather(call_, in_place_or_send(), s.count, send_.type(), &recv_place, r.count,
                              recv_.type(), &comm_, kHow);
      case coll::Op::allgatherv:
        if (!send_known(1) || !recv_.array()) break;
        return api::allgatherv(call_, in_place_or_send(), s.count, send_.type(), &recv_place, r.counts,
                               r.displacements, recv_.type(), &comm_, kHow);
      case coll::Op::alltoall:
        if (!send_known(comm_.size) || !recv_.one(comm_.size)) break;
        return api::alltoall(call_, in_place_or_send(), s.count, send_.type(), &recv_place, r.count,
                             recv_.type(), &comm_, kHow);
      case coll::Op::alltoallv:
        if ((!hint_.in_place && !send_.array()) || !recv_.array()) break;
        return api::alltoallv(call_, in_place_or_send(), s.counts, s.displacements, send_.type(), &recv_place,
                              r.counts, r.displacements, recv_.type(), &comm_, kHow);
      case coll::Op::alltoallw:
        if ((!hint_.in_place && !send_.array_of_types()) || !recv_.array_of_types()) break;
        return api::alltoallw(call_, in_place_or_send(), s.counts, s.displacements, s.types, &recv_place,
                              r.counts, r.displacements, r.types, &comm_, kHow);
      default: return run_reduction();
    }
    return MPI_SUCCESS;
  }

  int run_reduction() noexcept {
    Op* const op = find(hint_.op);
    const MPI_Count count = hint_.recv.count;
    Datatype* const type = recv_.type();
    const void* const from = in_place_or_send();
    if (op == nullptr || type == nullptr) return MPI_SUCCESS;
    if (operation_ == coll::Op::reduce_scatter)
      return recv_.counts()
                 ? api::reduce_scatter(call_, from, &recv_place, hint_.recv.counts, type, op, &comm_, kHow)
                 : MPI_SUCCESS;
    if (!recv_.one(operation_ == coll::Op::reduce_scatter_block ? comm_.size : 1)) return MPI_SUCCESS;
    switch (operation_) {
      case coll::Op::reduce:
        return api::reduce(call_, from, &recv_place, count, type, op, hint_.root, &comm_, kHow);
      case coll::Op::allreduce:
        return api::allreduce(call_, from, &recv_place, count, type, op, &comm_, kHow);
      case coll::Op::reduce_scatter_block:
        return api::reduce_scatter_block(call_, from, &recv_place, count, type, op, &comm_, kHow);
      case coll::Op::scan: return api::scan(call_, from, &recv_place, count, type, op, &comm_, kHow);
      case coll::Op::exscan: return api::exscan(call_, from, &recv_place, count, type, op, &comm_, kHow);
      default: return MPI_ERR_ARG;
    }
  }

  bool at_root() const noexcept { return hint_.root == comm_.rank; }
  // MPI_IN_PLACE of a call with a root is the root's.
  bool in_place() const noexcept { return hint_.in_place && (!is_rooted(operation_) || at_root()); }
  bool send_known(MPI_Count blocks) const noexcept { return in_place() || send_.one(blocks); }
  bool recv_known() const noexcept { return in_place() || recv_.one(1); }
  const void* in_place_or_send() const noexcept { return in_place() ? MPI_IN_PLACE : &send_place; }
  void* in_place_or_recv() const noexcept { return in_place() ? MPI_IN_PLACE : &recv_place; }

  Call& call_;
  Comm& comm_;
  coll::Op operation_;
  const Hint& hint_;
  Known send_{hint_.send, comm_}, recv_{hint_.recv, comm_};
};

// Null, and failed: not a communicator on which plans are prepared.
Comm* find_comm(Call& call, MPI_Comm handle, int operation) noexcept {
  Comm* const comm = find(handle);
  if (comm == nullptr || comm->remote != nullptr)
    return call.fail(MPI_ERR_COMM, "argument 2 (comm) is not a valid intra-communicator");
  if (operation < 0 || operation > kRecv)
    return call.fail(MPI_ERR_ARG, "argument 1 (operation) is not one of MPIX_PLAN_*");
  return comm;
}

// MPI_PROC_NULL and wildcards are negative, as is a partner that is not known.
int prepare_message(const Comm& comm, const Hint& hint) noexcept {
  if (hint.root >= comm.size) return MPI_ERR_RANK;
  if (hint.root >= 0) runtime().engine().messages().prepare(comm.peer(hint.root), hint.operation == kSend);
  return MPI_SUCCESS;
}

}  // namespace

int prepare(Call& call, MPI_Comm handle, const Hint& hint) noexcept {
  Comm* const comm = find_comm(call, handle, hint.operation);
  if (comm == nullptr) return call.error();
  if (is_message(hint.operation)) return prepare_message(*comm, hint);
  const auto operation = static_cast<coll::Op>(hint.operation);
  coll_state(*comm).team.prepare_lane({});
  if (is_rooted(operation) && (hint.root < 0 || hint.root >= comm->size))
    return hint.root == INT_MIN ? MPI_SUCCESS : MPI_ERR_ROOT;
  if (reduces(operation) && hint.op == nullptr) return MPI_SUCCESS;
  return Preparation(call, *comm, operation, hint).run();
}

int release_prepared(Call& call, MPI_Comm handle, int operation) noexcept {
  Comm* const comm = find_comm(call, handle, operation);
  if (comm == nullptr) return call.error();
  if (comm->coll && !is_message(operation))
    coll_state(*comm).plans.release_prepared(name_of(static_cast<coll::Op>(operation)));
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
