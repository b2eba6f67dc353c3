// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer writes nonsense into shared memory, and this process follows it, hangs, or ends
// as if it had a bug of its own, without the rank of the peer.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "path/shm/segment.hpp"
#include "tests/unit/engine/job.hpp"

using namespace herald;
using namespace herald::test;

namespace {

// Where rank 0's segment is mapped in this process, by the name of its file.
std::byte* segment_of_rank_0() {
  std::ifstream maps("/proc/self/maps");
  const std::string middle = "-p" + std::to_string(getppid()) + "-0-";
  for (std::string line; std::getline(maps, line);) {
    if (line.find("herald-") == std::string::npos || line.find(middle) == std::string::npos) continue;
    return reinterpret_cast<std::byte*>(std::stoull(line, nullptr, 16));
  }
  return nullptr;
}

path::SegmentShape shape_of(const path::SegmentHeader& head) {
  path::SegmentShape shape;
  shape.inbox = {.cells = head.cells, .cell_bytes = head.cell_bytes, .producers = head.producers};
  shape.ring = {.lines = head.ring_lines, .packet_bytes = head.ring_packet_bytes};
  shape.rings = head.rings;
  return shape;
}

// Rank 1 writes nonsense into rank 0's segment; what rank 0 prints.
template <class Damage>
std::string damaged(Job& job, Damage damage) {
  char name[] = "/tmp/herald-damage-XXXXXX";
  const int file = mkstemp(name);
  EXPECT_FALSE(job.run(2, [&](engine::Engine& engine, boot::Boot& boot) {
    for (int i = 0, value = 0; i < 40; ++i)  // enough for a ring between the two
      if (engine.peers().rank() == 0)
        receive(engine, 1, 5, &value, sizeof value);
      else
        send(engine, 0, 5, &value, sizeof value);
    (void)boot.fence();
    if (engine.peers().rank() == 1) {
      std::byte* base = segment_of_rank_0();
      CHILD_CHECK(base != nullptr);
      damage(base, shape_of(*reinterpret_cast<path::SegmentHeader*>(base)));
      (void)boot.fence();
      usleep(300'000);
      _exit(0);
    }
    (void)boot.fence();
    dup2(file, 2);
    engine.peers().when_peer_dies([](p2p::PeerId peer) { _exit(40 + peer); });
    int value = 0;
    receive(engine, 1, 5, &value, sizeof value);
    _exit(3);
  }));
  std::stringstream text;
  text << std::ifstream(name).rdbuf();
  close(file);
  unlink(name);
  return text.str();
}

}  // namespace

TEST(Damage, nonsense_in_a_ring_ends_the_connection_and_names_the_rank) {
  Job job;
  const std::string said = damaged(job, [](std::byte* base, const path::SegmentShape& shape) {
    for (std::size_t at = path::kCacheLine; at < shape.ring.bytes(); at += path::kCacheLine)
      *reinterpret_cast<std::uint64_t*>(base + shape.ring_at(0) + at) = 77;
  });
  EXPECT_EQ(WEXITSTATUS(job.statuses()[0]), 41);
  EXPECT_NE(said.find("rank 1's shared memory is damaged"), std::string::npos) << said;
}

TEST(Damage, nonsense_in_the_inbox_ends_the_process_with_a_message) {
  Job job;
  const std::string said = damaged(job, [](std::byte* base, const path::SegmentShape& shape) {
    std::byte* cells = base + shape.inbox_at() + shape.inbox.cells_at();
    for (std::uint32_t i = 0; i < shape.inbox.cells; ++i)
      *reinterpret_cast<std::uint64_t*>(cells + std::size_t{i} * shape.inbox.cell_bytes) = 123'456'789;
  });
  EXPECT_EQ(WEXITSTATUS(job.statuses()[0]), 1);
  EXPECT_NE(said.find("damaged the shared memory of rank 0"), std::string::npos) << said;
  EXPECT_EQ(said.find("bug"), std::string::npos) << said;
}
