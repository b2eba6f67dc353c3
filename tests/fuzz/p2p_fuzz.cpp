// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: some sequence of packets from a peer makes Core write outside a buffer, follow an id
// that it never gave out, or end an operation that is not the peer's. The input is a sequence of packets:
// peer, length, bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "p2p/core.hpp"

using namespace herald;

namespace {

constexpr int kPeers = 3;

void drain(p2p::Core& core) {
  std::byte room[256];
  for (int peer = 0; peer < kPeers; ++peer)
    while (core.wants_to_send(peer)) (void)core.poll_transmit(peer, room);
  core.run_finished();
}

// Accepts what fits into the owner's memory.
bool take_call(void* owner, const p2p::ServiceCall& call, type::Cursor& into) {
  auto& bulk = *static_cast<std::vector<char>*>(owner);
  into = type::Cursor::bytes(bulk.data(), bulk.size());
  return call.header.size() != 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::vector<char>> buffers(8, std::vector<char>(300));
  p2p::SendOp sends[4];
  p2p::RecvOp recvs[4];
  p2p::Core core({.peers = kPeers, .push_bytes = 32});
  std::vector<char> bulk(64);
  core.services().register_handler(p2p::ServiceId::first_free, {take_call, nullptr, &bulk, true});
  for (int i = 0; i < 4; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sends[i].to = i % kPeers;
    sends[i].mode = i == 3 ? p2p::SendMode::synchronous : p2p::SendMode::standard;
    sends[i].data = type::Cursor::bytes(buffers[at].data(), at * 100);
    core.start(sends[i]);
    recvs[i].context = at % 2;
    recvs[i].source = i == 0 ? p2p::kAnySource : i;
    recvs[i].tag = i == 1 ? p2p::kAnyTag : 0;
    recvs[i].data = type::Cursor::bytes(buffers[at + 4].data(), at * 90);
    core.start(recvs[i]);
  }
  drain(core);
  while (size >= 2) {
    const auto from = static_cast<p2p::PeerId>(data[0]) - 1;
    const std::size_t bytes = std::min<std::size_t>(data[1], size - 2);
    // A copy of exactly its length, so that a sanitizer sees a read past its end.
    const std::vector<std::byte> packet(reinterpret_cast<const std::byte*>(data + 2),
                                        reinterpret_cast<const std::byte*>(data + 2 + bytes));
    if (core.on_packet(from, packet) != Status::ok) std::abort();
    drain(core);
    data += 2 + bytes;
    size -= 2 + bytes;
  }
  for (int peer = 0; peer < kPeers; ++peer) core.on_peer_gone(peer);
  core.run_finished();
  for (p2p::SendOp& op : sends)
    if (!op.done) std::abort();
  for (p2p::RecvOp& op : recvs) {
    core.cancel(op);
    if (!op.done) std::abort();
  }
  return 0;
}
