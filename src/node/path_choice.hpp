// SPDX-License-Identifier: BSD-3-Clause
// node/path_choice.hpp: whether datagrams to a peer go by UDP or by TCP.
// In:  peers that do not answer; connections that opened and broke; UDP probes; reports of peers.
// Out: what the driver is to do (poll()); by which path a datagram goes (uses_tcp()); changes, for a person.
// Timer: one, next_deadline().
//
//   udp -> connecting -> tcp <-> udp with a connection -> udp
//
// A peer that leaves questions unanswered for a moment is tried by TCP. From the first proof of the key on,
// both sides send by TCP and probe UDP. A side whose probes arrive several times in a row returns to UDP.
// Invariants: the receiver of probes decides nothing; each direction chooses for itself. A peer without an
// open connection uses UDP, whatever became of the connection.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/instant.hpp"
#include "node/config.hpp"

namespace herald::node {

class PathChoice {
 public:
  static constexpr Duration kProbeEvery = milliseconds(100), kReportEvery = milliseconds(200);
  // No frame for so long: the connection is blackholed, or the peer is stopped.
  static constexpr Duration kSilentConnection = milliseconds(1500);
  static constexpr Duration kUnused = milliseconds(10'000);  // then a connection is closed
  static constexpr Duration kFirstBackoff = milliseconds(100), kMostBackoff = milliseconds(2000);
  static constexpr std::uint32_t kBlockedReports = 3;           // in a row that name no new probe
  static constexpr std::uint32_t kFirstRow = 3, kMostRow = 64;  // probes that arrive in a row

  struct Action {
    enum class Kind : std::uint8_t { none, connect, report, probe, close };
    Kind kind = Kind::none;
    PeerId peer = -1;
    std::uint32_t number = 0;  // of the report or probe
    std::uint32_t heard = 0;   // report: the peer's newest probe
    bool by_tcp = false;       // report
  };
  struct Change {
    PeerId peer;
    bool to_tcp;
  };

  // `tcp_only`: UDP is not to be used, so it is never probed.
  explicit PathChoice(bool tcp_only = false) noexcept : tcp_only_(tcp_only) {}

  bool uses_tcp(PeerId peer) const noexcept {
    return static_cast<std::size_t>(peer) < by_tcp_.size() && by_tcp_[static_cast<std::size_t>(peer)];
  }
  bool is_tcp_only() const noexcept { return tcp_only_; }
  bool is_idle() const noexcept { return peers_.empty(); }
  bool is_connected(PeerId peer) const noexcept;
  // Report after report of the peer names no probe: it is not only slow.
  bool is_blocked(PeerId peer) const noexcept;

  // A question to the peer had no answer for a while, whatever the path.
  void on_silent(Instant now, PeerId peer);
  // A connection has proven the key, whoever opened it; the one that was in use has broken; none came about.
  void on_connected(Instant now, PeerId peer);
  void on_disconnected(Instant now, PeerId peer);
  void on_connect_failed(Instant now, PeerId peer);
  // Frames of a connection in use.
  void on_datagram(Instant now, PeerId peer);
  void on_report(Instant now, PeerId peer, std::uint32_t number, std::uint32_t heard, bool by_tcp);
  // A probe of the peer came by UDP.
  void on_probe(Instant now, PeerId peer, std::uint32_t number);

  // The next action that is due. After `close`, the driver calls on_disconnected().
  Action poll(Instant now);
  Instant next_deadline() const noexcept;
  std::vector<Change> take_changes() noexcept { return std::exchange(changes_, {}); }

 private:
  struct Peer {
    Instant connect_at{};  // not before
    Instant report_at{}, probe_at{}, heard_at{};
    Instant udp_since{};  // both directions; a connection that is not needed is closed
    std::uint32_t reports = 0, peer_reports = 0;
    std::uint32_t probes = 0, arrived = 0;  // ours: sent, and reported to have come
    std::uint32_t heard = 0;                // the peer's newest
    std::uint32_t row = 0, needed = kFirstRow;
    std::uint32_t probes_before = 0, misses = 0;  // sent when the last report came; reports without them
    std::uint8_t failures = 0;
    bool wanted = false, connecting = false, connected = false;
    bool report_due = false, peer_by_tcp = false, returned = false;
  };
  void use_tcp(Instant now, PeerId id, Peer& peer);
  void use_udp(Instant now, PeerId id, Peer& peer);
  void set_path(PeerId id, bool tcp);
  void back_off(Instant now, Peer& peer) noexcept;
  bool poll_connected(Instant now, PeerId id, Peer& peer, Action& action);
  Instant deadline_of(PeerId id, const Peer& peer) const noexcept;

  const bool tcp_only_;
  std::map<PeerId, Peer> peers_;  // those with trouble
  std::vector<bool> by_tcp_;      // by peer
  std::vector<Change> changes_;
};

}  // namespace herald::node
