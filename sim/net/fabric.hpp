// SPDX-License-Identifier: BSD-3-Clause
// sim/net/fabric.hpp: interfaces, lines and switches: the path of a datagram from one host's interface to
// others' sockets, and the faults on it.
// In:  datagrams that enter an interface; faults, links and switches that go down, partitions.
// Out: events in Transit: a datagram is at its switch, or at its host.
//
// Path of a datagram: queue of the interface -> line -> switch (store and forward) -> queue of the port ->
// line. A queue is the instant until which its line is busy; its length follows from that, so a datagram
// costs two events however long the queues are.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/net/config.hpp"
#include "sim/net/transit.hpp"
#include "sim/net/trunks.hpp"

namespace herald::sim {

constexpr std::uint8_t kNoLink = 255;

class Fabric {
 public:
  Fabric(const NetConfig& config, Transit& transit);

  // Of datagrams from now on; with a host: of those to this host.
  void set_faults(const Faults& faults) noexcept { faults_ = faults; }
  void set_faults(HostId host, const Faults& faults);
  // Those with a link argument apply to all links for kNoLink.
  void set_link(HostId host, std::uint8_t link, bool up);
  void set_switch(std::uint8_t link, bool up);
  // Of the lines of one host. The port drops longer datagrams, in both directions, and says nothing.
  struct Line {
    std::uint64_t bits_per_second = 0;  // 0: as now
    std::uint32_t longest = UINT32_MAX;
  };
  void set_line(HostId host, std::uint8_t link, const Line& line);
  // Hosts on different sides do not receive from each other; with one_way only the higher side does not
  // receive from the lower. An empty list ends the partition.
  void partition(std::vector<std::uint8_t> sides, std::uint8_t link = kNoLink, bool one_way = false);
  void set_multicast(std::uint8_t link, bool forwards);                 // of a switch
  void set_multicast_to(HostId host, std::uint8_t link, bool reaches);  // of one port
  void join(GroupId group, HostId host, std::uint8_t link);
  void leave(GroupId group, HostId host, std::uint8_t link);
  // A foreign host sends to a group.
  void send_foreign(std::uint8_t link, GroupId group, std::span<const std::byte> bytes);

  bool is_up(HostId host, std::uint8_t link) const noexcept { return link_of(host, link).up; }
  bool has_full_nic(HostId host) const noexcept;
  // When the first of the host's full interfaces is half empty, if any is full.
  std::optional<Instant> nic_half_empty_at(HostId host) const noexcept;
  void enter_nic(Flight flight);
  void at_switch(const Flight& flight);
  // The link towards the host went down while the datagram was on it.
  bool is_cut_off(const Flight& flight) const noexcept;

 private:
  struct Link {
    bool up = true;
    bool bad = false;                    // in a loss burst
    bool multicast = true;               // the switch's port forwards it
    std::uint8_t side = 0;               // of a partition
    std::uint32_t longest = UINT32_MAX;  // datagram that passes
    std::uint64_t bits_per_second = 0;
    Instant nic_free, port_free;  // when the line has sent its queue
    Instant cut{-1};              // when it last went down: datagrams on it were lost
  };
  struct Switch {
    bool up = true, multicast = true, one_way = false, divided = false;
  };
  struct Member {
    HostId host;
    std::uint8_t link;
  };

  Link& link_of(HostId host, std::uint8_t link) noexcept {
    return links_[static_cast<std::size_t>(host) * config_.links + link];
  }
  const Link& link_of(HostId host, std::uint8_t link) const noexcept {
    return links_[static_cast<std::size_t>(host) * config_.links + link];
  }
  static Duration queue_time(const Link& link, std::uint32_t bytes) noexcept;
  static Duration line_time(const Link& link, std::uint32_t payload) noexcept {
    return queue_time(link, wire_bytes(payload));
  }
  void pass_spine(const Flight& flight);
  // A copy for each member of the group at this leaf.
  void to_members(const Flight& flight, std::uint16_t leaf);
  bool is_full(const Link& link) const noexcept;
  bool is_divided(HostId from, HostId to, std::uint8_t link) const noexcept;
  void to_port(const Flight& flight, HostId to);
  void down_the_line(Flight flight, Instant arrives);
  void duplicate(const Flight& flight, Instant arrives);
  void spoil(Flight& flight, const Faults& faults);

  const NetConfig& config_;
  Transit& transit_;
  Faults faults_;
  std::vector<std::optional<Faults>> own_faults_;  // by host
  std::vector<Link> links_;
  std::vector<Switch> switches_;
  Trunks trunks_;
  std::vector<std::vector<Member>> groups_;
};

}  // namespace herald::sim
