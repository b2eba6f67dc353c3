// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/context_agreement.hpp"

#include <bit>
#include <cstring>
#include <vector>

#include "mpi/comm.hpp"
#include "mpi/request.hpp"
#include "mpi/runtime.hpp"

namespace herald::mpi {
namespace {

constexpr std::int32_t kBarrierTag = 1;         // and up, one a round
constexpr std::int32_t kGroupTag = 0x40000000;  // with 30 bits of the key

struct Letter {
  std::uint64_t key;
  std::uint64_t context;
};

// Letters for another thread's split copy: keys that differ may share the 30 bits that are matched.
struct Stray {
  p2p::PeerId from;
  Letter letter;
};
std::vector<Stray>& strays() noexcept {
  static auto& list = *new std::vector<Stray>;
  return list;
}

bool take_stray(p2p::PeerId from, std::uint64_t key, Letter& letter) noexcept {
  auto& list = strays();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].from != from || list[i].letter.key != key) continue;
    letter = list[i].letter;
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
  op.source = engine.rank();
  op.data = type::Cursor::bytes(data, bytes);
  engine.start(op);
}

void start_recv(p2p::RecvOp& op, p2p::PeerId from, std::int32_t tag, void* data, std::size_t bytes) noexcept {
  op.context = kAgreementContext;
  op.tag = tag;
  op.source = from;
  op.awaited = from;
  op.data = type::Cursor::bytes(data, bytes);
  runtime().engine().start(op);
}

int receive_letter(p2p::PeerId from, std::uint64_t key, Letter& letter) noexcept {
  const auto tag = static_cast<std::int32_t>(kGroupTag | (key & 0x3fffffff));
  for (;;) {
    p2p::RecvOp op;
    Letter came{};
    start_recv(op, from, tag, &came, sizeof came);
    bool stray = false;
    wait_until([&] { return op.done || (stray = take_stray(from, key, letter)); });
    if (stray) {
      // Ours came in through another thread's receive. This one is withdrawn; if it is too late for that,
      // what it got is someone else's.
      if (!op.done) runtime().engine().cancel(op);
      wait_until([&] { return op.done; });
    }
    const bool got = !op.cancelled && op.status == Status::ok;
    if (got && !stray && came.key == key) {
      letter = came;
      return MPI_SUCCESS;
    }
    if (got) {
      strays().push_back({from, came});
      runtime().engine().wake_waiters();
    }
    if (stray) return MPI_SUCCESS;
    if (!got) return MPI_ERR_OTHER;
  }
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 27);
}

}  // namespace

void world_barrier() noexcept {
  engine::Engine& engine = runtime().engine();
  const int rank = engine.rank(), size = engine.size();
  std::int32_t round = 0;
  for (int distance = 1; distance < size; distance *= 2, ++round) {
    p2p::SendOp send;
    p2p::RecvOp recv;
    start_recv(recv, (rank - distance + size) % size, kBarrierTag + round, nullptr, 0);
    start_send(send, (rank + distance) % size, kBarrierTag + round, nullptr, 0);
    wait_until([&] { return send.done && recv.done; });
  }
}

AgreementKey agreement_key(const Group& group, std::uint64_t where, const char* text) noexcept {
  std::uint64_t hash = mix(0x68657261, where);
  for (const char* c = text; *c != '\0'; ++c) hash = mix(hash, static_cast<unsigned char>(*c));
  hash = mix(hash, std::strlen(text));
  for (std::int32_t peer : group.peers) hash = mix(hash, static_cast<std::uint64_t>(peer));
  return {hash};
}

// Down a binomial tree: the parent of member r is r without its lowest bit.
int agree_context(const Group& group, AgreementKey key, std::uint64_t& context) noexcept {
  const auto size = static_cast<std::uint32_t>(group.size());
  const auto rank = static_cast<std::uint32_t>(group.rank);
  const auto tag = static_cast<std::int32_t>(kGroupTag | (key.value & 0x3fffffff));
  Letter letter{key.value, 0};
  if (rank == 0) {
    letter.context = offer_context();
  } else {
    const std::uint32_t parent = rank & (rank - 1);
    const int error = receive_letter(group.peers[parent], key.value, letter);
    if (error != MPI_SUCCESS) return error;
  }
  // Children: rank with one more bit set below its lowest bit (all bits for the root), largest subtree first.
  const std::uint32_t below = rank == 0 ? std::bit_ceil(size) : rank & (0u - rank);
  p2p::SendOp sends[32];
  int started = 0;
  for (std::uint32_t bit = below >> 1; bit != 0; bit >>= 1)
    if (rank + bit < size) start_send(sends[started++], group.peers[rank + bit], tag, &letter, sizeof letter);
  wait_until([&] {
    for (int i = 0; i < started; ++i)
      if (!sends[i].done) return false;
    return true;
  });
  for (int i = 0; i < started; ++i)
    if (sends[i].status != Status::ok) return MPI_ERR_OTHER;
  context = letter.context;
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
