// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce over hosts with several ranks. Where the operation does not commute, only if the ranks
// count up host after host: then the order of hosts is that of ranks.
#include "coll/make/two_level.hpp"

namespace herald::coll {
namespace {

double estimate_reduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::reduce, bytes, shape);
}

// One rank of each host, on the root's host the root, has what that host contributes; then those.
void make_reduce(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Levels l(ask, b);
  const std::vector<int> speakers = l.speakers();
  const bool at_root = l.host == l.root_host(),
             speaks = speakers[static_cast<std::size_t>(l.host)] == ask.rank;
  const Blocks own = ask.in_place ? ask.recv : ask.send;
  CollSpec outer = l.part(Op::reduce, l.root_host(), ask.bytes);
  outer.recv = ask.recv;
  outer.send = own;
  outer.in_place = ask.in_place;
  if (l.count > 1) {
    CollSpec inner = l.part(Op::reduce, at_root ? l.root_place() : 0, ask.bytes);
    inner.send = own;
    inner.in_place = ask.in_place;
    if (ask.rank == ask.root) {
      inner.recv = ask.recv;
      outer.in_place = true;
    } else if (speaks) {
      inner.recv = outer.send = item_blocks(b.scratch_items(*own.layout, own.count));
    }
    l.on_host(inner, false);
    b.then();
  }
  if (speaks) l.among_hosts(outer, &speakers);
}

double estimate_allreduce(std::uint64_t bytes, const Shape& shape) noexcept {
  return host_ns(Op::reduce, bytes, shape) + leaders_ns(Op::allreduce, bytes, shape) +
         host_ns(Op::bcast, bytes, shape);
}

void make_allreduce(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Levels l(ask, b);
  CollSpec inner = l.part(Op::reduce, 0, ask.bytes), outer = l.part(Op::allreduce, 0, ask.bytes);
  inner.send = outer.send = ask.in_place ? ask.recv : ask.send;
  inner.recv = outer.recv = ask.recv;
  inner.in_place = ask.in_place && l.place == 0;
  outer.in_place = ask.in_place || l.count > 1;
  l.on_host(inner, false);
  b.then();
  if (l.place == 0) l.among_hosts(outer);
  b.then();
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
                                   "reduced on each host, among their leaders, and handed out on each host",
                                   fits_two_level,
                                   estimate_allreduce,
                                   make_allreduce};

}  // namespace herald::coll
