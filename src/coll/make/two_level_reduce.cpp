// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce over hosts with several ranks. An operation that does not commute needs ranks that are
// numbered host by host.
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

double estimate_reduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::reduce, bytes, shape);
}

// One rank of each host (the root on its own host) reduces that host's contributions; then those are reduced.
void make_reduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  const std::vector<int> representatives = l.representatives();
  const bool at_root = l.host == l.root_host(),
             represents = representatives[static_cast<std::size_t>(l.host)] == spec.rank;
  const Blocks own = spec.in_place ? spec.recv : spec.send;
  CollSpec outer = l.part(Op::reduce, l.root_host(), spec.bytes);
  outer.recv = spec.recv;
  outer.send = own;
  outer.in_place = spec.in_place;
  if (l.count > 1) {
    CollSpec inner = l.part(Op::reduce, at_root ? l.root_place() : 0, spec.bytes);
    inner.send = own;
    inner.in_place = spec.in_place;
    if (spec.rank == spec.root) {
      inner.recv = spec.recv;
      outer.in_place = true;
    } else if (represents) {
      inner.recv = outer.send = item_blocks(b.scratch_items(*own.layout, own.count));
    }
    l.on_host(inner, false);
    b.fence();
  }
  if (represents) l.among_hosts(outer, &representatives);
}

double estimate_allreduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::allreduce, bytes, shape) +
         host_ns(Op::bcast, bytes, shape);
}

void make_allreduce(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Levels l(spec, b);
  CollSpec inner = l.part(Op::reduce, 0, spec.bytes), outer = l.part(Op::allreduce, 0, spec.bytes);
  inner.send = outer.send = spec.in_place ? spec.recv : spec.send;
  inner.recv = outer.recv = spec.recv;
  inner.in_place = spec.in_place && l.place == 0;
  outer.in_place = spec.in_place || l.count > 1;
  l.on_host(inner, false);
  b.fence();
  if (l.place == 0) l.among_hosts(outer);
  b.fence();
  inner.op = Op::bcast;
  inner.send = Blocks{};
  inner.in_place = false;
  l.on_host(inner, true);
}

}  // namespace

const Algorithm kReduceTwoLevel{Op::reduce,     "two_level",     "on each host, then among one rank of each",
                                fits_two_level, estimate_reduce, make_reduce};
const Algorithm kAllreduceTwoLevel{Op::allreduce,
                                   "two_level",
                                   "reduced on each host, then among leaders, then distributed on each host",
                                   fits_two_level,
                                   estimate_allreduce,
                                   make_allreduce};

}  // namespace herald::coll
