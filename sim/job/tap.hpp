// SPDX-License-Identifier: BSD-3-Clause
// sim/job/tap.hpp: stands between reliability and matching of a simulated process. Now and then it does not
// take a packet at once, as Core does when it holds too much; and it can corrupt one, to test the checker.
#pragma once
#include <cstdint>
#include <vector>

#include "base/prng.hpp"
#include "node/config.hpp"

namespace herald::sim {

// Corruptions that the checker must find: for tests of the checker.
enum class Corruption : std::uint8_t { none, flip, drop, swap, twice };

struct TapConfig {
  double refuses = 0;                        // share of packets that are not taken at once
  Corruption corruption = Corruption::none;  // done once, to the tenth packet
};

class UnicastTap final : public rel::Listener {
 public:
  UnicastTap(Prng& chance, const TapConfig& config) noexcept : chance_(chance), config_(config) {}
  void set_next(rel::Listener& next) noexcept { next_ = &next; }
  Status deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept override;
  void returned(rel::PeerId peer, std::uint32_t packets) noexcept override { next_->returned(peer, packets); }
  void peer_lost(rel::PeerId peer) noexcept override { next_->peer_lost(peer); }
  void peer_silent(rel::PeerId peer, bool heard) noexcept override { next_->peer_silent(peer, heard); }
  void peer_answers(rel::PeerId peer) noexcept override { next_->peer_answers(peer); }
  void link_changed(rel::PeerId peer, rel::LinkId link, bool live) noexcept override {
    next_->link_changed(peer, link, live);
  }
  void segment_changed(rel::PeerId peer, rel::LinkId link, std::uint16_t bytes,
                       std::uint16_t full) noexcept override {
    next_->segment_changed(peer, link, bytes, full);
  }
  std::uint64_t offered() const noexcept { return offered_; }  // packets, refused ones too

 private:
  Status corrupt(rel::PeerId from, std::vector<std::byte> packet);

  rel::Listener* next_ = nullptr;
  Prng& chance_;
  const TapConfig config_;
  std::uint64_t offered_ = 0;
  int packets_ = 0;
  std::vector<std::byte> kept_;  // to come after the next one
  rel::PeerId kept_from_ = -1;
};

class MulticastTap final : public rel::LaneListener {
 public:
  MulticastTap(Prng& chance, double refuses) noexcept : chance_(chance), refuses_(refuses) {}
  void set_next(rel::LaneListener& next) noexcept { next_ = &next; }
  Status deliver(rel::LaneId lane, rel::PeerId source, std::span<const std::byte> packet) noexcept override;
  void reachability_changed(rel::LaneId lane, rel::PeerId member, bool hears) noexcept override {
    next_->reachability_changed(lane, member, hears);
  }
  void losing_multicast(rel::LaneId lane, rel::PeerId source, std::uint32_t percent) noexcept override {
    next_->losing_multicast(lane, source, percent);
  }
  void address_changed(rel::LaneId lane, std::uint8_t move) noexcept override {
    next_->address_changed(lane, move);
  }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  rel::LaneListener* next_ = nullptr;
  Prng& chance_;
  const double refuses_;
  std::uint64_t taken_ = 0;
};

class Tap final : public node::PacketTap {
 public:
  Tap(std::uint64_t unicast_seed, std::uint64_t multicast_seed, const TapConfig& config) noexcept
      : unicast_chance_(unicast_seed),
        multicast_chance_(multicast_seed),
        unicast_(unicast_chance_, config),
        multicast_(multicast_chance_, config.refuses) {}
  rel::Listener& unicast(rel::Listener& next) noexcept override {
    unicast_.set_next(next);
    return unicast_;
  }
  rel::LaneListener& multicast(rel::LaneListener& next) noexcept override {
    multicast_.set_next(next);
    return multicast_;
  }
  std::uint64_t moved() const noexcept { return unicast_.offered() + multicast_.taken(); }

 private:
  Prng unicast_chance_, multicast_chance_;
  UnicastTap unicast_;
  MulticastTap multicast_;
};

}  // namespace herald::sim
