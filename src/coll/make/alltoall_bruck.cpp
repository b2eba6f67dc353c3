// SPDX-License-Identifier: BSD-3-Clause
// Bruck alltoall for small blocks: log2(n) messages instead of n - 1, each of about half the data. Block i of
// the work area moves i ranks: in round k all blocks with bit k set in i move 2^k ranks together.
#include <algorithm>
#include <vector>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

constexpr double kStepNs = 25;  // one copy step, however short

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks, size = static_cast<double>(bytes), rounds = log2_up(shape.ranks);
  const double moved = rounds * n / 2 * size;
  return transfer_ns(shape, rounds, moved) + 2 * (moved + n * size) * shape.cost.copy_byte_ns +
         3 * n * kStepNs;
}

class Maker {
 public:
  Maker(const CollSpec& spec, Builder& b) noexcept
      : spec_(spec), b_(b), n_(spec.size), size_(spec.bytes), last_(static_cast<std::size_t>(n_), kNone) {}

  void make() noexcept {
    work_ = b_.scratch(size_ * static_cast<std::uint64_t>(n_));
    const Blocks& from = spec_.in_place ? spec_.recv : spec_.send;
    const int tail = n_ - spec_.rank;
    const StepId first = b_.copy(from.range(spec_.rank, n_), blocks(work_, 0, tail));
    const StepId second = b_.copy(from.range(0, spec_.rank), blocks(work_, tail, n_));
    for (int i = 0; i < n_; ++i) last(i) = i < tail ? first : second;
    for (int bit = 1, k = 0; bit < n_; bit *= 2, ++k) round(bit, k);
    for (int i = 0; i < n_; ++i) {
      const Piece to = spec_.recv.block((spec_.rank - i + n_) % n_);
      b_.copy(blocks(work_, i, i + 1), to, {last(i), first, second});
    }
  }

 private:
  StepId& last(int i) noexcept { return last_[static_cast<std::size_t>(i)]; }
  Piece blocks(const Piece& area, int begin, int end) const noexcept {
    return bytes_of(area, size_ * static_cast<std::uint64_t>(begin),
                    size_ * static_cast<std::uint64_t>(end - begin));
  }

  void round(int bit, int k) noexcept {
    int count = 0;
    for (int base = bit; base < n_; base += 2 * bit) count += std::min(bit, n_ - base);
    const Piece in = b_.scratch(size_ * static_cast<std::uint64_t>(count));
    const Piece out = b_.scratch(size_ * static_cast<std::uint64_t>(count));
    b_.round(k);
    const StepId got = b_.recv((spec_.rank - bit + n_) % n_, in);
    std::vector<StepId> packed;
    int at = 0;
    for (int base = bit; base < n_; base += 2 * bit) {
      const int run = std::min(bit, n_ - base);
      const StepId copied = b_.copy(blocks(work_, base, base + run), blocks(out, at, at + run));
      for (int i = base; i < base + run; ++i) b_.depend(copied, last(i));
      packed.push_back(copied);
      at += run;
    }
    const StepId sent = b_.send((spec_.rank + bit) % n_, out);
    for (StepId step : packed) b_.depend(sent, step);
    at = 0;
    std::size_t which = 0;
    for (int base = bit; base < n_; base += 2 * bit) {
      const int run = std::min(bit, n_ - base);
      const StepId back =
          b_.copy(blocks(in, at, at + run), blocks(work_, base, base + run), {got, packed[which++]});
      for (int i = base; i < base + run; ++i) last(i) = back;
      at += run;
    }
  }

  const CollSpec& spec_;
  Builder& b_;
  const int n_;
  const std::uint64_t size_;
  Piece work_;
  std::vector<StepId> last_;  // by block: the step that wrote it last
};

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes != 0) Maker(spec, b).make();
}

}  // namespace

const Algorithm kAlltoallBruck{Op::alltoall, "bruck",  "log2(n) rounds of packed blocks; for small ones",
                               fits_any,     estimate, make};

}  // namespace herald::coll
