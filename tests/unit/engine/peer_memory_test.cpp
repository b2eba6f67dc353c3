// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a job of a thousand hosts takes memory for peers that it never talks to. A further
// peer on another host may cost 512 bytes as long as it is idle, and no buffer.
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/host_names.hpp"
#include "p2p/core.hpp"
#include "path/udp/links.hpp"
#include "rel/mesh.hpp"
#include "tests/unit/effort.hpp"

namespace herald {
namespace {

class NoListener final : public rel::Listener {
 public:
  Status deliver(rel::PeerId, std::span<const std::byte>) noexcept override { return Status::ok; }
  void returned(rel::PeerId, std::uint32_t) noexcept override {}
  void peer_lost(rel::PeerId) noexcept override {}
  void link_changed(rel::PeerId, rel::LinkId, bool) noexcept override {}
};

// All that is kept for peers, made as the engine makes it.
struct Kept {
  explicit Kept(int peers)
      : core({.peers = peers}),
        mesh({.peers = peers}, prng, listener),
        links(peers),
        outlets(static_cast<std::size_t>(peers)),
        far(static_cast<std::size_t>(peers)),
        hosts(peers),
        counts(static_cast<std::size_t>(peers)) {
    for (int peer = 1; peer < peers; ++peer) {
      path::udp::Link link{};
      link.to.four.sin_family = AF_INET;
      link.to.four.sin_addr.s_addr = htonl(0x0a000000u + static_cast<std::uint32_t>(peer));
      link.peer = peer;
      links.add(peer, {&link, 1});
      hosts.set(peer, "node" + std::to_string(1000 + peer));
      core.set_remote(peer);
      mesh.add_peer(peer, 1);
    }
    hosts.settle();
  }
  Prng prng{1};
  NoListener listener;
  p2p::Core core;
  rel::Mesh mesh;
  path::udp::Links links;
  std::vector<void*> outlets;  // as in engine::Loop
  std::vector<bool> far;
  engine::HostNames hosts;  // as in engine::Net
  std::vector<rel::LinkId> counts;
};

std::size_t heap_of(int peers) {
  const std::size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  const auto kept = std::make_unique<Kept>(peers);
  return ::mallinfo2().uordblks + ::mallinfo2().hblkhd - before;
}

TEST(PeerMemory, a_further_idle_peer_costs_little) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers have a heap of their own";
  // Tables that double have just done so; and what the heap rounds up is little against the difference.
  constexpr int kFew = 1025, kMany = 32769;
  const std::size_t few = heap_of(kFew), many = heap_of(kMany);
  const double each = static_cast<double>(many - few) / (kMany - kFew);
  RecordProperty("bytes_per_peer", std::to_string(each));
  std::printf("an idle peer costs %.0f bytes\n", each);
  EXPECT_LE(each, 512);
  EXPECT_GT(each, 100);  // else nothing was measured
}

}  // namespace
}  // namespace herald
