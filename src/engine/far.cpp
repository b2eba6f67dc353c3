// SPDX-License-Identifier: BSD-3-Clause
// engine/far.cpp: the loop's dealings with peers on other hosts.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/loop.hpp"
#include "engine/machine.hpp"
#include "engine/self.hpp"

namespace herald::engine {
namespace {

constexpr Duration kTendEvery = milliseconds(100);
constexpr Duration kTendAtEnd = milliseconds(1);
constexpr Duration kAwayFor = milliseconds(50);  // no turn for so long: the program computes

std::string write_key(const wire::JobKey& key) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(key[0]),
                static_cast<unsigned long long>(key[1]));
  return text;
}

bool read_key(const std::string& text, wire::JobKey& key) {
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  key = {std::stoull(text.substr(0, 16), nullptr, 16), std::stoull(text.substr(16), nullptr, 16)};
  return true;
}

// Our mpiexec gives each job one; under other launchers rank 0 makes it.
std::string own_key() {
  const char* given = std::getenv("HERALD_JOB_KEY");
  const std::string text = given != nullptr ? given : "";
  wire::JobKey key{};
  return read_key(text, key) ? text : write_key({random_number(), random_number()});
}

// A card between hosts: key, host name, machine, and what the path says, one line each. Only rank 0's key
// counts.
struct FarCard {
  std::string key, host, address;
  Machine machine;
};

bool read_far_card(const std::string& text, FarCard& card) {
  const std::size_t first = text.find('\n');
  if (first == std::string::npos) return false;
  const std::size_t second = text.find('\n', first + 1);
  if (second == std::string::npos) return false;
  const std::size_t third = text.find('\n', second + 1);
  if (third == std::string::npos) return false;
  card.key = text.substr(0, first);
  card.host = text.substr(first + 1, second - first - 1);
  card.address = text.substr(third + 1);
  return read_machine(text.substr(second + 1, third - second - 1), card.machine);
}

}  // namespace

// Peers that do not share our memory are reached by the net. Every rank sees the same cards, so all of them
// open it, or none.
bool Loop::reach_others(boot::Boot& boot, const Knobs& knobs, bool udp, std::string& why) {
  if (shm_ && shm_->is_one_host()) return true;
  if (udp) return open_net(boot, knobs, why);
  why = "some ranks run on other hosts, and HERALD_PATH=" + knobs.path +
        " leaves no way to reach them: it must name udp, or be unset";
  return false;
}

bool Loop::open_net(boot::Boot& boot, const Knobs& knobs, std::string& why) {
  net_ = Net::open(rank_, size_, knobs, core_, why);
  if (!net_) return false;
  std::vector<std::string> cards(static_cast<std::size_t>(size_));
  const Machine here = read_own_machine();
  const std::string own = own_key() + "\n" + host_name() + "\n" + write_machine(here) + "\n" + net_->card();
  if (!exchange_cards(boot, own, cards, why)) return false;
  cards[static_cast<std::size_t>(rank_)] = own;
  NetStart start;
  start.epoch = static_cast<std::uint32_t>(generation_);
  start.seed = random_number();
  for (int peer = 0; peer < size_; ++peer) {
    FarCard card;
    const bool good = read_far_card(cards[static_cast<std::size_t>(peer)], card) &&
                      (peer != 0 || read_key(card.key, start.key));
    if (!good) {
      why = "rank " + std::to_string(rank_) + " cannot read the address that rank " + std::to_string(peer) +
            " published: all ranks must load the same library";
      return false;
    }
    net_->set_host(peer, card.host);
    if (peer != rank_ && shm_ && shm_->is_attached(peer)) ++start.local_ranks;
    if (peer == rank_ || (shm_ && shm_->is_attached(peer))) continue;
    std::string detail;
    if (!net_->add_peer(peer, card.address, detail)) {
      why = "rank " + std::to_string(rank_) + " on host " + host_name() + " has no way to rank " +
            std::to_string(peer) + " on host " + card.host + ": " + detail;
      return false;
    }
    remote_[static_cast<std::size_t>(peer)] = true;
    if (is_same_machine(here, card.machine)) co_located_[peer] = card.machine.cpus;
  }
  alone_ = start.local_ranks == 1;
  net_->start(start);
  if (bell_socket_.open(*bell_, random_number())) net_->set_bell(bell_socket_.descriptor());
  return true;
}

bool Loop::start_keep_alive(std::string& why) {
  lock_.activate();
  if (keep_alive_.start([](void* self) { static_cast<Loop*>(self)->keep_alive(); }, this, kTendEvery))
    return true;
  why =
      "no thread could be started to answer other hosts while the program computes: raise the limit on "
      "processes";
  return false;
}

bool Loop::pump_far(p2p::PeerId peer) noexcept {
  if (closed_ || core_.is_gone(peer)) return false;
  return net_->pump(now(), peer);
}

std::int32_t Loop::open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
  return net_ ? net_->open_lane(name, members) : -1;
}

void Loop::close_lane(std::int32_t lane) noexcept {
  if (net_ && lane >= 0) net_->close_lane(lane);
}

std::int32_t Loop::open_part(std::int32_t whole, std::span<const p2p::PeerId> members) noexcept {
  return net_ && whole >= 0 ? net_->open_part(whole, members) : -1;
}

void Loop::flush_lane(std::int32_t lane) noexcept {
  (void)net_->pump_lane(now(), lane);
  settle();
}

void Loop::start(p2p::FusedOp& op) noexcept {
  net_->start(now(), op);
  settle();
}

bool Loop::turn_net() noexcept {
  const Instant time = now();
  const bool moved = net_->turn(time);
  core_.run_finished();
  if (net_->has_news() || net_->report_due(time)) net_->report(time, false);
  if (!net_->has_news()) return moved;
  net_->tell_links();
  for (p2p::PeerId peer = net_->take_lost(); peer >= 0; peer = net_->take_lost()) lose(peer);
  return true;
}

void Loop::count_lanes(p2p::CoreCounters& all) const noexcept {
  const rel::LaneCounters& lanes = net_->lane_counters();
  all.unheard = lanes.went_deaf;
  all.heard_again = lanes.heard_again;
  all.cast_packets = lanes.cast;
  all.cast_unicast = lanes.repaired_one;
  all.cast_missed = lanes.missed;
  all.foreign = lanes.foreign;
  all.lanes_moved = lanes.moved;
  all.fused_count = lanes.reports + lanes.result_of_all;
  all.fused_resent = lanes.fused_resent;
  all.dozes = net_->dozes();
}

void Loop::lose(p2p::PeerId peer) noexcept {
  if (core_.is_gone(peer)) return;
  core_.on_peer_gone(peer);
  net_->forget(peer);
  if (peer_died_ != nullptr) peer_died_(peer);
}

// From the keep-alive thread's thread: the program has not called for a while, and the network wants answers.
void Loop::keep_alive() noexcept {
  lock();
  const Instant time = now();
  const bool away = !polling_ && time - net_->last_turn() >= kAwayFor;
  if (away || closed_) net_->keep_alive(time);
  // Nobody takes turns any more: who waits for the launcher to gather all ranks would wait for the dead, too.
  const p2p::PeerId dead = closed_ ? net_->take_lost() : -1;
  unlock();
  if (dead >= 0 && peer_died_ != nullptr) peer_died_(dead);
}

std::string Loop::host_of(p2p::PeerId peer) const {
  return net_ && peer >= 0 && peer < size_ ? std::string(net_->host_of(peer)) : host_name();
}

bool Loop::is_quiet() const noexcept {
  return core_.sends_under_way() == 0 && !core_.wants_to_send() && (!net_ || net_->is_flushed());
}

// Everything that we sent is acknowledged. What peers send from here on is for nobody, but they want to hear
// that it came: the keep-alive thread goes on until end().
void Loop::leave_net() noexcept {
  net_->detach(now());
  keep_alive_.hurry(kTendAtEnd);
}

}  // namespace herald::engine
