// SPDX-License-Identifier: BSD-3-Clause
// engine/engine.hpp: the progress loop of this process. It reads the clock once a turn, joins the pure rooms
// to the paths, and sleeps when nothing happens.
// One engine a process, made by the first MPI_Init or MPI_Session_init and closed by the last finalize.
// Lock: when threads may call at once (MPI_THREAD_MULTIPLE), every public call holds lock() (recursive); a
// waiting call gives it up while it sleeps. Otherwise lock() costs nothing.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "base/instant.hpp"
#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "p2p/counters.hpp"
#include "p2p/ops.hpp"

namespace herald::engine {

class Engine {
 public:
  // Exchanges addresses with the peers through `boot` and opens the paths. Null with `why` on failure.
  static std::unique_ptr<Engine> open(boot::Boot& boot, const Knobs& knobs, bool threads_multiple,
                                      std::string& why);
  virtual ~Engine() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // True if the peer shares this host's memory (proved by attaching its segment).
  virtual bool is_local(p2p::PeerId peer) const noexcept = 0;

  // Point-to-point. The op must stay where it is until it is done.
  virtual void start(p2p::SendOp& op) noexcept = 0;
  virtual void start(p2p::RecvOp& op) noexcept = 0;
  // The short way of a send: true, and it has left. False: nothing has happened; start a SendOp.
  virtual bool send_now(const p2p::ShortSend& what) noexcept = 0;
  // Starts a receive that the caller blocks for and polls briefly for its message: true, it may be done.
  // False: nothing has happened; start it.
  virtual bool receive_now(p2p::RecvOp& op) noexcept = 0;
  virtual bool probe(std::uint64_t context, std::int32_t source, std::int32_t tag,
                     p2p::Found& found) noexcept = 0;
  // As probe, and takes the message out of the queue: no other receive can match it.
  virtual bool take(std::uint64_t context, std::int32_t source, std::int32_t tag,
                    p2p::Found& found) noexcept = 0;
  virtual void start_matched(p2p::RecvOp& op, p2p::Message* message) noexcept = 0;
  // Ask for cancellation; the op becomes done either way, with `cancelled` telling.
  virtual void cancel(p2p::SendOp& op) noexcept = 0;
  virtual void cancel(p2p::RecvOp& op) noexcept = 0;
  // Unexpected messages of a context that is being freed are dropped; later ones too.
  virtual void forget_context(std::uint64_t context) noexcept = 0;

  // A lane: one send reaches these peers (we among them; the same on all of them, in this order, and the same
  // name). A send with SendOp::lane then goes to all others. -1: there is none; send to each. Nothing is
  // waited for.
  virtual std::int32_t open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept = 0;
  virtual void close_lane(std::int32_t lane) noexcept = 0;
  // A lane of some members of one that is open, made by us alone: they are told, nobody is waited for, and
  // only we may send by it. -1: not now. They close it with the other one, or when told by close_part(),
  // which is for lanes by which each of them was sent something.
  virtual std::int32_t open_part(std::int32_t whole, std::span<const p2p::PeerId> members) noexcept = 0;
  virtual void close_part(std::int32_t lane) noexcept = 0;
  // Sends with SendOp::bundled may wait for this.
  virtual void flush_lane(std::int32_t lane) noexcept = 0;

  // A step of a fused exchange: a short call of all members of a lane, in which the first one hears of all
  // and tells all. Numbered alike by all of them, lane by lane.
  virtual void start(p2p::FusedOp& op) noexcept = 0;
  // The same, and waits until it is done.
  void fused(p2p::FusedOp& op) noexcept {
    start(op);
    while (!op.done) wait_turn();
  }

  // One turn: true if anything moved.
  virtual bool progress() noexcept = 0;
  // Called in a loop by whoever waits, with the lock held: a turn, and when nothing moves for long enough,
  // sleep until a peer rings (the lock is given up meanwhile).
  virtual void wait_turn() noexcept = 0;
  // Wake threads of this process that sleep in wait_turn().
  virtual void wake_waiters() noexcept = 0;

  // What a peer waits for in memory that we share is there: wakes it if it sleeps.
  virtual void ring(p2p::PeerId peer) noexcept = 0;
  // Peers that have left or died so far, and whether this one has.
  virtual std::uint32_t gone_count() const noexcept = 0;
  virtual bool is_gone(p2p::PeerId peer) const noexcept = 0;
  // Whether a waiting call may spin a little: every rank has a processor.
  virtual bool may_spin() const noexcept = 0;
  // Where it may not: lets others run, once, with the lock given up meanwhile. False, and nothing done, where
  // sleeping is better.
  virtual bool yield() noexcept = 0;
  // The path of a new file in shared memory, that goes with this job; empty: there is no shared memory.
  virtual std::string new_shm_path() = 0;

  // Memory for messages that peers on this host can map, so that they need no system call; zeroed, aligned to
  // a page. Null: use other memory. And back: false if it is not such memory.
  virtual void* take_memory(std::size_t bytes) noexcept = 0;
  virtual bool give_memory_back(void* memory) noexcept = 0;

  // More work for each turn (collective plans in progress). Returns true if it moved anything.
  using Hook = bool (*)(void* context);
  virtual void add_hook(Hook hook, void* context) noexcept = 0;
  virtual void remove_hook(Hook hook, void* context) noexcept = 0;

  // Called once for each peer that ended without saying goodbye, when that is noticed (within about a second
  // of waiting), after everything it had sent was delivered and what needed it has failed with peer_lost.
  using PeerDied = void (*)(p2p::PeerId peer);
  virtual void when_peer_dies(PeerDied handler) noexcept = 0;

  virtual Instant now() const noexcept = 0;
  virtual p2p::CoreCounters counters() const noexcept = 0;
  virtual void lock() noexcept = 0;
  virtual void unlock() noexcept = 0;
  // Lets go of the lock however deep the caller holds it, and back: to wait for something else than peers.
  virtual std::uint32_t give_up_lock() noexcept = 0;
  virtual void take_back_lock(std::uint32_t depth) noexcept = 0;
  // lock() is not for nothing: threads of the program, or one of ours, may be in here at once.
  virtual bool is_locked() const noexcept = 0;
  // A thread of ours that goes on with what is under way while the program is elsewhere (knob progress).
  // Wanted: there is a processor for it, and it waits for a reason. True: the lock is for something from here
  // on, and the caller holds it.
  virtual bool wants_progress_thread() const noexcept = 0;
  virtual bool start_progress_thread() noexcept = 0;
  // Numbers the hosts: the same number on all ranks, equal for peers that share a host.
  virtual int host_number(p2p::PeerId peer) const noexcept = 0;
  // Some peers are on other hosts.
  virtual bool has_remote() const noexcept = 0;
  // The name of the host where a peer runs, for messages.
  virtual std::string host_of(p2p::PeerId peer) const = 0;

  // Complete what was promised to peers (buffered bytes still to go out), then take the paths down.
  virtual void close() noexcept = 0;
  // After close(), when all others have closed too: until then peers may still ask for answers. Not with the
  // lock.
  virtual void end() noexcept = 0;
  // Remove what we have in /dev/shm at once: we are about to _exit.
  virtual void emergency_cleanup() noexcept = 0;
};

}  // namespace herald::engine
