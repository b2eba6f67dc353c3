// SPDX-License-Identifier: BSD-3-Clause
// rel/link_set.hpp: the links to one peer: which of them work, and which one a packet takes. No other place
// chooses a link. A single link is not probed by itself: there is no alternative. Probes are numbered, so
// that a replayed probe or reply is known. In:  packets that came, timeouts, probes and their replies. Out:
// probes that are due, the timeout of each link, changes of link state to Listener::link_changed().
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "base/instant.hpp"
#include "rel/link.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

struct MeshConfig;
struct MeshContext;

// The link for the next data packet: the first of the best state; when many packets are in flight, all live
// links of comparable speed, each by what it delivers.
std::uint8_t choose_link(std::span<const Link> links) noexcept;

class LinkSet {
 public:
  void set_size(std::uint8_t links) noexcept { size_ = links; }
  std::uint8_t size() const noexcept { return size_; }
  bool is_started() const noexcept { return links_ != nullptr; }
  // Allocates the links at the first use of the peer. True if probes are to leave.
  bool start(const MeshConfig& config, Instant now, std::uint16_t segment) noexcept;

  Link& operator[](std::size_t link) noexcept { return links_[link]; }
  const Link& operator[](std::size_t link) const noexcept { return links_[link]; }
  std::span<Link> all() noexcept { return {links_.get(), is_started() ? std::size_t{size_} : 0}; }
  std::span<const Link> all() const noexcept { return {links_.get(), is_started() ? std::size_t{size_} : 0}; }

  std::uint8_t choose() const noexcept { return size_ == 1 ? 0 : choose_link(all()); }
  // This link if it is live, otherwise the first of the best state, whatever is in flight.
  std::uint8_t best(std::uint8_t preferred) const noexcept;
  // An ack returns by the link that brought the data, as long as that link works.
  std::uint8_t choose_for_ack(std::uint8_t data_link) const noexcept {
    return data_link < size_ && links_[data_link].state != LinkState::dead ? data_link : choose();
  }
  // A usable link that failed less often in a row than this one: a link that failed once long ago, and
  // carried nothing since, is no reason to stay with a link that fails all the time.
  bool has_alternative(std::uint8_t link) const noexcept;

  const Rtt& rtt() const noexcept;
  float packet_ns() const noexcept;  // that all live links together take for one packet; 0: not known
  static Duration timeout(const MeshConfig& config, const Link& link) noexcept;
  static bool is_overdue(const MeshConfig& config, const Link& link, Instant now) noexcept {
    return link.in_flight > 0 && link.since + timeout(config, link) <= now;
  }
  Instant deadline(const MeshConfig& config) const noexcept;

  bool has_probes_due() const noexcept {
    for (const Link& link : all())
      if (link.probe_due || link.reply_due || link.segment.is_probe_due()) return true;
    return false;
  }
  // The largest datagram that all links carry: packets are written before their link is known.
  std::uint16_t segment() const noexcept { return segment_; }
  void on_packet(MeshContext& mesh, std::int32_t peer, Instant now, std::uint8_t link) noexcept;
  void on_sent(Instant now) noexcept;
  void on_acked(MeshContext& mesh, std::int32_t peer, std::uint8_t link) noexcept;
  // Nothing new takes this link until a probe is answered.
  void suspect(Instant now, std::uint8_t link) noexcept;
  // The peer answers again: no timeout waits as long as the silence made it.
  void restart_backoff(Instant now) noexcept;
  // True: it is new, and a reply is to leave.
  bool on_probe(std::uint8_t link, const wire::ProbeBody& probe) noexcept;
  // True: it answers a probe that no reply answered before.
  bool on_probe_reply(MeshContext& mesh, std::int32_t peer, Instant now,
                      const wire::ProbeBody& probe) noexcept;
  std::uint32_t next_probe_number() noexcept { return ++last_probe_; }  // of all links together
  // The probe timer of the link has expired. True: a probe is to leave.
  bool on_probe_time(MeshContext& mesh, std::int32_t peer, Instant now, std::uint8_t link) noexcept;
  void on_clock_gap(Instant now, Duration late) noexcept;

 private:
  friend void update_segment(MeshContext& mesh, LinkSet& links) noexcept;  // rel/segment_sizes.cpp
  void prove(MeshContext& mesh, std::int32_t peer, std::uint8_t link) noexcept;

  std::unique_ptr<Link[]> links_;
  Instant last_used_{};
  std::uint32_t last_probe_ = 0;
  std::uint16_t segment_ = 0;
  std::uint8_t size_ = 0;
};

}  // namespace herald::rel
