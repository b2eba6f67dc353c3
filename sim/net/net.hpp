// SPDX-License-Identifier: BSD-3-Clause
// sim/net/net.hpp: hosts joined by switches, in virtual time. Nothing here knows what is in a datagram.
// In:  datagrams that hosts send; happenings (a cable is pulled, a host dies) at chosen instants.
// Out: turns of hosts, in which they take what has come, act, and send.
// Everything that happens follows from the configuration and its seed; history() is a hash of all of it.
//
// A datagram goes: queue of the interface -> line -> switch (stored wholly) -> queue of the port -> line ->
// socket of the host -> the host's next turn. A queue is an instant until which its line is busy: what lies
// in it follows from that, so a datagram costs two events however long the queues are.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "sim/net/config.hpp"
#include "sim/net/event_queue.hpp"
#include "sim/net/packet_pool.hpp"

namespace herald::sim {

using HostId = std::int32_t;
using GroupId = std::uint32_t;

constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};
constexpr std::uint8_t kNoLink = 255;

// What runs on a host. It must live as long as the network runs.
class Node {
 public:
  virtual void turn(Instant now) = 0;
  // When it wants a turn though nothing comes; asked after each turn.
  virtual Instant wake_at() const = 0;

 protected:
  ~Node() = default;
};

struct Arrival {
  HostId from = -1;       // -1: an address that nobody knows
  std::uint8_t link = 0;  // by which it came; kNoLink if the sender is unknown
  bool multicast = false;
  GroupId group = 0;                 // multicast: to which it came
  std::span<const std::byte> bytes;  // good until the next receive() of this host
};

// For the timeline.
enum class Sight : std::uint8_t {
  sent,
  delivered,
  lost,
  nic_full,
  port_full,
  socket_full,
  cut_off,
  duplicated,
  reordered,
  spoiled,
  foreign
};
const char* word(Sight sight) noexcept;

class Watcher {
 public:
  virtual void on_sight(Instant now, Sight sight, HostId from, HostId to, std::uint8_t link,
                        std::span<const std::byte> bytes) = 0;
  virtual void on_happening(Instant now, const std::string& what) = 0;

 protected:
  ~Watcher() = default;
};

class Net {
 public:
  explicit Net(const NetConfig& config);
  ~Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  void attach(HostId host, Node& node);
  void watch(Watcher* watcher) noexcept { watcher_ = watcher; }
  Instant now() const noexcept { return now_; }

  // What a host may do, in its turn.
  // False: an interface is full; a turn comes when it is half empty. What is sent nevertheless is queued all
  // the same, or dropped if the configuration says so (then this is always true).
  bool may_send(HostId host);
  void send(HostId from, std::uint8_t link, HostId to, std::span<const std::byte> bytes,
            std::span<const std::byte> rest = {});
  void multicast(HostId from, std::uint8_t link, GroupId group, std::span<const std::byte> bytes);
  bool receive(HostId host, Arrival& out);
  bool is_up(HostId host, std::uint8_t link) const noexcept { return link_of(host, link).up; }
  // A turn soon, whatever wake_at() says.
  void poke(HostId host, Instant at);

  void join(GroupId group, HostId host, std::uint8_t link);
  void leave(GroupId group, HostId host, std::uint8_t link);

  // What may happen to it. Those that take a link mean all of them with kNoLink.
  void at(Instant when, std::string what, std::function<void(Net&)> happening);
  void set_faults(const Faults& faults) noexcept { config_.faults = faults; }
  void set_faults(HostId host, const Faults& faults);  // of what comes to this host, from now on
  void kill(HostId host);
  void pause(HostId host, Duration how_long);
  void set_link(HostId host, std::uint8_t link, bool up);
  void set_switch(std::uint8_t link, bool up);
  // Hosts with different sides do not hear each other; with one_way only the higher side does not hear the
  // lower one. An empty list heals.
  void partition(std::vector<std::uint8_t> sides, std::uint8_t link = kNoLink, bool one_way = false);
  // Somebody who is no host of ours sends to a group.
  void stranger(std::uint8_t link, GroupId group, std::span<const std::byte> bytes);
  void set_multicast(std::uint8_t link, bool forwards);                 // of a switch
  void set_multicast_to(HostId host, std::uint8_t link, bool reaches);  // of one port

  // Until `end`, or until `stop` says so (asked between events), or nothing is left to happen.
  // Returns whether it was stopped.
  bool run(Instant end, const std::function<bool()>& stop = {});

  bool is_alive(HostId host) const noexcept { return host_of(host).alive; }
  const NetCounters& counters() const noexcept { return counters_; }
  std::uint64_t turns_of(HostId host) const noexcept { return host_of(host).turns; }
  std::uint64_t history() const noexcept { return history_; }
  // Datagrams that exist now: on lines, in queues, in sockets.
  std::uint64_t under_way() const noexcept { return pool_.held(); }
  const NetConfig& config() const noexcept { return config_; }

 private:
  struct Link {
    bool up = true;
    bool bad = false;             // in a burst of losses
    bool multicast = true;        // the switch's port forwards it
    std::uint8_t side = 0;        // of a partition
    Instant nic_free, port_free;  // when the line has sent all that is queued
    Instant cut{-1};              // when it last went down: what was on it then is gone
  };
  struct Waiting {
    Packet* packet = nullptr;
    HostId from = -1;
    std::uint8_t link = 0;
    bool multicast = false;
    bool bad = false;
    GroupId group = 0;
  };
  struct Host {
    Node* node = nullptr;
    bool alive = true;
    bool own_faults = false;
    bool blocked = false;  // found an interface full
    std::uint64_t turns = 0;
    Instant turn_at = kNever, busy_until, paused_until;
    std::uint32_t socket_bytes = 0;
    std::uint32_t handled = 0;  // datagrams of this turn
    std::size_t first_waiting = 0;
    std::vector<Waiting> waiting;
    Packet* taken = nullptr;
    Faults faults;
  };
  struct Flight {
    Packet* packet = nullptr;
    HostId from = -1, to = -1;
    Instant left;
    std::uint32_t group = 0;
    std::uint8_t link = 0;
    bool multicast = false;
    bool bad = false;  // not as it was sent
    std::uint32_t next_free = 0;
  };
  struct Switch {
    bool up = true, multicast = true, one_way = false, divided = false;
  };
  struct Member {
    HostId host;
    std::uint8_t link;
  };
  enum Kind : std::uint32_t { kAtSwitch, kAtHost, kTurn, kHappening };

  Host& host_of(HostId id) noexcept { return hosts_[static_cast<std::size_t>(id)]; }
  const Host& host_of(HostId id) const noexcept { return hosts_[static_cast<std::size_t>(id)]; }
  Link& link_of(HostId host, std::uint8_t link) noexcept {
    return links_[static_cast<std::size_t>(host) * config_.links + link];
  }
  const Link& link_of(HostId host, std::uint8_t link) const noexcept {
    return links_[static_cast<std::size_t>(host) * config_.links + link];
  }
  Duration line_time(std::uint32_t payload) const noexcept;
  Duration queue_time(std::uint32_t bytes) const noexcept;

  bool is_full(HostId host, std::uint8_t link) const noexcept;
  void enter_nic(Flight flight);
  void at_switch(const Flight& flight);
  void to_port(const Flight& flight, HostId to);
  void down_the_line(Flight flight, Instant arrives);
  void spoil(Flight& flight, const Faults& faults);
  void at_host(const Flight& flight);
  void into_socket(const Flight& flight);
  bool is_cut(HostId from, HostId to, std::uint8_t link) const noexcept;
  void run_turn(HostId id);
  void schedule_turn(HostId id, Instant at);
  void launch(Instant at, Kind kind, const Flight& flight);
  Flight land(std::uint32_t index) noexcept;
  void drop(const Flight& flight, HostId to, Sight why, std::uint64_t& counter);
  void see(Sight sight, const Flight& flight, HostId to);
  void remember(const Event& event, const Flight* flight) noexcept;

  NetConfig config_;
  Prng chance_;
  Instant now_;
  EventQueue queue_;
  PacketPool pool_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;
  std::vector<Switch> switches_;
  std::vector<std::vector<Member>> groups_;
  std::vector<Flight> flights_;
  std::uint32_t free_flight_ = kNone;
  static constexpr std::uint32_t kNone = ~0u;
  struct Happening {
    std::string what;
    std::function<void(Net&)> run;
  };
  std::vector<Happening> happenings_;
  Watcher* watcher_ = nullptr;
  NetCounters counters_;
  std::uint64_t history_ = 0;
};

}  // namespace herald::sim
