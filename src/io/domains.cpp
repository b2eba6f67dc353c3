// SPDX-License-Identifier: BSD-3-Clause
#include "io/domains.hpp"

#include <algorithm>

namespace herald::io {

Segment hull_of(std::span<const RankAccess> ranks) noexcept {
  std::int64_t first = 0, last = 0;
  bool any = false;
  for (const RankAccess& rank : ranks) {
    if (rank.empty()) continue;
    first = any ? std::min(first, rank.first) : rank.first;
    last = any ? std::max(last, rank.last) : rank.last;
    any = true;
  }
  return {first, last - first};
}

bool is_interleaved(std::span<const RankAccess> ranks, std::int64_t large) noexcept {
  std::vector<const RankAccess*> order;
  for (const RankAccess& rank : ranks)
    if (!rank.empty()) order.push_back(&rank);
  std::sort(order.begin(), order.end(),
            [](const RankAccess* a, const RankAccess* b) { return a->first < b->first; });
  std::int64_t end = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    // A rank that accesses one segment gains nothing, whatever the others do.
    const bool in_pieces = order[i]->piece < order[i]->bytes && order[i]->piece < large;
    if (in_pieces && i != 0 && order[i]->first < end) return true;
    end = std::max(end, order[i]->last);
  }
  return false;
}

Domains::Domains(const Segment& hull, int count, std::int64_t alignment, std::int64_t window_bytes) noexcept
    : hull_(hull), start_(hull.offset / alignment * alignment), window_bytes_(window_bytes) {
  const std::int64_t all = hull.end() - start_;
  domain_bytes_ = (all + count - 1) / count;
  domain_bytes_ = std::max((domain_bytes_ + alignment - 1) / alignment, std::int64_t{1}) * alignment;
  rounds_ = (std::min(domain_bytes_, all) + window_bytes - 1) / window_bytes;
}

Segment Domains::window(int domain, std::int64_t round) const noexcept {
  const std::int64_t begin = start_ + domain * domain_bytes_;
  const std::int64_t end = std::min(begin + domain_bytes_, hull_.end());
  const std::int64_t from = std::max(begin + round * window_bytes_, hull_.offset);
  return {from, std::max<std::int64_t>(std::min(begin + (round + 1) * window_bytes_, end) - from, 0)};
}

Positions positions_in(const View& view, const RankAccess& access, const Segment& segment) noexcept {
  const std::int64_t begin = access.position, end = access.position + access.bytes;
  if (access.empty() || segment.bytes == 0 || access.last <= segment.offset || access.first >= segment.end())
    return {begin, begin};
  const std::int64_t from = access.first >= segment.offset ? begin : view.position_at(segment.offset);
  const std::int64_t to = access.last <= segment.end() ? end : view.position_at(segment.end());
  return {std::clamp(from, begin, end), std::clamp(to, begin, end)};
}

}  // namespace herald::io
