// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/engine/traffic.hpp: messages of all sizes between the processes of a Job, each byte looked at.
#pragma once
#include "base/prng.hpp"
#include "tests/unit/engine/job.hpp"

namespace herald::test {

inline void fill(std::vector<unsigned char>& data, std::uint64_t seed) {
  Prng chance(seed);
  for (std::size_t at = 0; at < data.size(); at += 8) {
    const std::uint64_t word = chance.next();
    std::memcpy(data.data() + at, &word, std::min<std::size_t>(8, data.size() - at));
  }
}

inline std::uint64_t seed_of(int from, int to, int turn) {
  return static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(to) << 20 |
         static_cast<unsigned>(turn);
}

// Every rank sends `turns` messages of growing size to every rank (itself too), receives all, looks at each
// byte.
inline void all_to_all(engine::Engine& engine, int turns) {
  const int size = engine.peers().size();
  const int me = engine.peers().rank();
  const std::size_t most = 40000;
  std::vector<std::vector<unsigned char>> out, in;
  std::vector<std::unique_ptr<p2p::SendOp>> sends;
  std::vector<std::unique_ptr<p2p::RecvOp>> recvs;
  auto bytes_of = [&](int turn) { return static_cast<std::size_t>(turn) * 3571 % most; };
  for (int turn = 0; turn < turns; ++turn)
    for (int peer = 0; peer < size; ++peer) {
      in.emplace_back(bytes_of(turn));
      recvs.push_back(std::make_unique<p2p::RecvOp>());
      prepare(*recvs.back(), peer, turn % 3, in.back().data(), in.back().size());
      start(engine, *recvs.back());
      out.emplace_back(bytes_of(turn));
      fill(out.back(), seed_of(me, peer, turn));
      sends.push_back(std::make_unique<p2p::SendOp>());
      prepare(*sends.back(), me, peer, turn % 3, out.back().data(), out.back().size());
      start(engine, *sends.back());
    }
  for (auto& op : sends) wait(engine, *op);
  std::size_t at = 0;
  for (int turn = 0; turn < turns; ++turn)
    for (int peer = 0; peer < size; ++peer, ++at) {
      wait(engine, *recvs[at]);
      CHILD_CHECK(recvs[at]->status == Status::ok && recvs[at]->bytes == in[at].size());
      std::vector<unsigned char> expected(in[at].size());
      fill(expected, seed_of(peer, me, turn));
      CHILD_CHECK(in[at] == expected);
    }
}

// There and back, short and long, between ranks 0 and 1.
inline void ping_pong(engine::Engine& engine) {
  const int other = 1 - engine.peers().rank();
  for (std::size_t bytes : {0u, 1u, 8u, 4096u, 4097u, 100000u, 3000000u}) {
    std::vector<unsigned char> data(bytes), back(bytes);
    fill(data, bytes);
    if (engine.peers().rank() == 0) {
      send(engine, other, 5, data.data(), bytes);
      CHILD_CHECK(receive(engine, other, 6, back.data(), bytes) == bytes);
    } else {
      CHILD_CHECK(receive(engine, other, 5, back.data(), bytes) == bytes);
      send(engine, other, 6, back.data(), bytes);
    }
    CHILD_CHECK(data == back);
  }
}

}  // namespace herald::test
