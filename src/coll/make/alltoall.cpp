// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, alltoallv and alltoallw by messages.
#include <algorithm>
#include <vector>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Direct alltoall between each pair of ranks, in rounds (to_in_round). A wide window (linear) overlaps
// rounds; a window of one (pairwise) loads each rank with one message in each direction. With MPI_IN_PLACE
// both sides of a pair exchange in the same round, through scratch memory.
// Overlap saves half of the start-up. Inside a host it costs a tenth of the bandwidth. Between hosts the last
// messages queue at the links, unevenly: a third of the data, bounded by the queue of a port.
constexpr double kOversubscribedMemory = 1.1, kOversubscribedHosts = 1.05, kQueued = 0.3, kQueue = 190000;
double estimate_linear(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, all = others * static_cast<double>(bytes);
  const double oversubscribed = shape.hosts > 1 ? kOversubscribedHosts * all + std::min(kQueued * all, kQueue)
                                                : kOversubscribedMemory * all;
  return transfer_ns(shape, 0.5 * others, oversubscribed);
}
// Between hosts, one message at a time waits for a receiver that may itself wait for another rank: links
// idle.
constexpr double kWaiting = 1.5;
double estimate_pairwise(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, all = others * static_cast<double>(bytes);
  return transfer_ns(shape, others, shape.hosts > 1 && bytes > kRemoteEager ? kWaiting * all : all);
}

constexpr std::uint64_t kInPlaceScratch = 1u << 20;

void make_in_place(const CollSpec& spec, Builder& b, std::uint32_t window) noexcept {
  const int n = spec.size;
  std::uint64_t largest = 0;
  for (int i = 0; i < n; ++i)
    if (i != spec.rank) largest = std::max(largest, spec.recv.bytes(i));
  if (largest == 0) return;
  const auto fitting =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kInPlaceScratch / largest, 1, window));
  const std::uint32_t areas = std::min(fitting, static_cast<std::uint32_t>(n));
  b.window(areas, areas);
  Piece area[kWindow];
  StepId sent[kWindow];
  for (std::uint32_t i = 0; i < areas; ++i) {
    area[i] = b.scratch(largest);
    sent[i] = kNone;
  }
  std::uint32_t used = 0;
  for (int round = 0; round < n; ++round) {
    const int partner = (round - spec.rank + n) % n;
    const Piece block = spec.recv.block(partner);
    if (partner == spec.rank || block.bytes == 0) continue;
    const std::uint32_t i = used++ % areas;
    const Piece saved = bytes_of(area[i], 0, block.bytes);
    const StepId copied = b.copy(block, saved, {sent[i]});
    b.recv(partner, block, {copied});
    sent[i] = b.send(partner, saved, {copied});
  }
}

void make_linear(const CollSpec& spec, Builder& b, std::uint32_t window) noexcept {
  if (spec.in_place) return make_in_place(spec, b, window);
  const int n = spec.size;
  b.window(window, window);
  for (int k = 1; k < n; ++k) {
    const int to = to_in_round(spec.rank, k, n), from = from_in_round(spec.rank, k, n);
    const Piece in = spec.recv.block(from), out = spec.send.block(to);
    if (in.bytes != 0) b.recv(from, in);
    if (out.bytes != 0) b.send(to, out);
  }
  b.copy(spec.send.block(spec.rank), spec.recv.block(spec.rank));
}

// Each rank sends to as many others at a time as their ports bear. Two at least: while one of them waits, the
// other fills the link.
void make_linear(const CollSpec& spec, Builder& b) noexcept {
  const int bears = incast_window(spec.measured_incast(), spec.bytes, spec.size - 1);
  make_linear(spec, b, std::clamp<std::uint32_t>(static_cast<std::uint32_t>(bears), 2, kWindow));
}
void make_pairwise(const CollSpec& spec, Builder& b) noexcept { make_linear(spec, b, 1); }

constexpr const char* kLinear = "directly between each pair of ranks, many messages at a time";
constexpr const char* kPairwise = "directly between each pair of ranks, one message each way at a time";

// Bruck alltoall for small blocks: log2(n) messages instead of n - 1, each of about half the data. Block i of
// the work area moves i ranks: in round k all blocks with bit k set in i move 2^k ranks together.
constexpr double kStepNs = 25;  // one copy step, however short

double estimate_bruck(std::uint64_t bytes, const Shape& shape) noexcept {
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

void make_bruck(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes != 0) Maker(spec, b).make();
}

constexpr Algorithm kRows[] = {
    {Op::alltoall, "linear", kLinear, fits_any, estimate_linear, make_linear},
    {Op::alltoall, "pairwise", kPairwise, fits_any, estimate_pairwise, make_pairwise},
    {Op::alltoallv, "linear", kLinear, fits_any, estimate_linear, make_linear},
    {Op::alltoallv, "pairwise", kPairwise, fits_any, estimate_pairwise, make_pairwise},
    {Op::alltoallw, "linear", kLinear, fits_any, estimate_linear, make_linear},
    {Op::alltoallw, "pairwise", kPairwise, fits_any, estimate_pairwise, make_pairwise},
    {Op::alltoall, "bruck", "log2(n) rounds of packed blocks; for small ones", fits_any, estimate_bruck,
     make_bruck},
};

}  // namespace

constinit const std::span<const Algorithm> kAlltoallAlgorithms = kRows;

}  // namespace herald::coll
