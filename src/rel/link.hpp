// SPDX-License-Identifier: BSD-3-Clause
// rel/link.hpp: the state of one link to a peer: whether it answers, its speed, its packets in flight.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/instant.hpp"
#include "rel/deadline_heap.hpp"
#include "rel/rtt.hpp"
#include "rel/segment_search.hpp"

namespace herald::rel {

//   unproven -> live <-> suspect -> dead -> live
//   suspect: a timeout without an answer while there are other links. New packets avoid it.
//   dead:    probes were not answered either. It is probed with back-off and used again once it answers.
enum class LinkState : std::uint8_t { unproven, live, suspect, dead };

// The largest datagram that is sent by a link.
struct LinkSegment {
  std::uint16_t bytes = 0;
  std::unique_ptr<SegmentSearch> search;  // null: no packet of full size was ever lost again and again

  bool is_probe_due() const noexcept { return search != nullptr && search->is_due(); }
  Instant deadline() const noexcept { return search == nullptr ? kNever : search->deadline(); }
};

struct Link {
  Instant since;  // packets are in flight, and since then none was sent or acknowledged
  Instant measured_from;
  Instant probe_at = kNever;  // next probe
  Instant probed_at;          // last probe
  Instant silent_since;       // state unproven, suspect: since when
  LinkSegment segment;
  Rtt rtt;                               // its minimum covers the last kWindow to 2 * kWindow samples
  std::uint32_t recent_ns = UINT32_MAX;  // minimum since the window began
  std::uint32_t samples = 0;             // in it
  std::uint32_t next_order = 1;
  std::uint32_t acked_order = 0;  // highest that was acknowledged
  std::uint32_t in_flight = 0;
  std::uint32_t probe_number = 0;     // of our last probe
  std::uint32_t answered_number = 0;  // of our last probe that was answered
  std::uint32_t reply_number = 0;     // of the peer's newest probe
  std::uint32_t measured = 0;         // packets acknowledged since `measured_from`, while busy
  float packet_ns = 0;                // time that the link takes for one packet; 0: not known
  LinkState state = LinkState::unproven;
  std::uint8_t timeouts = 0;  // in a row
  std::uint8_t probes = 0;    // in a row without answer
  std::uint8_t jitter = 0;
  std::uint8_t reply_link = 0;
  bool probe_due = false;
  bool reply_due = false;
  bool busy = false;  // at the last ack: enough packets in flight to measure the rate

  bool usable() const noexcept { return state == LinkState::live || state == LinkState::unproven; }
  void on_round_trip(Duration sample) noexcept {
    rtt.add(sample);
    recent_ns = std::min(recent_ns, rtt.latest_ns);
    if (++samples < kWindow) return;
    rtt.least_ns = recent_ns;  // the route may have become longer
    recent_ns = UINT32_MAX;
    samples = 0;
  }
  // `packets` sent by this link were acknowledged together. True if there is a new measure of its speed.
  bool on_delivered(Instant now, std::uint32_t packets) noexcept {
    bool sampled = false;
    if (busy) {
      measured += packets;
      const Duration time = now - measured_from;
      sampled = (measured >= kMeasurePackets && time >= kMeasureTime) || measured >= kMeasureAtOnce;
      if (sampled) take_sample(now, time);
    } else {
      restart(now);
    }
    busy = in_flight >= kBusyPackets;
    timeouts = 0;
    since = now;
    return sampled;
  }

 private:
  static constexpr std::uint32_t kWindow = 1024;
  static constexpr std::uint32_t kBusyPackets = 8;
  static constexpr std::uint32_t kMeasurePackets = 16;
  static constexpr Duration kMeasureTime = milliseconds(1);
  // This many packets make a sample in any time: on a fast link, samples of 1 ms or more would only be
  // those of its slowest moments.
  static constexpr std::uint32_t kMeasureAtOnce = 256;
  static constexpr float kSlower = 17.F / 16;

  void restart(Instant now) noexcept {
    measured_from = now;
    measured = 0;
  }
  // A faster sample counts at once, a slower one gradually: the receiver may have been busy, and a sender
  // that paces itself too slowly cannot measure a higher rate.
  void take_sample(Instant now, Duration time) noexcept {
    const float sample = static_cast<float>(time.ns) / static_cast<float>(measured);
    packet_ns = packet_ns == 0       ? sample
                : sample < packet_ns ? (packet_ns + sample) / 2
                                     : std::min(sample, packet_ns * kSlower);
    restart(now);
  }
};
static_assert(sizeof(Link) <= 120, "allocated at the first use of a peer");

}  // namespace herald::rel
