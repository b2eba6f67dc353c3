// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/p2p/world.hpp: several Cores in one process, joined by queues of packets. Each queue keeps its
// order; whose turn it is comes from a seeded source of chance, so every run can be repeated.
#pragma once
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/prng.hpp"
#include "p2p/core.hpp"

namespace herald::test {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kPacket = 200;      // bytes of the largest packet between hosts
constexpr std::size_t kLong = 1'000'001;  // a message that is copied between processes

inline Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  Prng chance(seed);
  Bytes out(size);
  for (auto& byte : out) byte = static_cast<unsigned char>(chance.next());
  return out;
}

// Copies between two Cores of this process; can be told to fail now and then.
struct Copier final : p2p::Mover {
  Prng chance{1};
  std::uint64_t fails_one_in = 0;  // 0: never
  std::uint64_t read_bytes = 0, written_bytes = 0, notified = 0, calls = 0;

  bool fails() { return fails_one_in != 0 && chance.below(fails_one_in) == 0; }
  static std::uint64_t copy(std::span<const type::Run> to, std::span<const type::Run> from) {
    Bytes between;
    for (const type::Run& run : from) {
      const auto* data = static_cast<const unsigned char*>(run.data);
      between.insert(between.end(), data, data + run.bytes);
    }
    std::size_t at = 0;
    for (const type::Run& run : to) {
      std::memcpy(run.data, between.data() + at, run.bytes);
      at += run.bytes;
    }
    EXPECT_EQ(at, between.size());
    return at;
  }
  Status read(std::int32_t, std::span<const type::Run> here,
              std::span<const type::Run> there) noexcept override {
    ++calls;
    if (fails()) return Status::unsupported;
    read_bytes += copy(here, there);
    return Status::ok;
  }
  Status write(std::int32_t, std::span<const type::Run> here,
               std::span<const type::Run> there) noexcept override {
    ++calls;
    if (fails()) return Status::unsupported;
    written_bytes += copy(there, here);
    return Status::ok;
  }
  void notify(std::int32_t) noexcept override { ++notified; }
};

class World {
 public:
  World(int peers, std::uint32_t push_bytes, std::size_t packet_bytes, std::uint64_t seed = 1)
      : World(p2p::CoreConfig{.peers = peers, .push_bytes = push_bytes}, false, packet_bytes, seed) {}
  // `far`: each peer is on a host of its own.
  World(const p2p::CoreConfig& config, bool far, std::size_t packet_bytes, std::uint64_t seed = 1)
      : chance(seed),
        peers_(config.peers),
        packet_bytes_(packet_bytes),
        links_(static_cast<std::size_t>(config.peers * config.peers)) {
    for (int i = 0; i < peers_; ++i) {
      p2p::CoreConfig own = config;
      own.me = i;
      cores_.push_back(std::make_unique<p2p::Core>(own));
      for (int peer = 0; far && peer < peers_; ++peer)
        if (peer != i) core(i).set_remote(peer);
    }
  }

  // All can reach each other's memory.
  void open_direct() {
    split_copies_.reset(new p2p::SplitCopy[static_cast<std::size_t>(peers_) * p2p::kAllSplitCopies]{});
    for (int i = 0; i < peers_; ++i) {
      core(i).direct().open(&split_copies_[static_cast<std::size_t>(i) * p2p::kAllSplitCopies]);
      for (int peer = 0; peer < peers_; ++peer)
        if (peer != i)
          core(i).direct().add_peer(peer,
                                    &split_copies_[static_cast<std::size_t>(peer) * p2p::kAllSplitCopies], i);
    }
  }
  bool move(int peer) {
    p2p::DirectCopy& direct = core(peer).direct();
    bool moved = false;  // a sender looks for ads only after some turns
    for (int i = 0; i < 40 && !moved && (direct.busy() || direct.awaits_ads()); ++i)
      moved = direct.advance(copier);
    core(peer).run_finished();
    return moved;
  }

  p2p::Core& core(int peer) { return *cores_[static_cast<std::size_t>(peer)]; }
  std::deque<Bytes>& link(int from, int to) { return links_[static_cast<std::size_t>(from * peers_ + to)]; }
  int peers() const { return peers_; }

  // Starts it, or sends it now where that is possible, at random.
  void start(int from, p2p::SendOp& op) {
    if (sends_now && chance.below(2) == 0 && op.lane < 0 && op.mode != p2p::SendMode::synchronous &&
        core(from).sender().can_send_now(op.to, op.data.total(), packet_bytes_)) {
      Bytes room(packet_bytes_);
      room.resize(core(from).sender().send_now(op, std::as_writable_bytes(std::span(room)).data()));
      link(from, op.to).push_back(std::move(room));
    } else {
      core(from).start(op);
    }
    core(from).run_finished();
  }

  // One packet out of `from` towards `to`, if there is one. Returns what went out.
  const Bytes* transmit(int from, int to) {
    if (!core(from).wants_to_send(to)) return nullptr;
    Bytes room(packet_bytes_);
    const std::size_t size = core(from).poll_transmit(to, std::as_writable_bytes(std::span(room)));
    core(from).run_finished();
    if (size == 0) return nullptr;
    room.resize(size);
    link(from, to).push_back(std::move(room));
    return &link(from, to).back();
  }

  // One packet into `to`, if one is on its way.
  bool deliver(int from, int to) {
    if (link(from, to).empty()) return false;
    const Bytes packet = std::move(link(from, to).front());
    link(from, to).pop_front();
    EXPECT_EQ(core(to).on_packet(from, std::as_bytes(std::span(packet))), Status::ok);
    core(to).run_finished();
    return true;
  }

  // Until nothing moves any more.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int peer = 0; peer < peers_; ++peer) moved = move(peer) || moved;
      for (int from = 0; from < peers_; ++from)
        for (int to = 0; to < peers_; ++to) {
          while (transmit(from, to) != nullptr) moved = true;
          while (deliver(from, to)) moved = true;
        }
    }
  }

  Prng chance;
  Copier copier;
  bool sends_now = false;

 private:
  int peers_;
  std::size_t packet_bytes_;
  std::vector<std::unique_ptr<p2p::Core>> cores_;
  std::vector<std::deque<Bytes>> links_;
  std::unique_ptr<p2p::SplitCopy[]> split_copies_;
};

struct Send : p2p::SendOp {
  Bytes bytes;
  Send(World& world, int from, int to_peer, std::int32_t tag_, Bytes data_, std::uint64_t context_ = 1,
       p2p::SendMode mode_ = p2p::SendMode::standard)
      : bytes(std::move(data_)) {
    to = to_peer;
    source = from;
    tag = tag_;
    context = context_;
    mode = mode_;
    data = type::Cursor::bytes(bytes.data(), bytes.size());
    world.start(from, *this);
  }
};

struct Recv : p2p::RecvOp {
  Bytes buffer;
  Recv(std::int32_t from, std::int32_t tag_, std::size_t room, std::uint64_t context_ = 1) : buffer(room) {
    source = awaited = from;
    tag = tag_;
    context = context_;
    data = type::Cursor::bytes(buffer.data(), buffer.size());
  }
  Recv(World& world, int me, std::int32_t from, std::int32_t tag_, std::size_t room,
       std::uint64_t context_ = 1)
      : Recv(from, tag_, room, context_) {
    world.core(me).start(*this);
    world.core(me).run_finished();
  }
};

}  // namespace herald::test
