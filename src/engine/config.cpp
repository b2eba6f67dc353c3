// SPDX-License-Identifier: BSD-3-Clause
#include "engine/config.hpp"

#include <algorithm>
#include <string>

#include "engine/processors.hpp"
#include "engine/self.hpp"
#include "path/random.hpp"

namespace herald::engine {
namespace {

constexpr std::uint32_t kLeastPayload = 4096;  // of a cell
constexpr std::uint32_t kMostPayload = 65536;

p2p::PushMode push_mode_of(const Knobs& knobs) {
  const std::string_view mode = list_value(knobs.baseline, "push");
  if (mode == "zero") return p2p::PushMode::zero;
  return mode == "all" ? p2p::PushMode::all : p2p::PushMode::pull;
}

rel::LaneMode lane_mode_of(const Knobs& knobs) {
  const std::string_view mode = list_value(knobs.baseline, "cast");
  if (mode == "simple") return rel::LaneMode::simple;
  return mode == "push_pull" ? rel::LaneMode::push_pull : rel::LaneMode::streaming;
}

std::uint32_t lane_window_of(const Knobs& knobs) {
  const std::string_view packets = list_value(knobs.baseline, "window");
  return packets.empty() ? knobs.tuning.lane_window
                         : static_cast<std::uint32_t>(std::stoul(std::string(packets)));
}

rel::Repair repair_of(const Knobs& knobs) {
  return list_value(knobs.baseline, "repair") == "go_back_n" ? rel::Repair::go_back_n
                                                             : rel::Repair::selective;
}

node::SecurityConfig security_of(const Knobs& knobs, const NetStart& start) {
  if (knobs.secure == "tag") return {};
  const bool encrypts = knobs.secure == "encrypt";
  return {encrypts ? wire::Security::encrypt : wire::Security::auth, start.suite, start.job_secret};
}

}  // namespace

std::size_t packet_bytes(const Knobs& knobs) noexcept {
  return wire::kLargestHeader + std::clamp(knobs.tuning.push_bytes, kLeastPayload, kMostPayload);
}

path::ShmConfig shm_config(int rank, int size, const Knobs& knobs) {
  path::ShmConfig config;
  config.job = job_name();
  config.rank = rank;
  config.size = size;
  config.cells = knobs.tuning.shm_cells;
  config.packet_bytes = packet_bytes(knobs);
  config.most_bytes = static_cast<std::uint64_t>(knobs.shm_inbox_bytes);
  config.rings = knobs.tuning.shm_rings;
  config.nonce = path::random_number();
  config.cpus = read_affinity();
  config.cma = knobs.cma != "off";
  config.host = knobs.host;
  return config;
}

p2p::CoreConfig core_config(int rank, int size, const Knobs& knobs) {
  p2p::CoreConfig config;
  config.peers = size;
  config.me = rank;
  config.push_bytes = knobs.tuning.push_bytes;
  config.mode = push_mode_of(knobs);
  config.direct_bytes = knobs.tuning.cma_bytes;
  config.local_allowance = static_cast<std::uint32_t>(knobs.unexpected_bytes);
  config.remote_more = knobs.tuning.net_push_bytes;
  config.remote_copied = knobs.tuning.net_copy_bytes;
  config.remote_allowance = std::min(config.local_allowance, knobs.tuning.net_allowance_bytes);
  return config;
}

// The ranks of a host share a port of the switch, and so what it can hold.
node::NodeConfig node_config(int rank, int size, const Knobs& knobs, const path::UdpPath& udp,
                             const NetStart& start, const group::Pool& pool) noexcept {
  node::NodeConfig config;
  rel::MeshConfig& mesh = config.mesh;
  mesh.me = rank;
  mesh.peers = size;
  mesh.warn_after = milliseconds(knobs.warn_ms);
  mesh.give_up = milliseconds(knobs.detect_ms);
  mesh.log_bytes = static_cast<std::uint32_t>(knobs.net_log_bytes);
  mesh.repair = repair_of(knobs);
  mesh.seal = {start.key, start.epoch};
  config.security = security_of(knobs, start);
  const bool is_sealed = config.security.level != wire::Security::tag;
  mesh.seal.enveloped = is_sealed;
  mesh.probe_extra = is_sealed ? wire::kSealedGroupExtra : 0;
  mesh.datagram_bytes = wire::longest_inside(config.security.level, udp.datagram_bytes());
  mesh.largest_bytes =
      wire::longest_inside(config.security.level, std::max(udp.largest_bytes(), udp.datagram_bytes()));
  mesh.row_packets = udp.gso_packets();
  mesh.burst_packets = std::max(1u, mesh.burst_packets / mesh.row_packets) * mesh.row_packets;
  const std::uint32_t window = start.window_bytes != 0 ? start.window_bytes : knobs.tuning.net_switch_bytes;
  mesh.budget_bytes = std::min(window / std::max(start.local_ranks, 1u), udp.receive_bytes());
  mesh.socket_bytes = udp.receive_bytes() / std::max(start.local_ranks, 1u);
  const auto all = static_cast<std::uint32_t>(size);
  mesh.eager_packets =
      rel::eager_window(mesh.budget_bytes, mesh.datagram_bytes, all - std::min(start.local_ranks, all));
  rel::LanesConfig& lanes = config.lanes;
  lanes.me = rank;
  lanes.peers = size;
  lanes.seal = mesh.seal;
  lanes.datagram_bytes = mesh.datagram_bytes;
  lanes.largest_bytes = mesh.largest_bytes;
  lanes.mode = lane_mode_of(knobs);
  lanes.window_packets = lane_window_of(knobs);
  lanes.held_packets = udp.receive_bytes() / std::max(lanes.largest_bytes, lanes.datagram_bytes);
  lanes.longest_backoff = rel::longest_backoff(mesh.pace());
  config.pool = pool;
  config.mesh_seed = start.seed;
  config.lanes_seed = start.seed + 1;
  return config;
}

}  // namespace herald::engine
