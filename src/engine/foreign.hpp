// SPDX-License-Identifier: BSD-3-Clause
// engine/foreign.hpp: processes of other jobs as peers. Their ids follow the ranks of our job, in the order
// in which they came; each process numbers them by itself, and an id is not used again. They are reached by
// shared memory on the same host, else by UDP with a key of each pair. In:  the cards of such processes, and
// a secret that both groups share (mpi/dyn exchanges them). Out: peers; farewells, by which two processes
// forget each other; peers that said farewell.
//
//   reserve --add--> connected --(last user gone: farewell)--> leaving --(acknowledged)--> gone
//                        \------(the peer's farewell, or its death)-------------------------^
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "engine/foreign_memory.hpp"
#include "p2p/ops.hpp"
#include "rel/mesh.hpp"
#include "wire/cipher.hpp"

namespace herald::engine {

class Engine;

// A process, whichever job it belongs to.
struct ProcessName {
  std::uint64_t job = 0;
  std::int32_t rank = 0;
  bool operator==(const ProcessName&) const = default;
  auto operator<=>(const ProcessName&) const = default;
};

// The part of a card that is used before its process is a peer.
struct ProcessCard {
  ProcessName name;
  std::uint64_t host = 0;
  bool casts = false;  // its job has lanes
  std::string memory;  // for ForeignMemory
};
// False: the text is no card.
bool read_process_card(const std::string& text, ProcessCard& card);

class ForeignPeers {
 public:
  ForeignPeers(Engine& engine, int rank, int size, const Knobs& knobs) noexcept
      : engine_(engine), knobs_(knobs), rank_(rank), size_(size), memory_(engine, rank, size, knobs) {}
  ForeignPeers(const ForeignPeers&) = delete;
  ForeignPeers& operator=(const ForeignPeers&) = delete;

  // Opens the network if the job has none. `locked`: the engine's lock has become active, and is held.
  bool open(bool& locked, std::string& why);
  bool is_open() const noexcept { return open_; }
  // Known to all ranks of the job, and different in other jobs.
  void set_job(std::uint64_t job) noexcept { job_ = job; }
  // The cipher of the job, for cards; null: tags only.
  void set_suite(const wire::CipherSuite* suite) noexcept { suite_ = suite; }

  bool is_foreign(p2p::PeerId peer) const noexcept { return peer >= size_; }
  // Tells another job all that it must know of this process, in one line.
  std::string card() const;
  std::vector<std::string> addresses() const;  // of this host
  ProcessName name_of(p2p::PeerId peer) const noexcept;
  wire::JobKey key_of(p2p::PeerId peer) const noexcept;  // of this pair; 0: of our job
  // Our id in the tables of that peer.
  p2p::PeerId own_id_at(p2p::PeerId peer) const noexcept;

  // Ids for so many processes of a group that is about to come; the first of them.
  p2p::PeerId reserve(int count) noexcept;
  struct Newcomer {
    p2p::PeerId id = 0, own_id = 0;  // its id here, and ours there
    const std::string& card;
    const wire::SecretKey& secret;  // of the two groups
    bool shares_memory = false;     // both have attached it
  };
  bool add(const Newcomer& newcomer, std::string& why);

  // Attach memory between reserve() and add(): both processes must know whether both could.
  ForeignMemory& memory() noexcept { return memory_; }

  // Users of a connection: communicators. After the last one both processes forget each other.
  void retain(p2p::PeerId peer) noexcept;
  void release(p2p::PeerId peer) noexcept;
  bool is_connected(p2p::PeerId peer) const noexcept;
  // The end of MPI: each connected process says goodbye and waits for that of the others. In parts, between
  // which the caller waits; has_left(): all have answered or are gone.
  void say_goodbye() noexcept;
  bool has_left() noexcept;
  bool is_flushed() const noexcept;
  void forget_all() noexcept;

  // Connections that a port refused because they did not know its secret.
  void count_stranger() noexcept { ++strangers_; }
  std::uint64_t strangers() const noexcept { return strangers_; }

 private:
  struct Peer {
    ProcessName name;
    p2p::PeerId own_id = -1;  // ours there; -1: reserved only
    wire::JobKey key{};
    int users = 0;
    bool leaving = false, said_goodbye = false, gone = false;
    p2p::SendOp farewell;
    p2p::RecvOp from_peer;
  };

  Peer* find(p2p::PeerId peer) const noexcept;
  void send_farewell(p2p::PeerId id, Peer& peer, std::int32_t tag) noexcept;
  void forget(p2p::PeerId id, Peer& peer) noexcept;
  static bool advance(void* self) noexcept;
  bool take_farewells() noexcept;
  void arm() noexcept;
  bool add_remote(p2p::PeerId peer, const std::string& address, rel::PairIdentity pair,
                  const wire::SecretKey& secret, std::string& why);

  Engine& engine_;
  const Knobs& knobs_;
  const int rank_, size_;
  ForeignMemory memory_;
  std::uint64_t job_ = 0;
  const wire::CipherSuite* suite_ = nullptr;
  bool open_ = false, hooked_ = false;
  bool opened_net_ = false;                   // the network, which our job did not have
  bool casts_ = false;                        // our job has lanes
  std::vector<std::unique_ptr<Peer>> peers_;  // by id - size_
  std::uint64_t own_host_ = 0;                // for cards
  std::uint64_t strangers_ = 0;
};

}  // namespace herald::engine
