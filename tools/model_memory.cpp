// SPDX-License-Identifier: BSD-3-Clause
// tools/model_memory.cpp: `herald model memory`: memory of the source of a broadcast to n hosts, with a
// buffer per receiver and with one log for all (EQA, paper 000). Fills the structures of rel/ and measures
// the heap.
#include <fmt/format.h>
#include <malloc.h>

#include <vector>

#include "base/prng.hpp"
#include "commands.hpp"
#include "rel/lane_audience.hpp"
#include "rel/lanes.hpp"
#include "rel/mesh.hpp"

namespace herald::tools {
namespace {

struct MemoryOptions {
  int hosts = 128;
  int packets = 16;  // the window of the paper, about 24 KB
};

struct NoLane final : rel::LaneListener {
  Status deliver(rel::LaneId, rel::PeerId, std::span<const std::byte>) noexcept override {
    return Status::ok;
  }
  void reachability_changed(rel::LaneId, rel::PeerId, bool) noexcept override {}
};
struct NoPeer final : rel::Listener {
  Status deliver(rel::PeerId, std::span<const std::byte>) noexcept override { return Status::ok; }
  void returned(rel::PeerId, std::uint32_t) noexcept override {}
  void peer_lost(rel::PeerId) noexcept override {}
  void link_changed(rel::PeerId, rel::LinkId, bool) noexcept override {}
};

std::size_t allocated() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

template <class Room>
int fill(int packets, Room&& commit) {
  int filled = 0;
  while (filled < packets && commit()) ++filled;
  return filled;
}

// A connection per receiver, each with its own copy of the packets.
std::size_t measure_separate(const MemoryOptions& options, int& packets) {
  Prng prng(1);
  NoPeer listener;
  const std::size_t before = allocated();
  rel::MeshConfig config;
  config.peers = options.hosts;
  config.log_bytes = 1u << 30;
  rel::Mesh mesh(config, prng, listener);
  for (rel::PeerId peer = 1; peer < options.hosts; ++peer) {
    mesh.add_peer(peer, 1);
    packets = fill(options.packets, [&] {
      const std::span<std::byte> room = mesh.reserve(peer, 1400);
      if (room.size() < 1400) return false;
      mesh.commit(peer, room.size());
      return true;
    });
  }
  return allocated() - before;
}

// One log, and a cursor per receiver.
std::size_t measure_shared(const MemoryOptions& options, int packets) {
  Prng prng(1);
  NoLane listener;
  std::vector<rel::PeerId> members;
  for (rel::PeerId peer = 0; peer < options.hosts; ++peer) members.push_back(peer);
  const std::size_t before = allocated();
  rel::LanesConfig config;
  config.peers = options.hosts;
  rel::Lanes lanes(config, prng, listener);
  const rel::LaneId lane = lanes.open(1, members);
  fill(packets, [&] {
    const std::span<std::byte> room = lanes.room(lane, 1400);
    if (room.empty()) return false;
    lanes.commit(lane, room.size());
    return true;
  });
  return allocated() - before;
}

void print(const MemoryOptions& options) {
  int packets = options.packets;
  const auto separate = static_cast<double>(measure_separate(options, packets));
  const auto shared = static_cast<double>(measure_shared(options, packets));
  const double n = options.hosts;
  // Paper 000, section 4.2, in bytes: send-only, receive-only and lightweight directed points.
  constexpr double kSend = 33.8e3, kReceive = 41.4e3, kLight = 4.4e3;
  const double paper_separate = (kSend + kReceive) * n,
               paper_shared = kSend + (n - 1) * kLight + n * kReceive;
  fmt::print("memory of a broadcast to {} hosts, {} unacknowledged packets of 1472 bytes\n\n", options.hosts,
             packets);
  fmt::print("{:34}{:>16}{:>16}{:>10}\n", "", "separate, B", "one log, B", "saved");
  const auto row = [](const char* what, double a, double b) {
    fmt::print("{:34}{:16.0f}{:16.0f}{:9.1f} %\n", what, a, b, 100 * (1 - b / a));
  };
  row("measured, at the source", separate, shared);
  row("  for each further host", separate / (n - 1), (shared - 16.0 * 1472) / (n - 1));
  row("paper 000, both sides, all hosts", paper_separate, paper_shared);
  row("  of that, at the source", kSend * n, kSend + (n - 1) * kLight);
  fmt::print("\na cursor of a further receiver has {} bytes (budget: 64); it owns no buffer\n",
             sizeof(rel::LaneMember));
}

}  // namespace

void add_model_memory(CLI::App& program) {
  CLI::App* const model = program.add_subcommand("model", "resource usage");
  model->require_subcommand(1);
  CLI::App* const memory =
      model->add_subcommand("memory", "of a broadcast: a buffer per receiver, or one log for all");
  auto options = std::make_shared<MemoryOptions>();
  memory->add_option("-n,--hosts", options->hosts, "hosts")
      ->check(CLI::Range(2, 60000))
      ->capture_default_str();
  memory->add_option("--packets", options->packets, "sent and not acknowledged")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  memory->callback([options] { print(*options); });
}

}  // namespace herald::tools
