// SPDX-License-Identifier: BSD-3-Clause
#include "exec/segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace herald::exec {
namespace {

// Segments that this process has made and that still exist.
std::uint64_t segments_bytes = 0;
int streams_made = 0;

}  // namespace

SegmentBudget SegmentBudget::left(const Knobs& knobs, std::uint64_t similar) noexcept {
  constexpr int kMostStreams = 8;
  const auto all = knobs.tuning.coll_segments_bytes;
  const std::uint64_t rest = (all - std::min(all, segments_bytes)) / similar;
  return {rest, rest / 4, streams_made < kMostStreams ? rest / 4 : 0};
}

path::CollSegmentShape Segment::shape_of(const coll::Cluster& cluster, int host,
                                         const Sizes& sizes) noexcept {
  const bool alone = cluster.hosts() == 1;
  return path::CollSegmentShape::make(cluster.count(host), sizes.post_bytes, alone ? sizes.stream_bytes : 0,
                                      alone ? 1 : 2);
}

bool Segment::create(const std::string& path, const path::CollSegmentShape& shape, std::uint64_t nonce,
                     std::uint64_t similar) noexcept {
  if (!memory_.create(path, shape, nonce)) return false;
  charged_bytes_ = shape.bytes() * similar;
  charged_streams_ = shape.chunks != 0;
  segments_bytes += charged_bytes_;
  streams_made += charged_streams_ ? 1 : 0;
  return true;
}

void Segment::discharge() noexcept {
  segments_bytes -= std::exchange(charged_bytes_, 0);
  streams_made -= std::exchange(charged_streams_, false) ? 1 : 0;
}

void Segment::publish_owner(bool spins, const std::uint64_t* probe) noexcept {
  memory_.owner(ranks.place) = {
      .pid = ::getpid(), .spins = spins ? 1 : 0, .probe = reinterpret_cast<std::uintptr_t>(probe)};
}

bool Segment::can_read_next() noexcept {
  const path::CollSegment::Owner& next = memory_.owner((ranks.place + 1) % ranks.count());
  return ranks.cma && next.probe != 0 && ranks.cma->probe(next.pid, next.probe, path::CollSegment::kProbe);
}

void Segment::give_up() noexcept {
  memory_.close();
  discharge();
}

void Segment::open(const coll::Cluster& cluster, const Sizes& sizes, bool reads_peers) noexcept {
  reads_peers_ = reads_peers;
  for (std::uint32_t i = 0; i < copied_bytes_.size(); ++i) {
    copied_bytes_[i] = UINT32_MAX;
    for (int host = 0; host < cluster.hosts(); ++host)
      if (cluster.count(host) > 1)
        copied_bytes_[i] =
            std::min(copied_bytes_[i], shape_of(cluster, host, sizes).channel(i).inline_bytes());
  }
  if (ranks.count() == 1) return;
  for (int i = 0; i < ranks.count(); ++i) {
    ranks.pids.push_back(memory_.owner(i).pid);
    oversubscribed_ = oversubscribed_ || (cluster.hosts() == 1 && memory_.owner(i).spins == 0);
  }
  has_streams_ = memory_.shape().chunks != 0;
  const std::uint32_t second = (memory_.shape().sets - 1) * path::CollSegmentShape::kChannels;
  for (std::uint32_t i = 0; i < path::CollSegmentShape::kChannels; ++i) {
    const path::Channel other = memory_.channel(second + i, ranks.place);
    channels_.emplace_back(ranks, memory_.channel(i, ranks.place), second == 0 ? nullptr : &other,
                           i == 0 && has_streams_ ? memory_.streams(ranks.place) : path::Streams());
  }
}

}  // namespace herald::exec
