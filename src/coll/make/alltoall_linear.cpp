// SPDX-License-Identifier: BSD-3-Clause
// Direct alltoall between each pair of ranks, in rounds (to_in_round). A wide window (linear) overlaps
// rounds; a window of one (pairwise) loads each rank with one message in each direction. With MPI_IN_PLACE
// both sides of a pair exchange in the same round, through scratch memory.
#include <algorithm>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

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

void make(const CollSpec& spec, Builder& b, std::uint32_t window) noexcept {
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

void make_linear(const CollSpec& spec, Builder& b) noexcept { make(spec, b, kWindow); }
void make_pairwise(const CollSpec& spec, Builder& b) noexcept { make(spec, b, 1); }

constexpr const char* kLinear = "directly between each pair of ranks, many messages at a time";
constexpr const char* kPairwise = "directly between each pair of ranks, one message each way at a time";

}  // namespace

const Algorithm kAlltoallLinear{Op::alltoall, "linear", kLinear, fits_any, estimate_linear, make_linear};
const Algorithm kAlltoallPairwise{Op::alltoall, "pairwise",        kPairwise,
                                  fits_any,     estimate_pairwise, make_pairwise};
const Algorithm kAlltoallvLinear{Op::alltoallv, "linear", kLinear, fits_any, estimate_linear, make_linear};
const Algorithm kAlltoallvPairwise{Op::alltoallv, "pairwise",        kPairwise,
                                   fits_any,      estimate_pairwise, make_pairwise};
const Algorithm kAlltoallwLinear{Op::alltoallw, "linear", kLinear, fits_any, estimate_linear, make_linear};
const Algorithm kAlltoallwPairwise{Op::alltoallw, "pairwise",        kPairwise,
                                   fits_any,      estimate_pairwise, make_pairwise};

}  // namespace herald::coll
