// SPDX-License-Identifier: BSD-3-Clause
// Barrier and broadcast over hosts with several ranks.
#include "coll/make/makers.hpp"
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

double estimate_barrier(std::uint64_t, const Shape& shape) noexcept {
  return leaders_ns(Op::barrier, 0, shape) + host_ns(Op::barrier, 0, shape) * 2;
}

// Arrival: the leader knows that all ranks of its host have come.
void gather_host(Levels& l) noexcept {
  l.b.map_ranks(l.all.on_host(l.host));
  if (l.spec.shared_bytes != 0) {
    const StepId here = l.b.arrive(0, 0);
    if (l.place == 0) l.b.wait_arrived(0, {here});
  } else if (l.place == 0) {
    for (int i = 1; i < l.count; ++i) l.b.recv(i, Piece{});
  } else {
    l.b.send(0, Piece{});
  }
}
// Release: the leader lets the ranks of its host go.
void release_host(Levels& l) noexcept {
  l.b.map_ranks(l.all.on_host(l.host), true);
  if (l.spec.shared_bytes != 0) {
    if (l.place == 0)
      l.b.post(0, Piece{}, true, kAllRanks);
    else
      l.b.fetch(0, 0, Piece{}, 0, true);
  } else if (l.place == 0) {
    for (int i = 1; i < l.count; ++i) l.b.send(i, Piece{});
  } else {
    l.b.recv(0, Piece{});
  }
}

void make_barrier(const CollSpec& spec, Builder& b) noexcept {
  Levels l(spec, b);
  if (l.count > 1) gather_host(l);
  b.fence();
  if (l.place == 0) l.among_hosts(l.part(Op::barrier, 0, 0));
  b.fence();
  if (l.count > 1) release_host(l);
}

double estimate_bcast(std::uint64_t bytes, const Shape& shape) noexcept {
  // The root may have to send to its host's leader first.
  return leaders_ns(Op::bcast, bytes, shape) + host_ns(Op::bcast, bytes, shape) * 1.5;
}

void make_bcast(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const bool at_root = l.host == l.root_host(), leads = l.root_place() == 0;
  CollSpec inner = l.part(Op::bcast, at_root ? l.root_place() : 0, spec.bytes);
  CollSpec outer = l.part(Op::bcast, l.root_host(), spec.bytes);
  inner.recv = outer.recv = spec.recv;
  if (at_root && !leads) {  // the leader needs the data first
    l.on_host(inner, false);
    b.fence();
  }
  if (l.place == 0) l.among_hosts(outer);
  if (at_root && !leads) return;
  if (!at_root) b.fence();  // the root sends to both at once
  l.on_host(inner, true);
}

constexpr Algorithm kRows[] = {
    {Op::barrier, "two_level", "each host by itself, their leaders among themselves, each host again",
     fits_two_level, estimate_barrier, make_barrier},
    {Op::bcast, "two_level", "among the leaders of the hosts, then on each host", fits_two_level,
     estimate_bcast, make_bcast},
};

}  // namespace

constinit const std::span<const Algorithm> kTwoLevelMoveAlgorithms = kRows;

}  // namespace herald::coll
