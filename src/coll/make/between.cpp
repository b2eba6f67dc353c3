// SPDX-License-Identifier: BSD-3-Clause
// Plans between two groups of an inter-communicator. Each group gathers or distributes by the cheapest intra-
// group plan; between the groups data moves between their first ranks, or directly where every rank has data
// of its own for the other group.
#include <algorithm>
#include <numeric>
#include <vector>

#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

class Between {
 public:
  Between(const CollSpec& call, Builder& builder) noexcept
      : spec_(call),
        b_(builder),
        own_(static_cast<std::size_t>(call.size)),
        is_leader_(call.rank == 0),
        root_is_self_(call.root == kRootSelf),
        root_in_own_group_(call.root == kRootOwnGroup) {
    std::iota(own_.begin(), own_.end(), spec_.sides->own);
  }

  void make() noexcept {
    switch (spec_.op) {
      case Op::barrier: return barrier();
      case Op::bcast: return bcast();
      case Op::gather:
      case Op::gatherv: return gather();
      case Op::scatter:
      case Op::scatterv: return scatter();
      case Op::allgather:
      case Op::allgatherv:
      case Op::alltoall:
      case Op::alltoallv:
      case Op::alltoallw: return exchange();
      case Op::reduce: return reduce();
      case Op::allreduce: return allreduce();
      case Op::reduce_scatter:
      case Op::reduce_scatter_block: return reduce_scatter();
      case Op::scan:
      case Op::exscan:
      case Op::neighbor_allgather:
      case Op::neighbor_allgatherv:
      case Op::neighbor_alltoall:
      case Op::neighbor_alltoallv:
      case Op::neighbor_alltoallw: return;  // not defined between groups
    }
  }

 private:
  int there(int rank) const noexcept { return spec_.sides->other + rank; }

  // An intra-group part of the call, rooted at the group's first rank.
  void within(Op op, std::uint64_t bytes, const Blocks& send, const Blocks& recv) noexcept {
    CollSpec part;
    part.op = op;
    part.rank = spec_.rank;
    part.size = spec_.size;
    part.bytes = bytes;
    part.commutes = spec_.commutes;
    part.send = send;
    part.recv = recv;
    b_.map_ranks(own_);
    choose(op, bytes, shape_of(spec_.size, spec_.size, spec_.commutes)).make(part, b_);
    b_.map_ranks({});
    b_.fence();
  }
  // At the first rank: exchange the data of both groups.
  void swap(const Piece& mine, const Piece& theirs) noexcept {
    b_.recv(there(0), theirs);
    b_.send(there(0), mine);
  }
  Blocks room(const Blocks& like) noexcept {
    return is_leader_ ? item_blocks(b_.scratch_items(*like.layout, like.count)) : Blocks{};
  }

  void barrier() noexcept {
    CollSpec all;
    all.rank = spec_.sides->own + spec_.rank;
    all.size = spec_.size + spec_.sides->other_count;
    choose(Op::barrier, 0, shape_of(all.size, all.size, true)).make(all, b_);
  }

  void bcast() noexcept {
    if (spec_.bytes == 0 || root_in_own_group_) return;
    if (root_is_self_) {
      b_.send(there(0), spec_.send.range(0, 1));
      return;
    }
    if (is_leader_) b_.recv(there(spec_.root), spec_.recv.range(0, 1));
    b_.fence();
    within(Op::bcast, spec_.bytes, {}, spec_.recv);
  }

  void gather() noexcept {
    if (root_in_own_group_) return;
    if (!root_is_self_) {
      const Piece own = spec_.send.range(0, 1);
      if (own.bytes != 0) b_.send(there(spec_.root), own);
      return;
    }
    b_.window(0, kWindow);
    for (int i = 0; i < spec_.sides->other_count; ++i) {
      const Piece block = spec_.recv.block(i);
      if (block.bytes != 0) b_.recv(there(i), block);
    }
  }

  void scatter() noexcept {
    if (root_in_own_group_) return;
    if (!root_is_self_) {
      const Piece own = spec_.recv.range(0, 1);
      if (own.bytes != 0) b_.recv(there(spec_.root), own);
      return;
    }
    b_.window(kWindow, 0);
    for (int i = 0; i < spec_.sides->other_count; ++i) {
      const Piece block = spec_.send.block(i);
      if (block.bytes != 0) b_.send(there(i), block);
    }
  }

  // In each round every rank has at most one partner, which has this rank as its partner.
  void exchange() noexcept {
    const bool same = spec_.op == Op::allgather || spec_.op == Op::allgatherv;
    const int rounds = std::max(spec_.size, spec_.sides->other_count);
    b_.window(kWindow, kWindow);
    for (int round = 0; round < rounds; ++round) {
      const int partner = (round - spec_.rank + rounds) % rounds;
      if (partner >= spec_.sides->other_count) continue;
      const Piece in = spec_.recv.block(partner),
                  out = same ? spec_.send.range(0, 1) : spec_.send.block(partner);
      if (in.bytes != 0) b_.recv(there(partner), in);
      if (out.bytes != 0) b_.send(there(partner), out);
    }
  }

  void reduce() noexcept {
    if (spec_.bytes == 0 || root_in_own_group_) return;
    if (root_is_self_) {
      b_.recv(there(0), spec_.result());
      return;
    }
    const Blocks mine = room(spec_.send);
    within(Op::reduce, spec_.bytes, spec_.send, mine);
    if (is_leader_) b_.send(there(spec_.root), mine.range(0, 1));
  }

  void allreduce() noexcept {
    if (spec_.bytes == 0) return;
    const Blocks mine = room(spec_.send);
    within(Op::reduce, spec_.bytes, spec_.send, mine);
    if (is_leader_) swap(mine.range(0, 1), spec_.result());
    b_.fence();
    within(Op::bcast, spec_.bytes, {}, spec_.recv);
  }

  void reduce_scatter() noexcept {
    if (spec_.bytes == 0) return;
    const bool equal = spec_.op == Op::reduce_scatter_block;
    Blocks whole = spec_.send;
    whole.count = equal ? spec_.send.count * spec_.size
                        : std::accumulate(whole.counts, whole.counts + spec_.size, std::int64_t{0});
    whole.counts = whole.displacements = nullptr;
    const Blocks mine = room(whole);
    Blocks theirs = room(whole);
    within(Op::reduce, spec_.bytes, whole, mine);
    if (is_leader_) {
      swap(mine.range(0, 1), theirs.range(0, 1));
      theirs.count = spec_.send.count;
      theirs.counts = spec_.send.counts;
      theirs.displacements = spec_.send.displacements;
    }
    b_.fence();
    if (equal)
      within(Op::scatter, spec_.bytes / static_cast<std::uint64_t>(spec_.size), theirs, spec_.recv);
    else
      within(Op::scatterv, 0, theirs, spec_.recv);
  }

  const CollSpec& spec_;
  Builder& b_;
  std::vector<int> own_;
  const bool is_leader_, root_is_self_, root_in_own_group_;
};

}  // namespace

Plan make_plan_between(const CollSpec& spec) noexcept {
  Builder builder;
  Between between(spec, builder);
  between.make();
  Plan plan = builder.finish("between");
  plan.operation = name_of(spec.op);
  return plan;
}

}  // namespace herald::coll
