// SPDX-License-Identifier: BSD-3-Clause
// Linear reduce in rank order: every rank sends to the root, which reduces. For few ranks.
#include "coll/make/makers.hpp"
#include "coll/make/reduce_chain.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, size = static_cast<double>(bytes);
  return transfer_ns(shape, others, others * size) + others * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  if (spec.rank != spec.root) {
    b.send(spec.root, own);
    return;
  }
  b.window(0, kWindow);
  const Piece result = spec.result();
  Piece first = own;
  StepId got = kNone;
  if (spec.rank != 0) {
    first = b.scratch_items(*own.layout, own.count);
    got = b.recv(0, first);
  }
  // In place the root's contribution lies in the result buffer: the result is copied there at the end.
  ReduceChain chain(b, first, spec.in_place ? Piece{} : result, spec.size - 1, got);
  for (int from = 1; from < spec.size; ++from) {
    if (from == spec.rank)
      chain.reduce_copy(own);
    else
      chain.reduce_message(from);
  }
  const Piece sum = chain.result();
  if (sum.buffer != result.buffer || sum.offset != result.offset) b.copy(sum, result, {chain.ready()});
}

}  // namespace

const Algorithm kReduceLinear{
    Op::reduce, "linear", "every rank sends to the root, which reduces in rank order",
    fits_any,   estimate, make};

}  // namespace herald::coll
