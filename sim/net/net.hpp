// SPDX-License-Identifier: BSD-3-Clause
// sim/net/net.hpp: hosts connected by switches, in virtual time. Independent of the contents of datagrams.
// In:  datagrams that hosts send; actions (a cable is pulled, a host dies) at chosen instants.
// Out: turns of hosts, in which they receive, act, and send.
// A run is determined by the configuration and its seed; history() is a hash of it.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/net/config.hpp"
#include "sim/net/fabric.hpp"
#include "sim/net/transit.hpp"

namespace herald::sim {

constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

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

class Net {
 public:
  explicit Net(const NetConfig& config);
  ~Net();
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  void attach(HostId host, Node& node);
  void watch(Watcher* watcher) noexcept { transit_.watcher = watcher; }
  Instant now() const noexcept { return transit_.now; }
  Fabric& fabric() noexcept { return fabric_; }

  // For a host, in its turn.
  // False: an interface is full; the host gets a turn when it is half empty. Datagrams sent nevertheless are
  // queued, or dropped if nic_drops is set (then this is always true).
  bool may_send(HostId host);
  void send(HostId from, std::uint8_t link, HostId to, std::span<const std::byte> bytes,
            std::span<const std::byte> rest = {});
  void multicast(HostId from, std::uint8_t link, GroupId group, std::span<const std::byte> bytes);
  bool receive(HostId host, Arrival& out);
  // Requests a turn soon, whatever wake_at() returns.
  void poke(HostId host, Instant at);

  void at(Instant when, std::string what, std::function<void(Net&)> action);
  void kill(HostId host);
  void pause(HostId host, Duration how_long);

  // Until `end`, until `stop` returns true (called between events), or until no event is left. Returns
  // whether `stop` ended it.
  bool run(Instant end, const std::function<bool()>& stop = {});

  bool is_alive(HostId host) const noexcept { return host_of(host).alive; }
  const NetCounters& counters() const noexcept { return transit_.counters; }
  std::uint64_t turns_of(HostId host) const noexcept { return host_of(host).turns; }
  std::uint64_t history() const noexcept { return transit_.history(); }
  // Datagrams that exist now: on lines, in queues, in sockets.
  std::uint64_t under_way() const noexcept { return transit_.pool.held(); }
  const NetConfig& config() const noexcept { return config_; }

 private:
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
    bool blocked = false;  // waits for space in an interface
    std::uint64_t turns = 0;
    Instant turn_at = kNever, busy_until, paused_until;
    std::uint32_t socket_bytes = 0;
    std::uint32_t handled = 0;  // datagrams of this turn
    std::size_t first_waiting = 0;
    std::vector<Waiting> waiting;
    Packet* taken = nullptr;
  };
  struct Action {
    std::string what;
    std::function<void(Net&)> run;
  };

  Host& host_of(HostId id) noexcept { return hosts_[static_cast<std::size_t>(id)]; }
  const Host& host_of(HostId id) const noexcept { return hosts_[static_cast<std::size_t>(id)]; }
  void transmit(const Flight& flight);
  void at_host(const Flight& flight);
  void run_turn(HostId id);
  void schedule_turn(HostId id, Instant at);

  const NetConfig config_;
  Transit transit_;
  Fabric fabric_;
  std::vector<Host> hosts_;
  std::vector<Action> actions_;
};

}  // namespace herald::sim
