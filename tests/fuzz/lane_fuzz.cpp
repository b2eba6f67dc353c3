// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a member that has the key but is faulty makes the lanes read out of bounds, store more
// than their limits, deliver out of order, or never become idle. The input is a sequence of steps: a kind,
// two bytes, and for a datagram its length and bytes. Datagrams get a right tag; their numbers count from the
// first of every stream, so that small ones are valid.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rel/lane_numbers.hpp"
#include "rel/lanes.hpp"
#include "wire/compact.hpp"
#include "wire/lane.hpp"

using namespace herald;

namespace {

constexpr int kPeers = 6;
constexpr std::uint32_t kFirst = 0xffffff80;
constexpr std::uint64_t kNames[] = {11, 22, 33};

struct Above final : rel::LaneListener {
  int refusals = 0;
  Status deliver(rel::LaneId lane, rel::PeerId source, std::span<const std::byte> packet) noexcept override {
    if (lane < 0 || source <= 0 || source >= kPeers || packet.size() > 4096) std::abort();
    return refusals > 0 && refusals-- > 0 ? Status::again : Status::ok;
  }
  void reachability_changed(rel::LaneId, rel::PeerId member, bool) noexcept override { check(member); }
  static void check(rel::PeerId member) noexcept {
    if (member <= 0 || member >= kPeers) std::abort();
  }
};

rel::LanesConfig make_config() {
  rel::LanesConfig config;
  config.peers = kPeers;
  config.seal = {{1, 2}, 3};
  config.window_packets = 16;
  config.log_bytes = 64 << 10;
  config.kept_bytes = 64 << 10;
  config.flat_members = 4;
  return config;
}

// As a member would have sent it, except for the fields of the input.
void make_plausible(const rel::LanesConfig& config, rel::PeerId from, std::uint64_t name, bool by_group,
                    std::vector<std::byte>& datagram) {
  if (datagram.size() < wire::kCastHead) return;
  auto& head = *reinterpret_cast<wire::DatagramHead*>(datagram.data());
  head.version = wire::kDatagramVersion;
  head.epoch = static_cast<std::uint8_t>(config.seal.epoch);
  head.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(wire::DatagramKind::cast) + head.kind % 8);
  const std::span<std::byte> all(datagram);
  if (wire::is_compact(datagram)) {
    const auto& compact = *reinterpret_cast<const wire::CompactHead*>(datagram.data());
    const auto as = static_cast<std::uint16_t>(compact.lane_index & 0xc01);
    wire::write_compact(config.seal, 0, name,
                        {compact.flags, as, static_cast<std::uint8_t>(from), compact.number}, all);
    return;
  }
  head.from = static_cast<std::uint32_t>(from);
  if (!wire::is_fused(datagram)) head.seq = head.seq + kFirst;
  reinterpret_cast<wire::LanePart*>(datagram.data() + sizeof head)->name = name;
  if (static_cast<wire::DatagramKind>(static_cast<std::uint8_t>(head.kind)) == wire::DatagramKind::cast_ack &&
      datagram.size() >= sizeof head + sizeof(wire::CastAck)) {
    auto& ack = *reinterpret_cast<wire::CastAck*>(datagram.data() + sizeof head);
    ack.source = ack.source % kPeers;
    ack.credit = ack.credit + kFirst;
    ack.newest = ack.newest + kFirst;
    ack.all_next = ack.all_next + kFirst;
    ack.all_credit = ack.all_credit + kFirst;
  }
  const bool without_lane = head.kind == static_cast<std::uint8_t>(wire::DatagramKind::cast_ack) &&
                            (head.flags & (wire::kFlagNotOpen | wire::kFlagClosed)) != 0;
  std::uint64_t number = 0;
  if (wire::is_fused(datagram))
    number = rel::LaneNumbers::new_exchange(0, head.seq);
  else if (!without_lane)
    number = rel::LaneNumbers::new_cast(0, head.seq);
  wire::seal(config.seal, by_group ? wire::group_seal(name) : 0, wire::crc32c(all.subspan(sizeof head)),
             all.first(sizeof head), {rel::upper_half(number), 0});
}

// A local call, as a program may make it: in order, each contribution before its result.
struct Caller {
  std::uint32_t next = 0;  // of the fused exchanges of a lane
  bool contributed = false;

  void go_on(rel::Lanes& lanes, rel::LaneId lane, bool first, Instant now, std::size_t bytes) {
    std::byte room[wire::kMaxContribution] = {};
    const std::span<const std::byte> mine(room, bytes % sizeof room);
    std::span<const std::byte> result;
    if (first) {
      if (lanes.gather(lane, next) == rel::Lanes::FusedState::pending) return;
      for (std::size_t place = 1; place < kPeers; ++place)
        if (lanes.contribution(lane, next, place).size() > wire::kMaxContribution) std::abort();
      lanes.announce(now, lane, next++, mine);
    } else if (!contributed) {
      contributed = lanes.contribute(lane, next, mine);
    } else if (lanes.result(lane, next, result) == rel::Lanes::FusedState::complete) {
      lanes.take_result(lane, next++);
      contributed = false;
    }
  }
};

void transmit(rel::Lanes& lanes, Instant now) {
  rel::TxBatch batch;
  // Each call must do something, or report that there is nothing to do.
  for (int i = 0; i < 10000; ++i) {
    if (lanes.poll_transmit(now, batch) == 0) return;
    for (std::size_t k = 0; k < batch.count; ++k)
      if (batch.entries[k].datagram.size() > 1472 || batch.entries[k].to >= kPeers) std::abort();
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const rel::LanesConfig config = make_config();
  Prng chance(1);
  Above above;
  rel::Lanes lanes(config, chance, above);
  rel::LaneId ids[3] = {-1, -1, -1};
  Caller callers[3];
  const rel::PeerId members[3][kPeers] = {{0, 1, 2, 3, 4, 5}, {3, 0, 1}, {5, 4, 0, 2}};
  const std::size_t counts[3] = {6, 3, 4};
  Instant now{1000000};
  while (size >= 3) {
    const std::uint8_t what = data[0] & 7, a = data[1], b = data[2];
    data += 3, size -= 3;
    const rel::PeerId peer = 1 + a % (kPeers - 1);
    const std::size_t lane = b % 3;
    if (what < 3 && size > 0) {
      const std::size_t bytes = std::min<std::size_t>(data[0], size - 1);
      std::vector<std::byte> datagram(bytes);
      if (bytes > 0) std::memcpy(datagram.data(), data + 1, bytes);
      data += 1 + bytes, size -= 1 + bytes;
      const bool by_group = (a & 128) != 0;
      make_plausible(config, peer, kNames[lane], by_group, datagram);
      above.refusals = what == 2 ? b / 4 % 4 : 0;
      (void)lanes.on_datagram(now, by_group, datagram);
    } else if (what == 3) {
      if (ids[lane] < 0) {
        ids[lane] = lanes.open(kNames[lane], {members[lane], counts[lane]});
      } else if (a % 8 == 0 && lanes.is_flushed(ids[lane])) {
        lanes.close(ids[lane]);
        ids[lane] = -1;
        callers[lane] = {};
      }
    } else if (what == 4) {
      now = now + microseconds(1 + a * b * 8);
      lanes.on_deadline(now);
    } else if (what == 5 && ids[lane] >= 0 && b >= 128) {
      callers[lane].go_on(lanes, ids[lane], lane == 0, now, a);
    } else if (what == 5 && ids[lane] >= 0) {
      const std::span<std::byte> room = lanes.room(ids[lane], 8);
      const std::size_t bytes = std::min<std::size_t>(room.size(), 1 + a * 5);
      std::fill_n(room.begin(), bytes, std::byte{7});
      if (!room.empty()) lanes.commit(ids[lane], bytes);
    } else if (what == 6) {
      if (b == 255) lanes.forget_peer(peer);
      lanes.redeliver();
    } else if (what == 7) {
      transmit(lanes, now);
      (void)lanes.next_ready();
    }
    if (lanes.buffered_bytes() > config.log_bytes + config.kept_bytes + 3 * 1536) std::abort();
  }
  transmit(lanes, now);
  return 0;
}
