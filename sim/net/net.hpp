// SPDX-License-Identifier: BSD-3-Clause
// sim/net/net.hpp: hosts connected by switches, in virtual time. Independent of the contents of datagrams.
// In:  datagrams that hosts send; actions (a cable is pulled, a host dies) at chosen instants.
// Out: turns of hosts, in which they receive, act, and send.
// A run is determined by the configuration and its seed; history() is a hash of it.
//
// Path of a datagram: queue of the interface -> line -> switch (store and forward) -> queue of the port ->
// line
// -> socket of the host -> the next turn of the host. A queue is the instant until which its line is busy;
// its length follows from that, so a datagram costs two events however long the queues are.
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

// The program of a host. It must outlive the run of the network.
class Node {
 public:
  virtual void turn(Instant now) = 0;
  // When it needs a turn even without an arrival; called after each turn.
  virtual Instant wake_at() const = 0;

 protected:
  ~Node() = default;
};

struct Arrival {
  HostId from = -1;       // -1: an unknown address
  std::uint8_t link = 0;  // on which it arrived; kNoLink if the sender is unknown
  bool multicast = false;
  GroupId group = 0;                 // multicast: the destination
  std::span<const std::byte> bytes;  // valid until the next receive() of this host
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
  virtual void on_action(Instant now, const std::string& what) = 0;

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

  // For a host, in its turn.
  // False: an interface is full; the host gets a turn when it is half empty. Datagrams sent nevertheless are
  // queued, or dropped if nic_drops is set (then this is always true).
  bool may_send(HostId host);
  void send(HostId from, std::uint8_t link, HostId to, std::span<const std::byte> bytes,
            std::span<const std::byte> rest = {});
  void multicast(HostId from, std::uint8_t link, GroupId group, std::span<const std::byte> bytes);
  bool receive(HostId host, Arrival& out);
  bool is_up(HostId host, std::uint8_t link) const noexcept { return link_of(host, link).up; }
  // Requests a turn soon, whatever wake_at() returns.
  void poke(HostId host, Instant at);

  void join(GroupId group, HostId host, std::uint8_t link);
  void leave(GroupId group, HostId host, std::uint8_t link);

  // Actions. Those with a link argument apply to all links for kNoLink.
  void at(Instant when, std::string what, std::function<void(Net&)> action);
  void set_faults(const Faults& faults) noexcept { config_.faults = faults; }
  void set_faults(HostId host, const Faults& faults);  // of datagrams to this host, from now on
  void kill(HostId host);
  void pause(HostId host, Duration how_long);
  void set_link(HostId host, std::uint8_t link, bool up);
  void set_switch(std::uint8_t link, bool up);
  // Hosts on different sides do not receive from each other; with one_way only the higher side does not
  // receive from the lower. An empty list ends the partition.
  void partition(std::vector<std::uint8_t> sides, std::uint8_t link = kNoLink, bool one_way = false);
  // A foreign host sends to a group.
  void send_foreign(std::uint8_t link, GroupId group, std::span<const std::byte> bytes);
  void set_multicast(std::uint8_t link, bool forwards);                 // of a switch
  void set_multicast_to(HostId host, std::uint8_t link, bool reaches);  // of one port

  // Until `end`, until `stop` returns true (called between events), or until no event is left. Returns
  // whether `stop` ended it.
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
    bool bad = false;             // in a loss burst
    bool multicast = true;        // the switch's port forwards it
    std::uint8_t side = 0;        // of a partition
    Instant nic_free, port_free;  // when the line has sent its queue
    Instant cut{-1};              // when it last went down: datagrams on it were lost
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
    bool blocked = false;  // waits for space in an interface
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
    bool bad = false;  // corrupted or foreign
    std::uint32_t next_free = 0;
  };
  struct Switch {
    bool up = true, multicast = true, one_way = false, divided = false;
  };
  struct Member {
    HostId host;
    std::uint8_t link;
  };
  enum Kind : std::uint32_t { kAtSwitch, kAtHost, kTurn, kAction };

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
  struct Action {
    std::string what;
    std::function<void(Net&)> run;
  };
  std::vector<Action> actions_;
  Watcher* watcher_ = nullptr;
  NetCounters counters_;
  std::uint64_t history_ = 0;
};

}  // namespace herald::sim
