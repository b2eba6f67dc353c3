// SPDX-License-Identifier: BSD-3-Clause
// engine/loop.hpp: the Engine there is: joins p2p::Core to the self and shm paths, and to the net.
// A turn: drain the inboxes into Core, send what Core wants, run the hooks. A waiting call takes turns until
// something moved; if nothing does for the spin time, it sleeps on the doorbell of our inbox, which peers
// ring when they wrote to us or made room for us, and threads of this process when they completed something.
// With peers on other hosts one thread sleeps on the sockets and the doorbell together, for all; and a
// keep-alive thread (a thread of ours) answers the network while the program computes.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "engine/home.hpp"
#include "engine/keep_alive_thread.hpp"
#include "engine/lock.hpp"
#include "engine/near.hpp"
#include "engine/net.hpp"
#include "engine/outlet.hpp"
#include "engine/spin.hpp"
#include "p2p/core.hpp"
#include "path/self/self.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

constexpr int kDrainPackets = 64;  // of one inbox or ring in one turn
constexpr int kPumpPackets = 256;  // to one peer in one turn

class Loop final : public Engine {
 public:
  Loop(int rank, int size, const Knobs& knobs, bool threads_multiple) noexcept;
  ~Loop() override;
  // Exchanges addresses and opens the paths.
  bool open(boot::Boot& boot, const Knobs& knobs, std::string& why);

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  bool is_local(p2p::PeerId peer) const noexcept override;
  void start(p2p::SendOp& op) noexcept override;
  void start(p2p::RecvOp& op) noexcept override;
  void start(p2p::FusedOp& op) noexcept override;
  void fused(p2p::FusedOp& op) noexcept override;
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
  void close_part(std::int32_t lane) noexcept override { net_->close_part(lane); }
  void flush_lane(std::int32_t lane) noexcept override;
  bool progress() noexcept override;
  void wait_turn() noexcept override;
  void wake_waiters() noexcept override;
  void ring(p2p::PeerId peer) noexcept override;
  std::uint32_t gone_count() const noexcept override { return core_.gone_count(); }
  bool is_gone(p2p::PeerId peer) const noexcept override { return core_.is_gone(peer); }
  bool may_spin() const noexcept override { return spin_.spin_us != 0; }
  bool yield() noexcept override;
  std::string new_shm_path() override;
  void* take_memory(std::size_t bytes) noexcept override;
  bool give_memory_back(void* memory) noexcept override;
  void add_hook(Hook hook, void* context) noexcept override;
  void remove_hook(Hook hook, void* context) noexcept override;
  void when_peer_dies(PeerDied handler) noexcept override { peer_died_ = handler; }
  Instant now() const noexcept override;
  void lock() noexcept override {
    lock_.lock();
    if (lock_.is_outermost()) enter();
  }
  void unlock() noexcept override {
    if (lock_.is_outermost()) leave_lock();
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
  bool wants_progress_thread() const noexcept override { return progress_state_ == ThreadState::wanted; }
  bool start_progress_thread() noexcept override;
  void end() noexcept override { keep_alive_.stop(); }
  void close() noexcept override;
  void emergency_cleanup() noexcept override;

  p2p::CoreCounters counters() const noexcept override {
    p2p::CoreCounters all = core_.counters();
    all.held = core_.messages_held();
    all.mapped_bytes = mover_ ? mover_->mapped_bytes() : 0;
    all.kernel_bytes = mover_ ? mover_->kernel_bytes() : 0;
    if (net_) count_lanes(all);
    return all;
  }

 private:
  struct HookEntry {
    Hook hook;
    void* context;
  };
  bool open_shm(boot::Boot& boot, const Knobs& knobs, std::size_t packet_bytes, std::string& why);
  bool reach_others(boot::Boot& boot, const Knobs& knobs, bool udp, std::string& why);
  bool open_net(boot::Boot& boot, const Knobs& knobs, std::string& why);
  bool start_keep_alive(std::string& why);
  bool exchange_cards(boot::Boot& boot, const std::string& own, std::vector<std::string>& cards,
                      std::string& why);
  void plan_spin(const Knobs& knobs);
  void open_direct(const Knobs& knobs);

  Outlet& outlet(p2p::PeerId peer) noexcept { return outlets_[static_cast<std::size_t>(peer)]; }
  bool push_now(p2p::SendOp& op) noexcept;
  std::byte* claim_now(Outlet& to, p2p::PeerId peer, std::uint64_t bytes) noexcept;
  void publish_now(Outlet& to, p2p::PeerId peer, std::size_t size) noexcept;
  bool drain(path::Inbox& inbox) noexcept;
  bool drain(Inlet& inlet) noexcept;
  bool drain_all() noexcept;
  void look_for(const p2p::RecvOp& op) noexcept;
  void listen_now_and_then(p2p::PeerId peer, std::uint64_t bytes) noexcept;
  bool is_drained(p2p::PeerId peer) const noexcept;
  bool has_news() noexcept;
  void open_inlet(p2p::PeerId from, std::uint32_t index) noexcept;
  void feed_all() noexcept;
  void ring_hungry(p2p::PeerId peer) noexcept;
  bool pump(p2p::PeerId peer) noexcept;
  bool pump_far(p2p::PeerId peer) noexcept;
  bool pump_all() noexcept;
  bool move_direct() noexcept;
  bool turn_net() noexcept;
  void count_lanes(p2p::CoreCounters& all) const noexcept;
  void lose(p2p::PeerId peer) noexcept;
  void keep_alive() noexcept;
  void stop_progress_thread() noexcept;
  void wake_progress_thread() noexcept;
  bool is_under_way() const noexcept;
  void enter() noexcept;
  void leave_lock() noexcept;
  void progress_thread() noexcept;
  void progress_listen() noexcept;
  void progress_park() noexcept;
  bool run_hooks() noexcept;
  void settle() noexcept;
  bool waits_for_net(Instant& time) noexcept;
  bool is_at_rest() noexcept;
  void rest_first(Instant time) noexcept;
  bool may_doze() noexcept;
  void doze() noexcept;
  void check_affinity(Instant time) noexcept;
  bool spin(std::uint64_t before) noexcept;
  void stop_spinning(Instant time, Duration least) noexcept;
  bool was_preempted() noexcept;
  void yield_turns(std::uint64_t before) noexcept;
  void yield_to_reporters(const p2p::FusedOp& op) noexcept;
  // A turn would bring nothing, as far as that can be told for less than a turn.
  bool is_still(Instant time) noexcept {
    return alone_ && hooks_.empty() && !core_.wants_to_send() && net_->is_still(time);
  }
  void sleep(Duration least = {}) noexcept;
  bool prepare_to_block(std::uint32_t& seen) noexcept;
  void rest(std::uint32_t seen, Duration least, Duration longest) noexcept;
  void after_wake() noexcept;
  void sleep_inside() noexcept;
  bool is_remote(p2p::PeerId peer) const noexcept { return net_ && remote_[static_cast<std::size_t>(peer)]; }
  void look_after_peers() noexcept;
  void depart(p2p::PeerId peer) noexcept;
  void drain_departing() noexcept;
  bool is_quiet() const noexcept;
  void leave_net() noexcept;
  void say_goodbye() noexcept;

  const int rank_;
  const int size_;
  const bool threads_;  // several may call
  Lock lock_;
  p2p::Core core_;
  path::SelfPath self_;
  std::unique_ptr<path::ShmPath> shm_;
  std::unique_ptr<NearMover> mover_;  // null: nobody's memory can be reached
  path::Regions regions_;             // that the program has
  std::size_t alloc_bytes_ = 0;       // from which on it gets them; 0: never
  std::vector<Outlet> outlets_;       // by peer; not open: no path
  std::vector<Inlet> inlets_;         // rings that peers write to
  std::vector<int> inlet_of_;         // by peer: which; -1: none
  int short_turns_ = 0;               // receives without a turn since the last one
  std::uint64_t unheard_ = 0;         // sent by the short way since we last looked for answers, by weight
  path::Inbox* own_ = nullptr;        // in shared memory; null: none
  path::Doorbell* bell_ = nullptr;
  std::unique_ptr<Net> net_;                         // null: all are on this host
  std::vector<bool> remote_;                         // by peer: reached by the net
  std::map<p2p::PeerId, path::CpuMask> co_located_;  // of those, who run on our machine, and where they may
  path::BellSocket bell_socket_;                     // rings for bell_ when we sleep on sockets
  path::Doorbell inner_bell_{};                      // for threads beside the one that sleeps on sockets
  bool polling_ = false;                             // one does
  bool alone_ = false;                               // all others are on other hosts
  int generation_ = 0;                               // of the exchange of cards: the same on all ranks
  KeepAliveThread keep_alive_;
  // The progress thread, see assist.cpp: none -> awake <-> listening, parked; wanted: as soon as there is a
  // reason.
  enum class ThreadState : std::uint8_t { none, wanted, awake, listening, parked };
  ThreadState progress_state_ = ThreadState::none;
  bool progress_stop_ = false;
  std::uint32_t progress_where_ = 0;  // what it sleeps on, as the doorbell calls it
  std::uint32_t inside_ = 0;          // threads of the program in a call that holds the lock, or gave it up
  int program_cpu_ = -1;              // where the program was when it last went out
  path::Doorbell progress_bell_{};    // for it alone
  KeepAliveThread progress_thread_;
  std::vector<HookEntry> hooks_;
  SpinPlan spin_;
  std::int64_t slice_before_ = 0;  // of the thread that opened us; 0: as it was
  PreemptionMeter preemptions_;
  Home home_;
  std::int64_t switches_seen_ = 0;  // times, when it was last asked
  Duration no_spin_for_{};
  Instant no_spin_until_{};
  Duration no_yield_for_{};
  Instant no_yield_until_{};
  bool yields_are_long_ = false;
  std::uint64_t activity_ = 0;  // changes when anything moved: a waiting thread looks again
  std::uint64_t told_ = 0;      // completions that sleepers were woken for
  int sleepers_ = 0;            // threads of this process asleep
  int waiters_ = 0;             // threads of this process in wait_turn()
  std::uint32_t files_ = 0;     // names given out by new_shm_path()
  PeerDied peer_died_ = nullptr;
  bool in_turn_ = false;
  bool slept_in_vain_ = false;  // the last sleep ended without news
  bool closed_ = false;
  std::vector<p2p::PeerId> departing_;  // gone as soon as all is read that they wrote
  Instant next_look_{};                 // when to see whether peers still live
  int next_look_at_ = 0;                // and which
};

}  // namespace herald::engine
