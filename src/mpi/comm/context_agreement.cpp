// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/context_agreement.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "engine/clock.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/request.hpp"
#include "mpi/core/runtime.hpp"

namespace herald::mpi {
namespace {

constexpr Duration kLookEvery = milliseconds(500);
constexpr std::int32_t kBarrierTag = 1;         // and up, one a round
constexpr std::int32_t kGroupTag = 0x40000000;  // with 30 bits of the key

struct Proposal {
  std::uint64_t key;
  std::uint64_t context;
};

// Messages for another thread's agreement: keys that differ may share the 30 bits that are matched.
struct Misrouted {
  p2p::PeerId from;
  Proposal proposal;
};
std::vector<Misrouted>& misrouted_list() noexcept {
  static auto& list = *new std::vector<Misrouted>;
  return list;
}

bool take_misrouted(p2p::PeerId from, std::uint64_t key, Proposal& proposal) noexcept {
  auto& list = misrouted_list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].from != from || list[i].proposal.key != key) continue;
    proposal = list[i].proposal;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

void start_send(p2p::SendOp& op, p2p::PeerId to, std::int32_t tag, void* data, std::size_t bytes) noexcept {
  engine::Engine& engine = runtime().engine();
  op.context = kAgreementContext;
  op.tag = tag;
  op.to = to;
  op.source = engine.foreign().own_id_at(to);
  op.data = type::Cursor::bytes(data, bytes);
  engine.messages().start(op);
}

void start_recv(p2p::RecvOp& op, p2p::PeerId from, std::int32_t tag, void* data, std::size_t bytes) noexcept {
  op.context = kAgreementContext;
  op.tag = tag;
  op.source = from;
  op.awaited = from;
  op.data = type::Cursor::bytes(data, bytes);
  runtime().engine().messages().start(op);
}

int receive_proposal(p2p::PeerId from, std::uint64_t key, Proposal& proposal) noexcept {
  const auto tag = static_cast<std::int32_t>(kGroupTag | (key & 0x3fffffff));
  for (;;) {
    p2p::RecvOp op;
    Proposal came{};
    start_recv(op, from, tag, &came, sizeof came);
    bool misrouted = false;
    wait_until([&] { return op.done || (misrouted = take_misrouted(from, key, proposal)); });
    if (misrouted) {
      // Another thread's receive got our message. Cancel this one; if it has matched already, its message
      // belongs to another thread.
      if (!op.done) runtime().engine().messages().cancel(op);
      wait_until([&] { return op.done; });
    }
    const bool got = !op.cancelled && op.status == Status::ok;
    if (got && !misrouted && came.key == key) {
      proposal = came;
      return MPI_SUCCESS;
    }
    if (got) {
      misrouted_list().push_back({from, came});
      runtime().engine().wake_waiters();
    }
    if (misrouted) return MPI_SUCCESS;
    if (!got) return MPI_ERR_OTHER;
  }
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 27);
}

// The members as all of them name them. Ranks suffice where all are of one job.
std::vector<std::uint64_t> names_of(const Group& group) {
  std::vector<std::uint64_t> words;
  if (!runtime().has_engine()) return {group.peers.begin(), group.peers.end()};
  const engine::ForeignPeers& foreign = runtime().engine().foreign();
  const bool several = std::any_of(group.peers.begin(), group.peers.end(),
                                   [&](std::int32_t peer) { return foreign.is_foreign(peer); });
  for (const std::int32_t peer : group.peers) {
    const engine::ProcessName name = foreign.name_of(peer);
    words.push_back(static_cast<std::uint64_t>(name.rank));
    if (several) words.push_back(name.job);
  }
  return words;
}

// MPI_Abort has ended it, and the job goes on: no need to wait until the network has noticed.
void lose_aborted(p2p::PeerId peer) noexcept {
  engine::Peers& peers = runtime().engine().peers();
  if (!peers.is_gone(peer) && runtime().boot().has_aborted(peer)) peers.lose(peer);
}

}  // namespace

void world_barrier() noexcept {
  engine::Engine& engine = runtime().engine();
  const int rank = engine.peers().rank(), size = engine.peers().size();
  std::int32_t round = 0;
  for (int distance = 1; distance < size; distance *= 2, ++round) {
    p2p::SendOp send;
    p2p::RecvOp recv;
    const int from = (rank - distance + size) % size, to = (rank + distance) % size;
    start_recv(recv, from, kBarrierTag + round, nullptr, 0);
    start_send(send, to, kBarrierTag + round, nullptr, 0);
    Instant next_look = engine::read_clock() + kLookEvery;
    wait_until([&] {
      if (send.done && recv.done) return true;
      if (engine::read_clock() < next_look) return false;
      next_look = engine::read_clock() + kLookEvery;
      lose_aborted(from);
      lose_aborted(to);
      return send.done && recv.done;
    });
  }
  // Nor may the engine wait for the acknowledgements of any of them.
  for (int peer = 0; engine.peers().has_remote() && peer < size; ++peer) lose_aborted(peer);
}

AgreementKey agreement_key(const Group& group, std::uint64_t where, const char* text) noexcept {
  std::uint64_t hash = mix(0x68657261, where);
  for (const char* c = text; *c != '\0'; ++c) hash = mix(hash, static_cast<unsigned char>(*c));
  hash = mix(hash, std::strlen(text));
  for (const std::uint64_t word : names_of(group)) hash = mix(hash, word);
  return {hash};
}

// Down a binomial tree: the parent of member r is r without its lowest bit.
int agree_context(const Group& group, AgreementKey key, std::uint64_t& context) noexcept {
  const auto size = static_cast<std::uint32_t>(group.size());
  const auto rank = static_cast<std::uint32_t>(group.rank);
  const auto tag = static_cast<std::int32_t>(kGroupTag | (key.value & 0x3fffffff));
  Proposal proposal{key.value, 0};
  if (rank == 0) {
    proposal.context = propose_context();
  } else {
    const std::uint32_t parent = rank & (rank - 1);
    const int error = receive_proposal(group.peers[parent], key.value, proposal);
    if (error != MPI_SUCCESS) return error;
  }
  // Children: rank with one more bit set below its lowest bit (all bits for the root), largest subtree first.
  const std::uint32_t below = rank == 0 ? std::bit_ceil(size) : rank & (0u - rank);
  p2p::SendOp sends[32];
  int started = 0;
  for (std::uint32_t bit = below >> 1; bit != 0; bit >>= 1)
    if (rank + bit < size)
      start_send(sends[started++], group.peers[rank + bit], tag, &proposal, sizeof proposal);
  wait_until([&] {
    for (int i = 0; i < started; ++i)
      if (!sends[i].done) return false;
    return true;
  });
  for (int i = 0; i < started; ++i)
    if (sends[i].status != Status::ok) return MPI_ERR_OTHER;
  context = proposal.context;
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
