// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <unistd.h>

#include <cstdio>

#include "engine/clock.hpp"
#include "engine/config.hpp"
#include "engine/open.hpp"

namespace herald::engine {
namespace {

constexpr Duration kAwayFor = milliseconds(50);  // no turn for so long: the program computes
// How long close() waits without anything moving: for peers that are to receive the last bytes of sends (they
// may be computing), and for room for answers that peers may not need any more.
constexpr Duration kFlushSends = milliseconds(600'000);
constexpr Duration kFlushAnswers = milliseconds(5'000);
constexpr Duration kKeepAliveAtEnd = milliseconds(1);
constexpr Duration kAttachLimit = milliseconds(5'000);  // for peers that are still opening

// Of calls, and of what may be calls.
std::uint64_t arrivals_at(node::Node& node, bool remote) noexcept {
  return node.core().services().taken() + (remote ? node.mesh().counters().received : 0);
}

// Messages to this rank that no receive took, and datagrams that were refused.
void report_unreceived(int rank, std::uint64_t messages, const p2p::CoreCounters& all,
                       bool verbose) noexcept {
  if (messages != 0)
    std::fprintf(stderr, "herald: rank %d: MPI_Finalize throws away %llu %s never received\n", rank,
                 static_cast<unsigned long long>(messages),
                 messages == 1 ? "message that was" : "messages that were");
  if (verbose && all.forged + all.stale + all.malformed != 0)
    std::fprintf(stderr, "herald: rank %d: datagrams dropped: %llu forged, %llu stale, %llu malformed\n",
                 rank, static_cast<unsigned long long>(all.forged),
                 static_cast<unsigned long long>(all.stale), static_cast<unsigned long long>(all.malformed));
}

}  // namespace

std::unique_ptr<Engine> Engine::open(boot::Boot& boot, const Knobs& knobs, bool threads_multiple,
                                     std::string& why) {
  std::unique_ptr<Engine> engine(new Engine(boot.rank(), boot.size(), knobs, threads_multiple));
  if (!Opener(*engine, boot, knobs).open(why)) return nullptr;
  return engine;
}

Engine::Engine(int rank, int size, const Knobs& knobs, bool threads_multiple) noexcept
    : lock_(threads_multiple),
      node_(core_config(rank, size, knobs)),
      local_(rank, size, node_.core(), local_traffic_),
      waiter_(*this, lock_),
      transport_(rank, node_, local_, memory_, waiter_),
      peers_(rank, size, node_, local_),
      messages_(*this, node_.core(), local_, transport_),
      lanes_(node_, transport_),
      progress_thread_(*this, lock_, waiter_),
      call_lock_(lock_, progress_thread_),
      stalls_(rank, knobs),
      foreign_(*this, rank, size, knobs),
      job_hosts_(peers_, size),
      verbose_(knobs.verbose > 0) {}

Engine::~Engine() {
  progress_thread_.stop();
  emergency_cleanup();
}

bool Engine::progress() noexcept {
  if (in_turn_ || transport_.is_closed()) return false;
  in_turn_ = true;
  p2p::Core& core = node_.core();
  bool moved = node_.serve_calls(progress_thread_.is_alone());
  moved = local_.drain() || moved;
  if (net_) moved = turn_net() || moved;
  if (core.wants_to_send()) moved = transport_.pump_all() || moved;
  if (core.direct().busy() || core.direct().awaits_ads()) moved = transport_.move_direct() || moved;
  if (peers_.some_depart()) peers_.drain_departing();
  if (!hooks_.empty()) moved = hooks_.run() || moved;
  in_turn_ = false;
  if (state_.is_wanted()) [[unlikely]]
    state_.write_counters();
  transport_.complete();
  if (moved) transport_.on_moved();
  return moved;
}

bool Engine::turn_net() noexcept {
  const Instant now = read_clock();
  const bool moved = net_->turn(now);
  node_.core().run_finished();
  if (node_.has_news() || node_.lanes().reports().is_due(now)) net_->print_report(now, false);
  if (!node_.has_news()) return moved;
  net_->print_events();
  for (p2p::PeerId peer = node_.take_lost(); peer >= 0; peer = node_.take_lost()) peers_.lose(peer);
  return true;
}

// On the keep-alive thread: the program has not called for a while, and peers want answers. It does not count
// as a call of the program: matching and completions wait for it. After close() no other thread takes turns,
// and a peer that waits in the launcher for all ranks must learn of one that died.
void Engine::keep_alive() noexcept {
  lock_.lock();
  const Instant now = read_clock();
  const bool closed = transport_.is_closed();
  const bool away = !waiter_.is_polling() && now - node_.last_turn() >= kAwayFor;
  const bool offers = services_ != 0 && away && !closed && progress_thread_.may_start();
  const std::uint64_t before = offers ? arrivals_at(node_, net_ != nullptr) : 0;
  if (away && !closed) {
    (void)node_.serve_calls(true);
    (void)local_.drain(true);
  }
  if (net_ && (away || closed)) net_->keep_alive(now);
  if (away && !closed && node_.core().wants_to_send()) (void)transport_.pump_all();
  const p2p::PeerId dead = net_ && closed ? node_.take_lost() : -1;
  // Calls that come next should not wait for as long, nor those that the program has begun to serve, or that
  // are behind messages for it.
  if (offers && (arrivals_at(node_, net_ != nullptr) != before || transport_.is_under_way() ||
                 transport_.wants_turn() || transport_.has_local_news()))
    (void)progress_thread_.start();
  lock_.unlock();
  if (dead >= 0) peers_.report_death(dead);
}

bool offer_services(Engine& engine) noexcept {
  if (engine.services_++ != 0 || engine.keep_alive_.is_running()) return false;
  const bool first = !engine.lock_.active();
  if (first) {
    engine.lock_.activate();
    engine.call_lock_.enter();
  }
  std::string why;  // without a thread the next call of the program answers
  (void)Opener::start_keep_alive(engine, why);
  return first;
}

void withdraw_services(Engine& engine) noexcept { --engine.services_; }

p2p::CoreCounters Engine::counters() const noexcept {
  p2p::CoreCounters all = node_.core().counters();
  all.held = node_.core().messages_held();
  all.mapped_bytes = memory_.mapped_bytes();
  all.kernel_bytes = memory_.kernel_bytes();
  const PacketTally& whole = local_traffic_.messages();
  all.sent += whole.packets();
  all.sent_bytes += whole.bytes();
  all.paths.shm_packets = whole.packets() + local_traffic_.packets().packets();
  all.paths.shm_bytes = whole.bytes() + local_traffic_.packets().bytes();
  if (!net_) return all;
  const rel::LaneCounters& lanes = node_.lanes().lanes().counters();
  all.unheard = lanes.multicast_lost;
  all.heard_again = lanes.multicast_regained;
  all.cast_packets = lanes.cast;
  all.cast_unicast = lanes.repaired_unicast;
  all.paths.cast_received = lanes.received;
  all.paths.cast_resent = lanes.repaired_unicast + lanes.repaired_multicast + lanes.fused_resent;
  all.cast_missed = lanes.missed;
  all.foreign = lanes.foreign;
  const rel::MeshCounters& mesh = node_.mesh().counters();
  all.paths.net_packets = mesh.sent;
  all.paths.net_bytes = mesh.sent_bytes;
  all.paths.net_received = mesh.received;
  all.paths.net_received_bytes = mesh.received_bytes;
  all.paths.net_resent = mesh.resent;
  all.forged = mesh.forged + lanes.forged;
  all.stale = mesh.stale;
  all.paths.net_probes = mesh.probes;
  all.malformed = mesh.malformed + lanes.malformed;
  all.lanes_moved = lanes.address_changes;
  all.fused_count = lanes.contributions + lanes.results;
  all.fused_resent = lanes.fused_resent;
  return all;
}

// Waits until everything that was promised to peers has left, as long as they take it.
void Engine::flush() noexcept {
  Instant moved = read_clock();
  std::uint64_t seen = transport_.activity();
  LongWait wait(state_);
  const auto describe = [this](ShownWait& shown) {
    node_.core().sender().for_each_unanswered([&](const p2p::SendOp& op) {
      if (!op.is_service) add_op(shown, {WaitedKind::send, true, op.to, op.to, op.tag});
    });
  };
  while (!transport_.is_flushed()) {
    if (const Instant woken = wait_turn(); woken.ns != 0) wait.on_blocked(woken, describe);
    const Instant now = read_clock();
    if (transport_.activity() != seen) moved = now;
    seen = transport_.activity();
    if (now - moved > (node_.core().sends_under_way() != 0 ? kFlushSends : kFlushAnswers)) break;
  }
}

void Engine::on_long_wait(Instant now) noexcept {
  if (!stalls_.is_due(now)) return;
  const p2p::SendOp* const op = node_.core().sender().find_held_back();
  const bool remote = op != nullptr && net_ != nullptr && !peers_.is_local(op->to);
  stalls_.check(now, op, remote ? net_->host_of(op->to) : "this host");
}

void Engine::close() noexcept {
  call_lock_.enter();
  if (!transport_.is_closed()) {
    if (model_ && peers_.rank() == 0) save_found(*model_);
    if (net_) net_->print_report(read_clock(), true);
    flush();
    report_unreceived(peers_.rank(), messages_.unreceived(), counters(), verbose_);
    progress_thread_.stop();
    if (net_) {
      net_->print_report(read_clock(), true);  // news that came meanwhile
      net_->detach(read_clock());
      keep_alive_.hurry(
          kKeepAliveAtEnd);  // peers wait for acknowledgements of their last packets, until end()
    }
    if (shm_) {
      // Peers that are still opening need the name of our segment; other threads are not held up meanwhile.
      const Instant limit = read_clock() + kAttachLimit;
      const std::uint32_t depth = lock_.give_up();
      while (!shm_->all_attached() && read_clock() < limit) ::usleep(100);
      lock_.take_back(depth);
      local_.say_goodbye();
    }
    transport_.close();
    local_.close();
    waiter_.set_doorbell(local_.doorbell());
    memory_.close();
    if (shm_) shm_->close();
  }
  call_lock_.leave();
}

void Engine::emergency_cleanup() noexcept {
  if (shm_) shm_->unlink_own();
}

}  // namespace herald::engine
