// SPDX-License-Identifier: BSD-3-Clause
// engine/engine.hpp: the progress loop of this process: joins the node to shared memory and to the network.
// A turn: drain what local peers wrote, receive from the network, send what Core wants, run the hooks.
// One engine a process, opened by the first MPI_Init or MPI_Session_init and closed by the last finalize.
// Lock: when threads may call at once, every public call holds lock() (recursive), and a waiting call
// releases it while it sleeps.
#pragma once
#include <memory>
#include <string>

#include "base/knobs.hpp"
#include "base/trace.hpp"
#include "boot/boot.hpp"
#include "engine/call_lock.hpp"
#include "engine/foreign.hpp"
#include "engine/hooks.hpp"
#include "engine/job_hosts.hpp"
#include "engine/lanes.hpp"
#include "engine/local_memory.hpp"
#include "engine/local_peers.hpp"
#include "engine/lock.hpp"
#include "engine/messages.hpp"
#include "engine/model_exchange.hpp"
#include "engine/net.hpp"
#include "engine/peers.hpp"
#include "engine/periodic_thread.hpp"
#include "engine/progress_thread.hpp"
#include "engine/rank_state.hpp"
#include "engine/stall_report.hpp"
#include "engine/transport.hpp"
#include "engine/waiter.hpp"
#include "node/node.hpp"
#include "p2p/counters.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

class Engine {
 public:
  // Exchanges addresses with the peers through `boot` and opens the paths. Null with `why` on failure.
  static std::unique_ptr<Engine> open(boot::Boot& boot, const Knobs& knobs, bool threads_multiple,
                                      std::string& why);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Messages& messages() noexcept { return messages_; }
  Lanes& lanes() noexcept { return lanes_; }
  Peers& peers() noexcept { return peers_; }
  const Peers& peers() const noexcept { return peers_; }
  LocalMemory& memory() noexcept { return memory_; }
  ForeignPeers& foreign() noexcept { return foreign_; }
  CallLock& lock() noexcept { return call_lock_; }
  Hooks& hooks() noexcept { return hooks_; }
  ProgressThread& progress_thread() noexcept { return progress_thread_; }

  // One turn: true if anything moved.
  bool progress() noexcept;
  // A caller that waits repeats it, with the lock held: a turn, and when nothing moves for long enough, sleep
  // until a peer rings. The lock is released meanwhile. Returns when it woke up; 0 ns: it has not slept.
  Instant wait_turn() noexcept { return waiter_.wait_turn(); }
  // A caller polls descriptors that do not wake it while one of these exists.
  class Polling {
   public:
    explicit Polling(Engine& engine) noexcept : waiter_(engine.waiter_) { waiter_.begin_polling(); }
    ~Polling() { waiter_.end_polling(); }
    Polling(const Polling&) = delete;
    Polling& operator=(const Polling&) = delete;

   private:
    Waiter& waiter_;
  };
  RankState& state() noexcept { return state_; }
  // Wakes threads of this process that sleep in wait_turn().
  void wake_waiters() noexcept { transport_.wake_waiters(); }
  // Whether a waiting call may spin a little: every rank has a processor.
  bool may_spin() const noexcept { return waiter_.policy().has_processor(); }
  // Its doorbell wakes a thread that sleeps in wait_turn(): any thread may ring, without the lock.
  Waiter& waiter() noexcept { return waiter_; }

  p2p::CoreCounters counters() const noexcept;

  // Completes what was promised to peers (buffered bytes still to go out), then closes the paths.
  void close() noexcept;
  // After close(), without the lock, when all others have closed too: until then peers may want answers.
  void end() noexcept { keep_alive_.stop(); }
  // Removes the files of this process in /dev/shm at once, before an _exit.
  void emergency_cleanup() noexcept;

  // For the parts of the engine, with the lock.
  // A wait has lasted for a while: says why, if the peer's memory for our messages is the reason.
  void on_long_wait(Instant now) noexcept;
  Transport& transport() noexcept { return transport_; }
  bool is_in_turn() const noexcept { return in_turn_; }
  bool is_under_way() const noexcept {
    return transport_.is_under_way() || !hooks_.empty() || services_ != 0;
  }
  // A receive may be polled for alone: nothing else waits for a turn.
  bool is_quiet() const noexcept {
    return !in_turn_ && !lock_.others_want_it() && hooks_.empty() && !peers_.some_depart();
  }

 private:
  friend class Opener;
  friend class ForeignPeers;
  friend class ForeignMemory;
  friend JobModel* model_of(Engine& engine) noexcept;
  friend JobHosts& job_hosts_of(Engine& engine) noexcept;
  friend bool offer_services(Engine& engine) noexcept;
  friend void withdraw_services(Engine& engine) noexcept;
  Engine(int rank, int size, const Knobs& knobs, bool threads_multiple) noexcept;
  bool turn_net() noexcept;
  void keep_alive() noexcept;
  void flush() noexcept;

  Lock lock_;
  node::Node node_;
  LocalTraffic local_traffic_{state_};
  LocalPeers local_;
  LocalMemory memory_;
  std::unique_ptr<path::ShmPath> shm_;
  std::unique_ptr<Net> net_;  // null: all peers are on this host
  Waiter waiter_;
  Transport transport_;
  Peers peers_;
  Messages messages_;
  Lanes lanes_;
  Hooks hooks_;
  ProgressThread progress_thread_;
  CallLock call_lock_;
  PeriodicThread keep_alive_;
  RankState state_{*this};
  StallReport stalls_;
  ForeignPeers foreign_;
  JobHosts job_hosts_;
  std::unique_ptr<JobModel> model_;
  const bool verbose_;
  bool in_turn_ = false;
  std::uint32_t services_ = 0;  // that other processes may ask for while the program computes
};

// Other processes may ask this one for something that its program does not wait for, as memory of a window.
// While the program computes, the keep-alive thread answers, and the progress thread from the second time on.
// True: from here on the caller holds the lock.
bool offer_services(Engine& engine) noexcept;
void withdraw_services(Engine& engine) noexcept;

inline JobHosts& job_hosts_of(Engine& engine) noexcept { return engine.job_hosts_; }

// Measured parameters of the cluster, the same at all ranks of the job; null: there are none.
inline JobModel* model_of(Engine& engine) noexcept { return engine.model_.get(); }

}  // namespace herald::engine
