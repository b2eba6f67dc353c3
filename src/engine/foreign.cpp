// SPDX-License-Identifier: BSD-3-Clause
#include "engine/foreign.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>

#include "engine/clock.hpp"
#include "engine/engine.hpp"
#include "engine/keys.hpp"
#include "engine/net_open.hpp"
#include "engine/open.hpp"
#include "engine/self.hpp"
#include "path/random.hpp"
#include "wire/siphash.hpp"

namespace herald::engine {
namespace {

constexpr std::uint64_t kFarewellContext = 4;  // no communicator has it
constexpr std::int32_t kFarewell = 1;          // tags: the sender has forgotten the receiver
constexpr std::int32_t kGoodbye = 2;           // the sender ends MPI, and waits for the same message

// The words of a card: version, job, rank, security, bytes of a datagram, eager window, host, its name,
// whether the job has lanes, memory, address.
struct Card : ProcessCard {
  std::string security, host_name, address;
  std::uint32_t datagram_bytes = 0, eager_packets = 0;
};

bool read_card(const std::string& text, Card& card) {
  std::istringstream in(text);
  std::string version;
  in >> version >> std::hex >> card.name.job >> std::dec >> card.name.rank >> card.security >>
      card.datagram_bytes >> card.eager_packets >> std::hex >> card.host >> std::dec >> card.host_name >>
      card.casts >> card.memory;
  if (!in || version != "foreign4" || card.name.rank < 0 || card.datagram_bytes < 256 ||
      card.eager_packets == 0 || in.get() != ' ')
    return false;
  return static_cast<bool>(std::getline(in, card.address));
}

std::string security_of(const Knobs& knobs, const wire::CipherSuite* suite) {
  return suite == nullptr || knobs.secure == "tag" ? "tag" : knobs.secure + suite_name(*suite);
}

struct PairLabel {
  char word[8] = {'f', 'o', 'r', 'e', 'i', 'g', 'n', 0};
  wire::Le<std::uint64_t> first_job, second_job;
  wire::Le<std::uint32_t> first_rank, second_rank;
};

std::span<const std::byte> bytes_of(const PairLabel& label) noexcept {
  return {reinterpret_cast<const std::byte*>(&label), sizeof label};
}

// The key of tags between two processes of the groups that share the secret.
wire::JobKey tag_key(const wire::SecretKey& secret, const PairLabel& label) noexcept {
  wire::JobKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) {
    wire::JobKey half{};
    std::memcpy(half.data(), secret.data() + i * sizeof half, sizeof half);
    key[i] = wire::siphash24(half, bytes_of(label));
  }
  return key;
}

}  // namespace

bool read_process_card(const std::string& text, ProcessCard& card) {
  Card read;
  const bool good = read_card(text, read);
  card = read;
  return good;
}

ForeignPeers::Peer* ForeignPeers::find(p2p::PeerId peer) const noexcept {
  const auto at = static_cast<std::size_t>(peer - size_);
  return peer >= size_ && at < peers_.size() ? peers_[at].get() : nullptr;
}

bool ForeignPeers::open(bool& locked, std::string& why) {
  locked = false;
  open_ = true;
  memory_.open();
  // A process without shared memory counts as a host of its own.
  if (own_host_ == 0) own_host_ = engine_.shm_ ? engine_.shm_->host_token() : path::random_number();
  // A network that is opened for other jobs has a key that no other rank of ours knows.
  casts_ = casts_ || (engine_.net_ != nullptr && !opened_net_ && knobs_.lanes == "on");
  if (engine_.net_ != nullptr) return true;
  opened_net_ = true;
  if (!knobs_.path.empty() && !list_has(knobs_.path, "udp")) {
    why = "processes of other jobs are reached by UDP, and HERALD_PATH=" + knobs_.path +
          " excludes it: it must name udp, or be unset";
    return false;
  }
  NetOpener net(rank_, size_, knobs_, engine_.node_);
  NetStart start;
  start.key = {path::random_number(), path::random_number()};
  start.seed = path::random_number();
  start.local_ranks = static_cast<std::uint32_t>(size_);
  if (knobs_.secure != "tag" && (start.suite = own_suite(why)) == nullptr) return false;
  if (!net.open(why)) return false;
  for (int rank = 0; rank < size_; ++rank) net.set_host(rank, host_name());
  suite_ = start.suite;
  engine_.net_ = net.finish(start);
  engine_.transport_.open(*engine_.net_, std::vector<bool>(static_cast<std::size_t>(size_)));
  engine_.peers_.use(*engine_.net_);
  engine_.waiter_.open_sockets(*engine_.net_);
  if (!engine_.lock_.active()) {
    engine_.lock_.activate();
    engine_.call_lock_.enter();
    locked = true;
  }
  return Opener::start_keep_alive(engine_, why);
}

std::string ForeignPeers::card() const {
  const rel::MeshConfig& mesh = engine_.node_.mesh().config();
  std::ostringstream out;
  out << "foreign4 " << std::hex << job_ << std::dec << ' ' << rank_ << ' ' << security_of(knobs_, suite_)
      << ' ' << std::max(mesh.datagram_bytes, mesh.largest_bytes) << ' ' << mesh.eager_packets << ' '
      << std::hex << own_host_ << std::dec << ' ' << host_name() << ' ' << casts_ << ' ' << memory_.card()
      << ' ' << engine_.net_->udp_->card();
  return out.str();
}

std::vector<std::string> ForeignPeers::addresses() const { return engine_.net_->udp_->addresses(); }

ProcessName ForeignPeers::name_of(p2p::PeerId peer) const noexcept {
  const Peer* const foreign = find(peer);
  return foreign != nullptr ? foreign->name : ProcessName{job_, peer};
}

wire::JobKey ForeignPeers::key_of(p2p::PeerId peer) const noexcept {
  const Peer* const foreign = find(peer);
  return foreign != nullptr ? foreign->key : wire::JobKey{};
}

p2p::PeerId ForeignPeers::own_id_at(p2p::PeerId peer) const noexcept {
  const Peer* const foreign = find(peer);
  return foreign != nullptr ? foreign->own_id : rank_;
}

p2p::PeerId ForeignPeers::reserve(int count) noexcept {
  const auto first = size_ + static_cast<p2p::PeerId>(peers_.size());
  for (int i = 0; i < count; ++i) {
    const p2p::PeerId id = engine_.node_.core().peers().add();
    HERALD_ASSERT(id == first + i);
    peers_.push_back(std::make_unique<Peer>());
  }
  engine_.local_.grow(engine_.node_.core().peers().size());
  return first;
}

// The sockets of interfaces that no peer was reached by before are watched from now on.
bool ForeignPeers::add_remote(p2p::PeerId peer, const std::string& address, rel::PairIdentity pair,
                              const wire::SecretKey& secret, std::string& why) {
  Net& net = *engine_.net_;
  const std::size_t watched = net.udp_->descriptors().size();
  const int found = net.udp_->add_foreign(peer, address, pair.me == 1, why);
  net.watch_.resume();
  for (std::size_t i = watched; i < net.udp_->descriptors().size(); ++i)
    net.watch_.add(net.udp_->descriptors()[i], Net::kPeers);
  const auto links = static_cast<rel::LinkId>(std::clamp<int>(found, 0, rel::kMostLinks));
  if (links == 0) return false;
  const std::uint32_t sealed = knobs_.secure == "tag" ? 0 : wire::kSealedMost;
  pair.datagram_bytes = std::min(pair.datagram_bytes, net.udp_->payload_to(peer) - sealed);
  engine_.node_.add_peer(peer, links, &pair, secret);
  engine_.transport_.add_remote(peer);
  return true;
}

bool ForeignPeers::add(const Newcomer& newcomer, std::string& why) {
  Card card;
  if (!read_card(newcomer.card, card)) {
    why = "the address of a process of the other job cannot be read: both must load the same library";
    return false;
  }
  if (card.security != security_of(knobs_, suite_)) {
    why = "the jobs protect their packets differently (" + security_of(knobs_, suite_) + " here, " +
          card.security + " there): start both with the same HERALD_SECURE, on processors of the same kind";
    return false;
  }
  const ProcessName own{job_, rank_};
  const bool first = own < card.name;
  PairLabel label;
  const ProcessName &low = first ? own : card.name, &high = first ? card.name : own;
  label.first_job = low.job;
  label.second_job = high.job;
  label.first_rank = static_cast<std::uint32_t>(low.rank);
  label.second_rank = static_cast<std::uint32_t>(high.rank);
  Peer& peer = *find(newcomer.id);
  peer.name = card.name;
  peer.own_id = newcomer.own_id;
  peer.key = tag_key(newcomer.secret, label);
  engine_.net_->hosts_.set(newcomer.id, card.host_name);
  engine_.job_hosts_.set(newcomer.id, {card.name.job, card.host, card.casts});
  if (newcomer.shares_memory) {
    memory_.use(newcomer.id, newcomer.own_id);
  } else {
    rel::PairIdentity pair;
    pair.key = peer.key;
    pair.from = newcomer.own_id;
    pair.me = first ? 1 : 2;
    pair.to = first ? 2 : 1;
    pair.datagram_bytes = card.datagram_bytes;
    pair.eager_packets = card.eager_packets;
    const bool seals = knobs_.secure != "tag";
    const wire::SecretKey secret = seals ? suite_->derive(newcomer.secret, bytes_of(label)) : newcomer.secret;
    if (std::string detail; !add_remote(newcomer.id, card.address, pair, secret, detail)) {
      peer.own_id = -1;
      why = "rank " + std::to_string(rank_) + " on host " + host_name() +
            " has no way to a process on host " + card.host_name + ": " + detail;
      return false;
    }
  }
  p2p::RecvOp& op = peer.from_peer;
  op.context = kFarewellContext;
  op.tag = p2p::kAnyTag;
  op.source = op.awaited = newcomer.id;
  op.data = type::Cursor::bytes(nullptr, 0);
  op.owner = this;
  op.on_done = [](p2p::Op& done) { static_cast<ForeignPeers*>(done.owner)->arm(); };
  engine_.messages_.start(op);
  return true;
}

void ForeignPeers::arm() noexcept {
  if (!std::exchange(hooked_, true)) engine_.hooks_.add(advance, this);
}

void ForeignPeers::send_farewell(p2p::PeerId id, Peer& peer, std::int32_t tag) noexcept {
  p2p::SendOp& op = peer.farewell;
  op.context = kFarewellContext;
  op.tag = tag;
  op.to = id;
  op.source = peer.own_id;
  op.data = type::Cursor::bytes(nullptr, 0);
  peer.leaving = true;
  arm();
  engine_.messages_.start(op);
}

void ForeignPeers::retain(p2p::PeerId peer) noexcept {
  if (Peer* const foreign = find(peer)) ++foreign->users;
}

void ForeignPeers::release(p2p::PeerId peer) noexcept {
  Peer* const foreign = find(peer);
  if (foreign == nullptr || --foreign->users > 0 || foreign->own_id < 0) return;
  if (foreign->leaving || foreign->gone || engine_.transport_.is_closed()) return;
  if (engine_.peers_.is_gone(peer)) return forget(peer, *foreign);
  send_farewell(peer, *foreign, kFarewell);
}

bool ForeignPeers::is_connected(p2p::PeerId peer) const noexcept {
  const Peer* const foreign = find(peer);
  return foreign == nullptr ||
         (foreign->users > 0 && !foreign->gone && !foreign->said_goodbye && !foreign->from_peer.done);
}

void ForeignPeers::forget(p2p::PeerId id, Peer& peer) noexcept {
  if (std::exchange(peer.gone, true)) return;
  engine_.node_.on_peer_gone(id);
  memory_.forget(id);
}

// A farewell ends the connection at once; our own does when it is acknowledged. A goodbye only tells that the
// silence which follows is no failure.
bool ForeignPeers::advance(void* self) noexcept { return static_cast<ForeignPeers*>(self)->take_farewells(); }

bool ForeignPeers::take_farewells() noexcept {
  bool moved = false, busy = false;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = *peers_[i];
    if (peer.own_id < 0 || peer.gone) continue;
    const auto id = size_ + static_cast<p2p::PeerId>(i);
    if (!peer.said_goodbye && peer.from_peer.done) {
      peer.said_goodbye = true;
      engine_.node_.core().peers()[id].may_end = true;
      moved = true;
    }
    const bool ended = peer.said_goodbye && peer.from_peer.from_tag != kGoodbye;
    const bool left =
        peer.leaving && peer.users == 0 && peer.farewell.done && engine_.node_.mesh().is_flushed(id);
    if (ended || left) {
      forget(id, peer);
      moved = true;
    }
    busy = busy || (peer.leaving && !peer.gone);
  }
  if (!busy) {
    hooked_ = false;
    engine_.hooks_.remove(advance, this);
  }
  return moved;
}

void ForeignPeers::say_goodbye() noexcept {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = *peers_[i];
    if (peer.own_id >= 0 && !peer.gone && !peer.leaving)
      send_farewell(size_ + static_cast<p2p::PeerId>(i), peer, kGoodbye);
  }
}

bool ForeignPeers::has_left() noexcept {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = *peers_[i];
    if (peer.own_id >= 0 && !peer.gone && peer.users > 0 && !peer.said_goodbye &&
        !engine_.peers_.is_gone(size_ + static_cast<p2p::PeerId>(i)))
      return false;
  }
  return true;
}

bool ForeignPeers::is_flushed() const noexcept {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = *peers_[i];
    if (peer.own_id >= 0 && !peer.gone && peer.leaving && !peer.farewell.done) return false;
    if (peer.own_id >= 0 && !peer.gone &&
        !engine_.node_.mesh().is_flushed(size_ + static_cast<p2p::PeerId>(i)))
      return false;
  }
  return true;
}

void ForeignPeers::forget_all() noexcept {
  for (std::size_t i = 0; i < peers_.size(); ++i)
    if (peers_[i]->own_id >= 0) forget(size_ + static_cast<p2p::PeerId>(i), *peers_[i]);
  if (std::exchange(hooked_, false)) engine_.hooks_.remove(advance, this);
}

}  // namespace herald::engine
