// SPDX-License-Identifier: BSD-3-Clause
// engine/loop.hpp: the progress loop: joins the node to shared memory and to the network.
// A turn: drain what local peers wrote, receive from the network, send what Core wants, run the hooks.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "engine/local_memory.hpp"
#include "engine/local_peers.hpp"
#include "engine/lock.hpp"
#include "engine/net.hpp"
#include "engine/progress_thread.hpp"
#include "engine/service_thread.hpp"
#include "engine/waiter.hpp"
#include "node/node.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

class Loop final : public Engine {
 public:
  Loop(int rank, int size, const Knobs& knobs, bool threads_multiple) noexcept;
  ~Loop() override;
  // Exchanges addresses and opens the paths.
  bool open(boot::Boot& boot, const Knobs& knobs, std::string& why);

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  bool is_local(p2p::PeerId peer) const noexcept override { return local_.reaches(peer); }
  void start(p2p::SendOp& op) noexcept override;
  void start(p2p::RecvOp& op) noexcept override;
  void start(p2p::FusedOp& op) noexcept override;
  bool send_now(const p2p::ShortSend& what) noexcept override;
  bool receive_now(p2p::RecvOp& op) noexcept override;
  bool probe(std::uint64_t context, std::int32_t source, std::int32_t tag,
             p2p::Found& found) noexcept override;
  bool take(std::uint64_t context, std::int32_t source, std::int32_t tag,
            p2p::Found& found) noexcept override;
  void start_matched(p2p::RecvOp& op, p2p::Message* message) noexcept override;
  void cancel(p2p::SendOp& op) noexcept override;
  void cancel(p2p::RecvOp& op) noexcept override;
  void forget_context(std::uint64_t context) noexcept override;
  std::int32_t open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept override;
  void close_lane(std::int32_t lane) noexcept override;
  std::int32_t open_part(std::int32_t whole, std::span<const p2p::PeerId> members) noexcept override;
  void close_part(std::int32_t lane) noexcept override { node_.lanes().close_sub_lane(lane); }
  void flush_lane(std::int32_t lane) noexcept override;
  bool progress() noexcept override;
  void wait_turn() noexcept override { waiter_.wait_turn(); }
  void wake_waiters() noexcept override;
  void ring(p2p::PeerId peer) noexcept override { local_.ring(peer); }
  std::uint32_t gone_count() const noexcept override { return node_.core().gone_count(); }
  bool is_gone(p2p::PeerId peer) const noexcept override { return node_.core().is_gone(peer); }
  bool may_spin() const noexcept override { return waiter_.policy().has_processor(); }
  bool yield() noexcept override { return waiter_.yield(); }
  std::string new_shm_path() override;
  void* take_memory(std::size_t bytes) noexcept override { return closed_ ? nullptr : memory_.take(bytes); }
  bool give_memory_back(void* memory) noexcept override { return memory_.give_back(memory); }
  void add_hook(Hook hook, void* context) noexcept override { hooks_.push_back({hook, context}); }
  void remove_hook(Hook hook, void* context) noexcept override;
  void when_peer_dies(PeerDied handler) noexcept override { peer_died_ = handler; }
  Instant now() const noexcept override;
  void lock() noexcept override {
    lock_.lock();
    if (lock_.is_outermost()) progress_thread_.on_enter();
  }
  void unlock() noexcept override {
    if (lock_.is_outermost()) progress_thread_.on_leave();
    lock_.unlock();
  }
  std::uint32_t give_up_lock() noexcept override { return lock_.give_up(); }
  void take_back_lock(std::uint32_t depth) noexcept override { lock_.take_back(depth); }
  bool is_locked() const noexcept override { return lock_.active(); }
  int host_number(p2p::PeerId peer) const noexcept override {
    return shm_ ? shm_->first_on_host_of(peer) : net_ ? peer : 0;
  }
  bool has_remote() const noexcept override { return net_ != nullptr; }
  std::string host_of(p2p::PeerId peer) const override;
  bool wants_progress_thread() const noexcept override { return progress_thread_.is_wanted(); }
  bool start_progress_thread() noexcept override { return progress_thread_.start(); }
  void end() noexcept override { keep_alive_.stop(); }
  void close() noexcept override;
  void emergency_cleanup() noexcept override;
  p2p::CoreCounters counters() const noexcept override;

  // For the parts of the engine, with the lock.
  std::uint64_t activity() const noexcept { return activity_; }  // changes when anything moved
  bool has_hooks() const noexcept { return !hooks_.empty(); }
  bool is_closed() const noexcept { return closed_; }
  bool is_under_way() const noexcept;
  bool wants_turn() const noexcept { return node_.core().wants_to_send() || node_.core().direct().busy(); }
  bool has_local_news() noexcept { return local_.has_news(); }
  bool relisten() noexcept { return progress_thread_.relisten(); }
  void request_space() noexcept { local_.request_space(); }
  void check_local_peers() noexcept;

 private:
  struct HookEntry {
    Hook hook;
    void* context;
  };
  bool open_shm(boot::Boot& boot, const Knobs& knobs, std::string& why);
  bool reach_others(boot::Boot& boot, const Knobs& knobs, bool udp, std::string& why);
  bool open_net(boot::Boot& boot, const Knobs& knobs, std::string& why);
  bool add_remote_peers(const std::vector<std::string>& cards, std::string& why);
  bool start_keep_alive(std::string& why);
  bool exchange_cards(boot::Boot& boot, const Knobs& knobs, const std::string& own,
                      std::vector<std::string>& cards, std::string& why);
  void open_waiter(const Knobs& knobs);

  bool is_remote(p2p::PeerId peer) const noexcept { return net_ && remote_[static_cast<std::size_t>(peer)]; }
  bool pump(p2p::PeerId peer) noexcept;
  bool pump_all() noexcept;
  bool move_direct() noexcept;
  bool turn_net() noexcept;
  bool run_hooks() noexcept;
  void complete() noexcept;
  void lose(p2p::PeerId peer) noexcept;
  void depart(p2p::PeerId peer) noexcept;
  void drain_departing() noexcept;
  void keep_alive() noexcept;
  void flush() noexcept;
  void leave_shm() noexcept;

  const int rank_;
  const int size_;
  Lock lock_;
  node::Node node_;
  LocalPeers local_;
  LocalMemory memory_;
  std::unique_ptr<path::ShmPath> shm_;
  std::unique_ptr<Net> net_;                         // null: all are on this host
  std::vector<bool> remote_;                         // by peer: reached by the net
  std::map<p2p::PeerId, path::CpuMask> co_located_;  // remote peers on our machine, and where they may run
  bool only_remote_ = false;                         // no other rank shares our memory
  Waiter waiter_;
  ProgressThread progress_thread_;
  ServiceThread keep_alive_;
  std::vector<HookEntry> hooks_;
  std::uint64_t activity_ = 0;
  std::uint64_t completed_ = 0;  // operations that blocked threads were woken for
  int generation_ = 0;           // of the exchange of cards: the same on all ranks
  std::uint32_t files_ = 0;      // names given out by new_shm_path()
  PeerDied peer_died_ = nullptr;
  bool in_turn_ = false;
  bool closed_ = false;
  int quick_receives_ = 0;              // without a turn since the last one
  std::vector<p2p::PeerId> departing_;  // gone as soon as all is read that they wrote
  Instant next_check_{};                // when to see whether local peers still live ...
  int next_checked_ = 0;                // ... and which
};

}  // namespace herald::engine
