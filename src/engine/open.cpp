// SPDX-License-Identifier: BSD-3-Clause
#include "engine/open.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/trace.hpp"
#include "engine/config.hpp"
#include "engine/knob_check.hpp"
#include "engine/model_exchange.hpp"
#include "engine/processors.hpp"
#include "engine/self.hpp"
#include "path/random.hpp"
#include "wire/datagram.hpp"

namespace herald::engine {
namespace {

constexpr std::uint32_t kSelfCells = 64;
constexpr Duration kKeepAliveEvery = milliseconds(100);
constexpr std::uint64_t kMemoryShare =
    8;  // of the memory of a host, for unexpected messages of all its ranks

// The card of rank 0 has random numbers, so that no other job gets the same name.
std::uint64_t name_job(const std::string& card) noexcept {
  return wire::siphash24({}, {reinterpret_cast<const std::byte*>(card.data()), card.size()});
}

}  // namespace

bool Opener::open(std::string& why) {
  engine_.foreign_.set_job(path::random_number());
  if (process_trace.on()) engine_.messages().trace();
  if (!engine_.local_.open_self(kSelfCells, packet_bytes(knobs_))) {
    why = "no memory for the messages of a process to itself";
    return false;
  }
  if (size_ > 1 && !open_paths(why)) return false;
  open_waiter();
  engine_.state_.open(rank_, size_, job_name(), knobs_.host.empty() ? host_name() : knobs_.host);
  if (size_ > 1) engine_.waiter_.shorten_time_slice();
  if (engine_.shm_)
    engine_.memory_.open(*engine_.shm_, engine_.node_.core(), rank_, size_, knobs_.tuning.alloc_bytes);
  if (engine_.net_) {
    engine_.lock_.activate();
    if (!start_keep_alive(engine_, why)) return false;  // from here on another thread reads all of this
  }
  if (knobs_.progress == "thread" && engine_.progress_thread_.start()) engine_.call_lock_.leave();
  return true;
}

// The network reaches peers that do not share our memory. Every rank sees the same cards, so all of them open
// it, or none.
bool Opener::open_paths(std::string& why) {
  const bool shm = knobs_.path.empty() || list_has(knobs_.path, "shm");
  const bool net = knobs_.path.empty() || list_has(knobs_.path, "udp") || list_has(knobs_.path, "tcp");
  if (!shm && !net) {
    why = "HERALD_PATH=" + knobs_.path +
          " leaves no way to reach the other ranks: it must name shm, udp or tcp, or be unset";
    return false;
  }
  // Without it, shared memory gets no name, and all hosts look like one.
  if (::access("/proc/self/fd", X_OK) != 0) {
    why = "ranks find each other with the help of /proc, which is not mounted here: mount -t proc proc /proc";
    return false;
  }
  if (shm && !open_shm(why)) return false;
  if (engine_.shm_ && engine_.shm_->is_one_host()) return true;
  if (net) return open_net(why);
  why = "some ranks run on other hosts, and HERALD_PATH=" + knobs_.path +
        " leaves no way to reach them: it must name udp or tcp, or be unset";
  return false;
}

bool Opener::open_shm(std::string& why) {
  const path::ShmConfig config = shm_config(rank_, size_, knobs_);
  std::unique_ptr<path::ShmPath>& shm = engine_.shm_;
  shm = path::ShmPath::open(config, why);
  Cards cards(static_cast<std::size_t>(size_));
  if (!shm || !exchange_cards(shm->card(), cards, why) || !shm->attach_all(cards, why)) return false;
  engine_.local_.attach(*shm, config.rings);
  engine_.peers_.use(*shm);
  return true;
}

// The hash of the knobs that all ranks must have alike precedes a card: ranks that differ could wait for each
// other forever.
bool Opener::exchange_cards(const std::string& own, Cards& cards, std::string& why) {
  generation_ = exchanges_++;
  const std::string key = "herald-card-" + std::to_string(generation_);
  KnobCheck check(boot_, knobs_, generation_);
  ModelExchange model(boot_, generation_);
  bool good = true;
  const std::string before = check.hash() + (has_model_ ? "-" : model.put(good));
  good = good && boot_.put(key, before + own) == Status::ok && boot_.fence() == Status::ok;
  for (int peer = 0; good && peer < size_; ++peer) {
    if (peer == rank_) continue;
    std::string& card = cards[static_cast<std::size_t>(peer)];
    good = boot_.get(peer, key, card) == Status::ok;
    card.erase(0, check.take_hash(peer, card));
    card.erase(0, model.take(peer, card, good));
  }
  engine_.foreign_.set_job(name_job(rank_ == 0 ? own : cards[0]));
  if (!has_model_) engine_.model_ = model.take_model();
  has_model_ = true;
  if (!good) why = "the ranks could not exchange their addresses: " + boot_.last_error();
  return good && check.all_agree(why);
}

// Remote ranks count where their hosts are containers of our machine: they want the same processors.
void Opener::open_waiter() {
  std::vector<path::CpuMask> masks(static_cast<std::size_t>(size_));
  Quota quota{read_cpu_quota(), 0};
  for (int peer = 0; peer < size_; ++peer) {
    if (remote_[static_cast<std::size_t>(peer)]) continue;
    masks[static_cast<std::size_t>(peer)] = engine_.shm_ ? engine_.shm_->cpus_of(peer) : read_affinity();
    ++quota.ranks;
  }
  // A bound that the user has set does not grow.
  if (knobs_.unexpected_bytes == Knobs{}.unexpected_bytes)
    engine_.node_.core().sender().set_most_unexpected(read_memory_bytes() / kMemoryShare /
                                                      static_cast<std::uint64_t>(quota.ranks));
  for (const auto& [peer, cpus] : co_located_) masks[static_cast<std::size_t>(peer)] = cpus;
  const auto me = static_cast<std::size_t>(rank_);
  const SpinPlan plan = choose_spin(masks, me, quota, knobs_.spin_us);
  engine_.waiter_.open(engine_.local_.doorbell(), {plan.spin, plan.forced, involuntary_switches},
                       only_remote_);
  if (engine_.net_) engine_.waiter_.open_sockets(*engine_.net_);
  engine_.node_.core().direct().set_oversubscribed(plan.spin.ns == 0);
  if (knobs_.progress == "off") engine_.progress_thread_.forbid();
  if (knobs_.progress == "auto" && has_free_core(masks, me, quota)) engine_.progress_thread_.set_wanted();
}

bool Opener::start_keep_alive(Engine& engine, std::string& why) {
  const auto work = [](void* self) { static_cast<Engine*>(self)->keep_alive(); };
  if (engine.keep_alive_.start(work, &engine, kKeepAliveEvery)) return true;
  why =
      "no thread could be started to answer other hosts while the program computes: raise the limit on "
      "processes";
  return false;
}

}  // namespace herald::engine
