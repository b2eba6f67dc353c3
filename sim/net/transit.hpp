// SPDX-License-Identifier: BSD-3-Clause
// sim/net/transit.hpp: virtual time, the events to come, the datagrams in transit, and the record of the run.
// Net and Fabric share one; all random decisions of a network come from its generator, in the order of
// events.
#pragma once
#include <cstdint>
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

// A datagram on a line.
struct Flight {
  Packet* packet = nullptr;
  HostId from = -1, to = -1;
  Instant left;
  GroupId group = 0;
  std::uint8_t link = 0;
  bool multicast = false;
  bool bad = false;        // corrupted or foreign
  std::uint8_t stage = 0;  // at the leaf of its sender, at the spine, at the leaf of its receivers
  std::uint16_t leaf = 0;  // of its receivers
  std::uint32_t next_free = 0;
};

enum EventKind : std::uint32_t { kAtSwitch, kAtHost, kTurn, kAction };

class Transit {
 public:
  explicit Transit(std::uint64_t seed) noexcept : chance(seed) {}
  ~Transit();
  Transit(const Transit&) = delete;
  Transit& operator=(const Transit&) = delete;

  // The flight's next event is at `at`.
  void launch(Instant at, EventKind kind, const Flight& flight);
  Flight land(std::uint32_t index) noexcept;
  void drop(const Flight& flight, HostId to, Sight why, std::uint64_t& counter);
  void see(Sight sight, const Flight& flight, HostId to);
  // Adds an event to the hash of the run.
  void remember(const Event& event, const Flight* flight) noexcept;
  std::uint64_t history() const noexcept { return history_; }

  Prng chance;
  Instant now;
  EventQueue queue;
  PacketPool pool;
  Watcher* watcher = nullptr;
  NetCounters counters;

 private:
  static constexpr std::uint32_t kNone = ~0u;
  std::vector<Flight> flights_;
  std::uint32_t free_flight_ = kNone;
  std::uint64_t history_ = 0;
};

}  // namespace herald::sim
