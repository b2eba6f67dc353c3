// SPDX-License-Identifier: BSD-3-Clause
// engine/open.cpp: opening and closing the engine.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/knob_check.hpp"
#include "engine/loop.hpp"
#include "engine/processors.hpp"
#include "engine/self.hpp"
#include "path/random.hpp"

namespace herald::engine {
namespace {

constexpr std::uint32_t kSelfCells = 64;
constexpr std::uint32_t kLeastPayload = 4096;  // of a cell
constexpr std::uint32_t kMostPayload = 65536;
// How long close() waits without anything moving: for peers that are to take the last bytes of sends (they
// may be computing), and for room for answers that nobody may need any more.
constexpr Duration kFlushSends = milliseconds(600'000);
constexpr Duration kFlushAnswers = milliseconds(5'000);
constexpr Duration kKeepAliveAtEnd = milliseconds(1);
constexpr Duration kAttachLimit =
    milliseconds(5'000);  // for peers that are still opening: they need our segment's name

std::size_t packet_bytes(const Knobs& knobs) {
  return wire::kLargestHeader + std::clamp(knobs.tuning.push_bytes, kLeastPayload, kMostPayload);
}

}  // namespace

std::unique_ptr<Engine> Engine::open(boot::Boot& boot, const Knobs& knobs, bool threads_multiple,
                                     std::string& why) {
  auto loop = std::make_unique<Loop>(boot.rank(), boot.size(), knobs, threads_multiple);
  if (!loop->open(boot, knobs, why)) return nullptr;
  return loop;
}

Loop::Loop(int rank, int size, const Knobs& knobs, bool threads_multiple) noexcept
    : rank_(rank),
      size_(size),
      lock_(threads_multiple),
      node_(core_config(rank, size, knobs)),
      local_(rank, size, node_.core()),
      remote_(static_cast<std::size_t>(size)),
      waiter_(*this, lock_),
      progress_thread_(*this, lock_, waiter_) {}

Loop::~Loop() {
  progress_thread_.stop();
  emergency_cleanup();
}

bool Loop::open(boot::Boot& boot, const Knobs& knobs, std::string& why) {
  if (process_trace.on()) node_.core().set_trace(&process_trace);
  if (!local_.open_self(kSelfCells, packet_bytes(knobs))) {
    why = "no memory for the messages of a process to itself";
    return false;
  }
  if (size_ > 1) {
    const bool shm = knobs.path.empty() || list_has(knobs.path, "shm");
    const bool udp = knobs.path.empty() || list_has(knobs.path, "udp");
    if (!shm && !udp) {
      why = "HERALD_PATH=" + knobs.path +
            " leaves no way to reach the other ranks: it must name shm or udp, or be unset";
      return false;
    }
    if (shm && !open_shm(boot, knobs, why)) return false;
    if (!reach_others(boot, knobs, udp, why)) return false;
  }
  open_waiter(knobs);
  if (shm_ && shm_->cma() != nullptr)
    memory_.open(*shm_, node_.core(), rank_, size_, knobs.tuning.alloc_bytes);
  if (net_ && !start_keep_alive(why)) return false;  // from here on another thread looks at all of this
  if (knobs.progress == "thread" && start_progress_thread()) unlock();
  return true;
}

bool Loop::open_shm(boot::Boot& boot, const Knobs& knobs, std::string& why) {
  path::ShmConfig config;
  config.job = job_name();
  config.rank = rank_;
  config.size = size_;
  config.cells = knobs.tuning.shm_cells;
  config.packet_bytes = packet_bytes(knobs);
  config.most_bytes = static_cast<std::uint64_t>(knobs.shm_inbox_bytes);
  config.rings = knobs.tuning.shm_rings;
  config.nonce = path::random_number();
  config.cpus = read_affinity();
  config.cma = knobs.cma != "off";
  config.host = knobs.host;
  shm_ = path::ShmPath::open(config, why);
  if (!shm_) return false;
  std::vector<std::string> cards(static_cast<std::size_t>(size_));
  if (!exchange_cards(boot, knobs, shm_->card(), cards, why) || !shm_->attach_all(cards, why)) return false;
  local_.attach(*shm_, config.rings);
  return true;
}

// The hash of the knobs that all ranks must have alike precedes a card: ranks that differ could wait for each
// other forever.
bool Loop::exchange_cards(boot::Boot& boot, const Knobs& knobs, const std::string& own,
                          std::vector<std::string>& cards, std::string& why) {
  static int exchanges = 0;  // a process may open and close the engine several times, one after the other
  generation_ = exchanges++;
  const std::string key = "herald-card-" + std::to_string(generation_);
  KnobCheck check(boot, knobs, generation_);
  bool good = boot.put(key, check.hash() + own) == Status::ok && boot.fence() == Status::ok;
  for (int peer = 0; good && peer < size_; ++peer) {
    if (peer == rank_) continue;
    std::string& card = cards[static_cast<std::size_t>(peer)];
    good = boot.get(peer, key, card) == Status::ok;
    card.erase(0, check.take_hash(peer, card));
  }
  if (!good) why = "the ranks could not exchange their addresses: " + boot.last_error();
  return good && check.all_agree(why);
}

// Remote ranks count where their hosts are containers of our machine: they want the same processors.
void Loop::open_waiter(const Knobs& knobs) {
  std::vector<path::CpuMask> masks(static_cast<std::size_t>(size_));
  Quota quota{read_cpu_quota(), 0};
  for (int peer = 0; peer < size_; ++peer) {
    if (is_remote(peer)) continue;
    masks[static_cast<std::size_t>(peer)] = shm_ ? shm_->cpus_of(peer) : read_affinity();
    ++quota.ranks;
  }
  for (const auto& [peer, cpus] : co_located_) masks[static_cast<std::size_t>(peer)] = cpus;
  const auto me = static_cast<std::size_t>(rank_);
  const SpinPlan plan = choose_spin(masks, me, quota, knobs.spin_us);
  waiter_.open(local_.doorbell(), {plan.spin, plan.forced, involuntary_switches}, only_remote_);
  if (net_) waiter_.open_sockets(*net_);
  if (size_ > 1) waiter_.shorten_time_slice();
  node_.core().direct().set_oversubscribed(plan.spin.ns == 0);
  if (knobs.progress == "auto" && has_free_core(masks, me, quota)) progress_thread_.set_wanted();
}

std::string Loop::new_shm_path() {
  return shm_ && !closed_ ? shm_->own_path() + "-" + std::to_string(files_++) : std::string();
}

// Waits until everything that was promised to peers has left, as long as they take it.
void Loop::flush() noexcept {
  const auto is_flushed = [this] {
    const p2p::Core& core = node_.core();
    return core.sends_under_way() == 0 && !core.wants_to_send() && (!net_ || node_.is_flushed());
  };
  Instant moved = now();
  std::uint64_t seen = activity_;
  while (!is_flushed()) {
    wait_turn();
    const Instant time = now();
    if (activity_ != seen) moved = time;
    seen = activity_;
    if (time - moved > (node_.core().sends_under_way() != 0 ? kFlushSends : kFlushAnswers)) break;
  }
}

// Peers that are still opening need the name of our segment; other threads are not held up meanwhile.
void Loop::leave_shm() noexcept {
  const Instant limit = now() + kAttachLimit;
  const std::uint32_t depth = lock_.give_up();
  while (!shm_->all_attached() && now() < limit) ::usleep(100);
  lock_.take_back(depth);
  local_.say_goodbye();
}

void Loop::close() noexcept {
  lock();
  if (!closed_) {
    if (net_) net_->print_report(now(), true);
    flush();
    progress_thread_.stop();
    if (net_) {
      net_->print_report(now(), true);  // what came meanwhile
      net_->detach(now());
      keep_alive_.hurry(kKeepAliveAtEnd);  // peers want to hear that their last packets came, until end()
    }
    if (shm_) leave_shm();
    closed_ = true;
    local_.close();
    waiter_.set_doorbell(local_.doorbell());
    memory_.close();
    if (shm_) shm_->close();
  }
  unlock();
}

void Loop::emergency_cleanup() noexcept {
  if (shm_) shm_->unlink_own();
}

}  // namespace herald::engine
