// SPDX-License-Identifier: BSD-3-Clause
// path/shm/shm.hpp: messages between the processes of one host. Each has one inbox in shared memory, so that
// memory grows linearly with the number of processes, and each maps the inboxes of the others.
// In:  our rank; then the cards of all ranks. Out: our card (host, segment name, nonce); an inbox to write to
// for each peer. A peer shares this host if its segment can be attached. The file loses its name as soon as
// all have attached, so that a killed job leaves nothing behind.
// Processes of other jobs attach later, through /proc/PID/fd; their numbers follow the ranks.
#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "path/shm/cma.hpp"
#include "path/shm/foreign_rings.hpp"
#include "path/shm/segment.hpp"

namespace herald::path {

struct ShmConfig {
  std::string directory = "/dev/shm";
  std::string job;  // part of the file name; only letters and digits are used
  int rank = 0;
  int size = 1;
  std::uint64_t cells = 128;
  std::uint64_t packet_bytes = 4136;
  std::uint64_t rings = 8;       // for as many peers
  std::uint64_t most_bytes = 0;  // of our segment: rings and then cells are given up for it; 0: no limit
  std::uint64_t nonce = 0;       // random
  CpuMask cpus{};
  bool cma = true;   // peers may access our memory (HERALD_CMA)
  std::string host;  // not empty: only processes with the same name share this host
};

struct Card {
  std::string host_id;   // equal: the same kernel and the same shared-memory file system
  std::string machine;   // the kernel: its boot id
  std::string hostname;  // for messages only
  std::string file;
  std::uint64_t nonce = 0;
};

std::string write_card(const Card& card);
// False if the text is not a card.
bool read_card(const std::string& text, Card& card);

class ShmPath {
 public:
  // Removes files of dead jobs, creates our segment. Null with `why` on failure.
  static std::unique_ptr<ShmPath> open(const ShmConfig& config, std::string& why);
  ~ShmPath() { close(); }

  std::string card() const { return write_card(card_); }
  // `cards`: of each rank, in order. Attaches the peers on this host; false with `why` on failure.
  bool attach_all(std::span<const std::string> cards, std::string& why);
  // After attach_all(): all ranks share this host.
  bool is_one_host() const noexcept { return others_ + 1 == static_cast<std::uint32_t>(config_.size); }
  // The lowest rank on the host where `rank` is.
  int first_on_host_of(int rank) const noexcept { return first_[static_cast<std::size_t>(rank)]; }
  bool is_attached(int peer) const noexcept {
    return static_cast<std::size_t>(peer) < peers_.size() && peers_[static_cast<std::size_t>(peer)].is_open();
  }

  // Processes of other jobs. The card: one word that says how they attach our memory; empty: they cannot.
  std::string foreign_card();
  // Equal for processes of any jobs that may share memory: on one kernel, of one user, with one /dev/shm.
  std::uint64_t host_token() const noexcept;
  // False, and nothing done: the process cannot be attached, or runs on another host.
  bool attach_foreign(int peer, const std::string& card);
  // `ring`: of ours that the peer wrote to; -1: none. Nothing of it is read or written any more.
  void detach_foreign(int peer, std::int64_t ring) noexcept;

  const std::string& own_path() const noexcept { return own_path_; }
  Inbox& own() noexcept { return own_.inbox(); }
  // Null: not attached.
  Inbox* peer(int rank) noexcept;
  // A ring of its own to an attached peer; and the reading end, by the index that the peer sent.
  bool take_ring(int rank, RingWriter& ring, std::uint32_t& index) noexcept;
  bool has_ring(std::uint32_t index) noexcept {
    return index < kForeignRing ? own_.has_ring(index) : foreign_rings_.has(index - kForeignRing);
  }
  RingReader ring(std::uint32_t index) noexcept {
    return index < kForeignRing ? own_.ring(index) : foreign_rings_.reader(index - kForeignRing);
  }
  const CpuMask& cpus_of(int rank) noexcept;
  // kSideBytes of shared memory beside our inbox and beside that of an attached peer, zero at first.
  std::byte* own_side() noexcept { return own_.side(); }
  std::byte* side_of(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)].side(); }
  // Null: not allowed by the configuration.
  const Cma* cma() const noexcept { return cma_ ? &*cma_ : nullptr; }
  // Whether the kernel lets us read and write the memory of the peer: tries it.
  bool can_reach(int rank) noexcept;
  pid_t pid_of(int rank) const noexcept { return pids_[static_cast<std::size_t>(rank)]; }
  bool is_alive(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)].owner_lives(); }

  // Whether every peer of this host has attached our segment, so that its name is not needed any more.
  bool all_attached() noexcept;
  // Removes the name of our segment if it still exists. Async-signal-safe.
  void unlink_own() noexcept;
  void close() noexcept;

 private:
  ShmPath(const ShmConfig& config) : config_(config) {}
  static constexpr std::uint32_t kForeignRing = SegmentShape::kMostRings;  // indices of foreign_rings_
  bool attach(int rank, const Card& card, std::uint32_t others, std::string& why);
  ShmConfig config_;
  Card card_;
  std::string own_path_, own_bell_path_;
  std::uint32_t others_ = 0;  // other ranks on this host
  Segment own_;
  std::optional<Cma> cma_;
  std::vector<pid_t> pids_;  // of peers whose memory we can access; else -1
  std::vector<int> first_;   // by rank: the lowest rank on its host
  // By rank; our own stays empty; processes of other jobs follow. A deque: users keep addresses of inboxes.
  std::deque<Segment> peers_;
  ForeignRings foreign_rings_;          // ours, for processes of other jobs
  std::vector<ForeignRings> rings_of_;  // theirs, by peer behind the ranks
};

}  // namespace herald::path
