// SPDX-License-Identifier: BSD-3-Clause
// p2p/partitioned.hpp: messages whose parts the sender marks ready one by one (MPI_Psend_init, MPI_Pready).
// In:  starts and marks of the sender, starts of the receiver; service calls of the peer.
// Out: service calls: `ready` when a receive starts, `data` for runs of marked partitions.
// The n-th request for a context and tag at the sender belongs to the n-th at the receiver, so nothing is
// agreed on. Data leaves only after the receive has started: the receiver keeps no unexpected data.
#pragma once
#include <atomic>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "p2p/services.hpp"
#include "wire/part_packet.hpp"

namespace herald::p2p {

struct PartKey {
  PeerId peer = -1;
  std::uint64_t context = 0;
  std::int32_t tag = 0;
  std::uint32_t number = 0;
  friend auto operator<=>(const PartKey&, const PartKey&) noexcept = default;
};

// The message of a request and its equal partitions. `on_done` is called once for each start.
struct PartSpec {
  PartKey key;
  type::Cursor data;
  int partitions = 1;
  void (*on_done)(void* owner, Status status) = nullptr;
  void* owner = nullptr;
};

class Partitioned;

// Threads mark partitions without a lock; one of them, which claim_post() selects, then posts with the lock.
class PartSend {
 public:
  enum class Mark : std::uint8_t { ok, inactive, out_of_range, twice };
  // Smaller runs wait for their neighbours until a turn of the engine, or until all partitions are marked.
  static constexpr std::uint64_t kRunBytes = 16384;
  static constexpr int kRunPartitions = 64;

  PartSend(Partitioned& all, const PartSpec& spec) noexcept;
  ~PartSend();
  PartSend(const PartSend&) = delete;
  PartSend& operator=(const PartSend&) = delete;

  void start() noexcept;
  // Without the lock, from any thread.
  Mark mark(int partition) noexcept;
  // After mark(): true if the caller has to call post_marked(); else another thread is about to.
  bool claim_post() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
  // Sends what is marked. `short_runs`: also runs that should wait for their neighbours.
  void post_marked(bool short_runs) noexcept;
  bool holds_short_runs() const noexcept { return is_granted() && !unposted_.empty(); }

  const PartSpec& spec() const noexcept { return spec_; }
  bool is_active() const noexcept { return active_.load(std::memory_order_acquire); }
  void on_ready() noexcept;  // the receiver has started once more
  void abandon() noexcept;   // the receiver has gone

 private:
  struct Transfer : ServiceOp {
    PartSend* send = nullptr;
  };
  enum class State : std::uint8_t { waiting, marked, posted };
  static constexpr std::int32_t kEnd = -1, kUnmarked = -2;
  State& state(int partition) noexcept { return states_[static_cast<std::size_t>(partition)]; }
  bool is_granted() const noexcept { return static_cast<std::int32_t>(grants_ - round_) >= 0; }
  void take_marks() noexcept;
  bool post_run(int partition, bool short_runs) noexcept;
  void on_sent(Transfer& transfer) noexcept;
  void finish(Status status) noexcept;

  Partitioned& all_;
  const PartSpec spec_;
  const std::uint64_t partition_bytes_;
  std::atomic<bool> active_{false}, claimed_{false};
  std::atomic<std::int32_t> head_{kEnd};  // a list of marked partitions, linked by next_
  std::unique_ptr<std::atomic<std::int32_t>[]> next_;
  std::vector<State> states_;
  std::vector<int> unposted_;
  int marked_ = 0, posted_ = 0;
  std::uint32_t round_ = 0, grants_ = 0;
  std::uint32_t open_ = 0;  // transfers that have not left
  std::deque<Transfer> transfers_;
  List<Op> free_;
};

class PartRecv {
 public:
  PartRecv(Partitioned& all, const PartSpec& spec) noexcept;
  ~PartRecv();
  PartRecv(const PartRecv&) = delete;
  PartRecv& operator=(const PartRecv&) = delete;

  void start() noexcept;
  bool has_arrived(int partition) const noexcept;
  const PartSpec& spec() const noexcept { return spec_; }
  bool is_active() const noexcept { return active_; }
  std::uint64_t received_bytes() const noexcept { return received_; }
  std::uint64_t sent_bytes() const noexcept { return total_; }
  bool on_data(const wire::PartHeader& header, const ServiceCall& call, type::Cursor& into) noexcept;
  void on_bulk(const wire::PartHeader& header, Status status, std::uint64_t bytes) noexcept;
  void abandon() noexcept { finish(Status::peer_lost); }

 private:
  void arrive(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void finish(Status status) noexcept;

  Partitioned& all_;
  const PartSpec spec_;
  const std::uint64_t partition_bytes_;
  std::vector<std::uint64_t> arrived_;  // bytes of each partition
  bool active_ = false;
  std::uint32_t round_ = 0;
  std::uint64_t received_ = 0, total_ = 0;
};

// The partitioned requests of this process.
class Partitioned {
 public:
  explicit Partitioned(Services& services) noexcept;
  Partitioned(const Partitioned&) = delete;
  Partitioned& operator=(const Partitioned&) = delete;
  ~Partitioned() { services_.register_handler(ServiceId::partitioned, {}); }

  Services& services() noexcept { return services_; }
  bool has_short_runs() const noexcept { return short_runs_; }
  // Sends runs that wait for their neighbours.
  void post_short_runs() noexcept;
  template <class IsGone>
  void abandon(IsGone is_gone) noexcept {
    for (PartSend* send : active(sends_))
      if (is_gone(send->spec().key.peer)) send->abandon();
    for (PartRecv* recv : active(recvs_))
      if (is_gone(recv->spec().key.peer)) recv->abandon();
  }

 private:
  friend class PartSend;
  friend class PartRecv;
  static bool on_call(void* self, const ServiceCall& call, type::Cursor& into) noexcept;
  static void on_bulk(void* self, const ServiceCall& call, Status status, std::uint64_t bytes) noexcept;
  std::uint32_t add(PartSend& send) noexcept;  // returns the starts of the receiver so far
  // A copy: a request that finishes may be destroyed.
  template <class One>
  static std::vector<One*> active(const std::map<PartKey, One*>& all) noexcept {
    std::vector<One*> found;
    for (const auto& [key, one] : all)
      if (one->is_active()) found.push_back(one);
    return found;
  }

  Services& services_;
  std::map<PartKey, PartSend*> sends_;
  std::map<PartKey, PartRecv*> recvs_;
  std::map<PartKey, std::uint32_t> early_;  // receives that started before the sender made its request
  bool short_runs_ = false;
};

}  // namespace herald::p2p
