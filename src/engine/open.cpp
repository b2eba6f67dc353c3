// SPDX-License-Identifier: BSD-3-Clause
// engine/open.cpp: how the engine comes up and goes down.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/loop.hpp"
#include "engine/self.hpp"

namespace herald::engine {
namespace {

constexpr std::uint32_t kSelfCells = 64;
constexpr std::int64_t kLeastPayload = 4096;  // of a cell
constexpr std::int64_t kMostPayload = 65536;
constexpr Duration kLookEvery = milliseconds(500);
constexpr int kLookAtOnce = 16;
// How long close() waits without anything moving: for peers that are to take the last bytes of sends (they
// may be computing), and for room for answers that nobody may need any more.
constexpr Duration kFlushSends = milliseconds(600'000);
constexpr Duration kFlushAnswers = milliseconds(5'000);
constexpr Duration kAttachLimit =
    milliseconds(5'000);  // for peers that are still opening: they need our segment's name

std::size_t packet_bytes(const Knobs& knobs) {
  return wire::kLargestHeader +
         static_cast<std::size_t>(std::clamp(knobs.push_bytes, kLeastPayload, kMostPayload));
}

// For tests of several hosts on one machine: "2" puts two ranks on each host, "/3" deals ranks out to three.
int pretended_host(const Knobs& knobs, int rank) {
  const bool deal = knobs.pretend_hosts.starts_with('/');
  const int number = std::atoi(knobs.pretend_hosts.c_str() + (deal ? 1 : 0));
  return number <= 0 ? -1 : deal ? rank % number : rank / number;
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
      threads_(threads_multiple),
      lock_(threads_multiple),
      core_(core_config(rank, size, knobs)),
      outlets_(static_cast<std::size_t>(size)),
      inlet_of_(static_cast<std::size_t>(size), -1),
      remote_(static_cast<std::size_t>(size)) {}

Loop::~Loop() {
  stop_progress_thread();
  emergency_cleanup();
}

bool Loop::open(boot::Boot& boot, const Knobs& knobs, std::string& why) {
  if (process_trace.on()) core_.set_trace(&process_trace);
  if (!self_.open(kSelfCells, packet_bytes(knobs), static_cast<std::uint32_t>(size_))) {
    why = "no memory for the messages of a process to itself";
    return false;
  }
  outlet(rank_).open(&self_.inbox());
  bell_ = &self_.inbox().bell();
  if (size_ > 1) {
    const bool shm = knobs.path.empty() || list_has(knobs.path, "shm");
    const bool udp = knobs.path.empty() || list_has(knobs.path, "udp");
    if (!shm && !udp) {
      why = "HERALD_PATH=" + knobs.path +
            " leaves no way to reach the other ranks: it must name shm or udp, or be unset";
      return false;
    }
    if (shm && !open_shm(boot, knobs, packet_bytes(knobs), why)) return false;
    if (!reach_others(boot, knobs, udp, why)) return false;
  }
  plan_spin(knobs);
  if (size_ > 1) slice_before_ = shorten_slice(microseconds(knobs.slice_us).ns);
  open_direct(knobs);
  if (net_ && !start_keep_alive(why))
    return false;  // from here on another thread looks at all that was set up
  if (knobs.progress == "thread" && start_progress_thread()) unlock();
  return true;
}

bool Loop::open_shm(boot::Boot& boot, const Knobs& knobs, std::size_t bytes, std::string& why) {
  path::ShmConfig config;
  config.job = job_name();
  config.rank = rank_;
  config.size = size_;
  config.cells = static_cast<std::uint64_t>(knobs.shm_cells);
  config.packet_bytes = bytes;
  config.rings = static_cast<std::uint64_t>(knobs.shm_rings);
  config.nonce = random_number();
  config.cpus = read_affinity();
  config.cma = knobs.cma != "off";
  config.host = pretended_host(knobs, rank_);
  shm_ = path::ShmPath::open(config, why);
  if (!shm_) return false;
  std::vector<std::string> cards(static_cast<std::size_t>(size_));
  if (!exchange_cards(boot, shm_->card(), cards, why) || !shm_->attach_all(cards, why)) return false;
  own_ = &shm_->own();
  inlets_.reserve(config.rings);  // they stay where they are while they are read
  bell_ = &own_->bell();
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_) outlet(peer).open(shm_->peer(peer));
  return true;
}

bool Loop::exchange_cards(boot::Boot& boot, const std::string& own, std::vector<std::string>& cards,
                          std::string& why) {
  static int exchanges = 0;  // a process may open and close the engine several times, one after the other
  generation_ = exchanges++;
  const std::string key = "herald-card-" + std::to_string(generation_);
  bool good = boot.put(key, own) == Status::ok && boot.fence() == Status::ok;
  for (int peer = 0; good && peer < size_; ++peer)
    if (peer != rank_) good = boot.get(peer, key, cards[static_cast<std::size_t>(peer)]) == Status::ok;
  if (!good) why = "the ranks could not exchange their addresses: " + boot.last_error();
  return good;
}

// Ranks of other hosts count where these are containers of one machine: they want the same processors.
void Loop::plan_spin(const Knobs& knobs) {
  std::vector<path::CpuMask> masks(static_cast<std::size_t>(size_));
  Quota quota{read_cpu_quota(), 0};
  for (int peer = 0; peer < size_; ++peer) {
    if (is_remote(peer)) continue;
    masks[static_cast<std::size_t>(peer)] = shm_ ? shm_->cpus_of(peer) : read_affinity();
    ++quota.ranks;
  }
  for (const auto& [peer, cpus] : co_located_) masks[static_cast<std::size_t>(peer)] = cpus;
  spin_ = choose_spin(masks, static_cast<std::size_t>(rank_), quota, knobs.spin_us);
  core_.set_oversubscribed(spin_.spin_us == 0);
  if (spin_.spin_us == 0 && knobs.home == "auto")
    home_.set(choose_home(masks, static_cast<std::size_t>(rank_), alone_));
  if (knobs.progress == "auto" && has_free_core(masks, static_cast<std::size_t>(rank_), quota))
    progress_state_ = ThreadState::wanted;
  // In a crowd we sleep often, and the kernel's barrier is dear; and where nobody rings it is for nothing.
  if (spin_.spin_us != 0 && !alone_) bell_->be_quick();
}

bool Loop::is_local(p2p::PeerId peer) const noexcept {
  return peer >= 0 && peer < size_ && outlets_[static_cast<std::size_t>(peer)].is_open();
}

std::string Loop::new_shm_path() {
  return shm_ && !closed_ ? shm_->own_path() + "-" + std::to_string(files_++) : std::string();
}

// Peers that died without a goodbye: what waits for them need not wait for ever.
void Loop::look_after_peers() noexcept {
  if (!shm_) return;
  const Instant time = now();
  if (time < next_look_) return;
  next_look_ = time + kLookEvery;
  for (int i = 0; i < std::min(size_, kLookAtOnce); ++i) {
    const int peer = next_look_at_;
    next_look_at_ = (next_look_at_ + 1) % size_;
    if (peer != rank_ && shm_->is_attached(peer) && !core_.is_gone(peer) && !shm_->is_alive(peer))
      depart(peer);
  }
}

void Loop::close() noexcept {
  lock();
  Instant moved = now();
  std::uint64_t seen = activity_;
  if (net_ && !closed_) net_->report(moved, true);
  while (!closed_ && !is_quiet()) {
    wait_turn();
    const Instant time = now();
    if (activity_ != seen) moved = time;
    seen = activity_;
    if (time - moved > (core_.sends_under_way() != 0 ? kFlushSends : kFlushAnswers)) break;
  }
  stop_progress_thread();
  restore_slice(std::exchange(slice_before_, 0));
  if (!closed_) {
    if (net_) {
      net_->report(now(), true);  // what came meanwhile
      leave_net();
    }
    if (own_ != nullptr) {
      const Instant limit = now() + kAttachLimit;
      while (!shm_->all_attached() && now() < limit) ::usleep(100);
      say_goodbye();
    }
    closed_ = true;
    own_ = nullptr;
    bell_ = &self_.inbox().bell();
    for (Outlet& each : outlets_) each.close();
    inlets_.clear();
    std::fill(inlet_of_.begin(), inlet_of_.end(), -1);
    regions_.open(nullptr);
    mover_.reset();
    if (shm_) shm_->close();
  }
  unlock();
}

// Nobody is woken for it, nor waited for: a peer with a full inbox finds ours closed when it looks.
void Loop::say_goodbye() noexcept {
  own_->close();
  feed_all();
  const wire::GoodbyePacket packet{wire::p2p_prefix(wire::P2pKind::goodbye)};
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || core_.is_gone(peer) || !outlet(peer).is_open()) continue;
    const std::span<std::byte> room = outlet(peer).claim();
    if (room.empty()) continue;
    std::memcpy(room.data(), &packet, sizeof packet);
    outlet(peer).publish(rank_, sizeof packet);
  }
}

void Loop::emergency_cleanup() noexcept {
  if (shm_) shm_->unlink_own();
}

}  // namespace herald::engine
