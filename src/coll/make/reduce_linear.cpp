// SPDX-License-Identifier: BSD-3-Clause
// Reduce straight at the root, in rank order: every rank sends, the root folds one after another. For few
// ranks.
#include "coll/make/makers.hpp"
#include "coll/make/reduce_chain.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, size = static_cast<double>(bytes);
  return transfer_ns(shape, others, others * size) + others * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.own();
  if (ask.rank != ask.root) {
    b.send(ask.root, own);
    return;
  }
  b.window(0, kWindow);
  const Piece result = ask.result();
  Piece first = own;
  StepId got = kNone;
  if (ask.rank != 0) {
    first = b.scratch_items(*own.layout, own.count);
    got = b.recv(0, first);
  }
  // In place the root's own part lies where the result goes: it is brought there at the end.
  Chain chain(b, first, ask.in_place ? Piece{} : result, ask.size - 1, got);
  for (int from = 1; from < ask.size; ++from) {
    if (from == ask.rank)
      chain.fold_copy(own);
    else
      chain.fold_message(from);
  }
  const Piece sum = chain.result();
  if (sum.buffer != result.buffer || sum.offset != result.offset) b.copy(sum, result, {chain.ready()});
}

}  // namespace

const Algorithm kReduceLinear{Op::reduce, "linear", "the root folds what every rank sends, in rank order",
                              fits_any,   estimate, make};

}  // namespace herald::coll
