// SPDX-License-Identifier: BSD-3-Clause
// rel/link.hpp: one way to a peer: does it answer, how fast is it, what is on its way there.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "base/instant.hpp"
#include "rel/rtt.hpp"

namespace herald::rel {

constexpr Instant kNever{INT64_MAX};

//   unproven -> live <-> suspect -> dead -> live
//   suspect: a timeout without an answer while there are other links. Nothing new goes there.
//   dead:    it did not answer probes either. Probed with back-off, taken again when it answers.
enum class LinkState : std::uint8_t { unproven, live, suspect, dead };

struct Link {
  Instant since;  // something is on its way and nothing was sent or acknowledged since then
  Instant measured_from;
  Instant probe_at = kNever;             // next probe
  Instant probed_at;                     // last probe
  Instant silent_since;                  // state unproven, suspect: since when
  Rtt rtt;                               // its least is that of the last kWindow samples, or twice as many
  std::uint32_t recent_ns = UINT32_MAX;  // least of those since the window began
  std::uint32_t samples = 0;             // in it
  std::uint32_t next_order = 1;
  std::uint32_t acked_order = 0;  // highest that was acknowledged
  std::uint32_t in_flight = 0;
  std::uint32_t probe_number = 0;
  std::uint32_t reply_number = 0;
  std::uint32_t measured = 0;  // packets acknowledged since then, the link being busy throughout
  float packet_ns = 0;         // that the link takes for one packet; 0: not known
  LinkState state = LinkState::unproven;
  std::uint8_t timeouts = 0;  // in a row
  std::uint8_t probes = 0;    // in a row without answer
  std::uint8_t jitter = 0;
  std::uint8_t reply_link = 0;
  bool probe_due = false;
  bool reply_due = false;
  bool busy = false;  // at the last ack: enough on its way to measure delivery

  bool usable() const noexcept { return state == LinkState::live || state == LinkState::unproven; }
  void on_round_trip(Duration sample) noexcept {
    rtt.add(sample);
    recent_ns = std::min(recent_ns, rtt.latest_ns);
    if (++samples < kWindow) return;
    rtt.least_ns = recent_ns;  // the way may have become longer
    recent_ns = UINT32_MAX;
    samples = 0;
  }
  // `packets` sent by this link were acknowledged together. True if its speed was measured anew.
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
  // So many count whatever their time: who took samples of 1 ms only would, on a link that is faster than
  // that, hear of nothing but its worst moments.
  static constexpr std::uint32_t kMeasureAtOnce = 256;
  static constexpr float kSlower = 17.F / 16;

  void restart(Instant now) noexcept {
    measured_from = now;
    measured = 0;
  }
  // Faster is believed at once, slower only bit by bit: it may be a receiver that was busy with something
  // else, and who believes that he is slow stays slow.
  void take_sample(Instant now, Duration time) noexcept {
    const float sample = static_cast<float>(time.ns) / static_cast<float>(measured);
    packet_ns = packet_ns == 0       ? sample
                : sample < packet_ns ? (packet_ns + sample) / 2
                                     : std::min(sample, packet_ns * kSlower);
    restart(now);
  }
};
static_assert(sizeof(Link) <= 104, "made at the first use of a peer");

// The link for the next data packet: the first of the best state; when much is on its way, all live ones of
// comparable speed, each by what it delivers.
std::uint8_t choose_link(std::span<const Link> links) noexcept;

}  // namespace herald::rel
