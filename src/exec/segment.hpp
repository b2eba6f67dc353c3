// SPDX-License-Identifier: BSD-3-Clause
// exec/segment.hpp: the collective segment of a team on this host. All ranks of the team agree on it
// (exec/agreement.hpp): on every host all ranks attach it or none does, and then plans use messages only.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "coll/cluster.hpp"
#include "exec/shared_channel.hpp"

namespace herald::exec {

// Shared memory that this process may still spend on segments: in all, and for each of the two parts of one.
struct SegmentBudget {
  std::uint64_t all_bytes, post_bytes, stream_bytes;
  // `similar`: so many segments of this size may be made at the same time, by other processes too.
  static SegmentBudget left(const Knobs& knobs, std::uint64_t similar) noexcept;
};

class Segment {
 public:
  // The same on every host of a team.
  struct Sizes {
    std::uint64_t post_bytes = 0, stream_bytes = 0;
  };

  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { discharge(); }

  // Segments have two sets of channels where a plan may have a part on the host before the exchange between
  // hosts and another one after it.
  static path::CollSegmentShape shape_of(const coll::Cluster& cluster, int host, const Sizes& sizes) noexcept;
  // The first rank of a host makes the segment, the others attach it.
  bool create(const std::string& path, const path::CollSegmentShape& shape, std::uint64_t nonce,
              std::uint64_t similar) noexcept;
  bool attach(const char* path, const path::CollSegmentShape& shape, std::uint64_t nonce) noexcept {
    return memory_.attach(path, shape, nonce);
  }
  // Tells the other ranks of the host about this one. `probe` null: they may not read the memory of this one.
  void publish_owner(bool spins, const std::uint64_t* probe) noexcept;
  // Tries to read the probe word of the next rank on this host.
  bool can_read_next() noexcept;
  void unlink() noexcept { memory_.unlink(); }

  // The agreement has ended: every host with several ranks has a segment, or no host has.
  void open(const coll::Cluster& cluster, const Sizes& sizes, bool reads_peers) noexcept;
  void give_up() noexcept;

  // How many bytes a post may copy; 0: plans must do without the segment.
  std::uint32_t copied_bytes(bool persistent) const noexcept { return copied_bytes_[persistent ? 1 : 0]; }
  bool reads_peers() const noexcept { return reads_peers_; }
  bool has_streams() const noexcept { return has_streams_; }
  // All ranks are on one host, and one of them may not spin.
  bool oversubscribed() const noexcept { return oversubscribed_; }
  SharedChannel& channel(std::uint32_t index) noexcept { return channels_[index]; }

  HostRanks ranks;

 private:
  void discharge() noexcept;

  path::CollSegment memory_;
  std::vector<SharedChannel> channels_;
  std::array<std::uint32_t, 2> copied_bytes_{};  // on any host: blocking and nonblocking; persistent
  std::uint64_t charged_bytes_ = 0;
  bool charged_streams_ = false;
  bool reads_peers_ = false;
  bool has_streams_ = false;
  bool oversubscribed_ = false;
};

}  // namespace herald::exec
