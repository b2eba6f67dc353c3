// SPDX-License-Identifier: BSD-3-Clause
// engine/open_net.cpp: how the ranks of a job find each other across hosts: cards, keys, machines.
#include <cstdio>

#include "engine/keys.hpp"
#include "engine/machine.hpp"
#include "engine/net_open.hpp"
#include "engine/open.hpp"
#include "engine/self.hpp"
#include "model/sizes.hpp"
#include "path/random.hpp"

namespace herald::engine {
namespace {

// A card between hosts, behind what KeyExchange adds: host name, machine, and what the path says, one line
// each.
struct RemoteCard {
  std::string host, address;
  Machine machine;
};

bool read_remote_card(const std::string& text, RemoteCard& card) {
  const std::size_t first = text.find('\n');
  if (first == std::string::npos) return false;
  const std::size_t second = text.find('\n', first + 1);
  if (second == std::string::npos) return false;
  card.host = text.substr(0, first);
  card.address = text.substr(second + 1);
  return read_machine(text.substr(first + 1, second - first - 1), card.machine);
}

}  // namespace

bool Opener::open_net(std::string& why) {
  NetOpener net(rank_, size_, knobs_, engine_.node_);
  KeyExchange keys(boot_, knobs_, static_cast<std::uint32_t>(exchanges_));
  if (!net.open(why) || !keys.open(why)) return false;
  Cards cards(static_cast<std::size_t>(size_));
  const std::string own = host_name() + "\n" + write_machine(read_own_machine()) + "\n" + net.card();
  if (!exchange_cards(keys.wrap(own), cards, why)) return false;
  cards[static_cast<std::size_t>(rank_)] = own;
  NetStart start;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_ && !keys.unwrap(peer, cards[static_cast<std::size_t>(peer)], why)) return false;
  return keys.agree(start, why) && add_remote_peers(net, start, cards, why);
}

bool Opener::add_remote_peers(NetOpener& net, NetStart& start, const Cards& cards, std::string& why) {
  const Machine here = read_own_machine();
  start.epoch = static_cast<std::uint32_t>(generation_);
  start.seed = path::random_number();
  start.local_ranks = 0;
  for (int peer = 0; peer < size_; ++peer) {
    RemoteCard card;
    if (!read_remote_card(cards[static_cast<std::size_t>(peer)], card)) {
      why = "rank " + std::to_string(rank_) + " cannot read the address that rank " + std::to_string(peer) +
            " published: all ranks must load the same library";
      return false;
    }
    net.set_host(peer, card.host);
    if (shares_memory(peer)) {
      ++start.local_ranks;
      continue;
    }
    std::string detail;
    if (!net.add_peer(peer, card.address, detail)) {
      why = "rank " + std::to_string(rank_) + " on host " + host_name() + " has no way to rank " +
            std::to_string(peer) + " on host " + card.host + ": " + detail;
      return false;
    }
    remote_[static_cast<std::size_t>(peer)] = true;
    if (is_same_machine(here, card.machine)) co_located_[peer] = card.machine.cpus;
  }
  only_remote_ = start.local_ranks == 1;
  if (engine_.model_ != nullptr) use_sizes(start);
  engine_.foreign_.set_suite(start.suite);
  engine_.net_ = net.finish(start);
  engine_.transport_.open(*engine_.net_, remote_);
  engine_.lanes_.use(*engine_.net_);
  engine_.peers_.use(*engine_.net_);
  return true;
}

// Of the measured network, the same at all ranks.
void Opener::use_sizes(NetStart& start) {
  const model::Sizes sizes = model::sizes_between_hosts(engine_.model_->parameters);
  engine_.node_.core().sender().set_remote_more(sizes.push_bytes);
  start.window_bytes = sizes.window_bytes;
  if (rank_ == 0 && knobs_.verbose > 0)
    std::fprintf(stderr,
                 "herald: sizes by the measured model: push %u bytes, segments of %llu bytes, %u bytes under "
                 "way to a host%s\n",
                 sizes.push_bytes, static_cast<unsigned long long>(sizes.segment_bytes),
                 sizes.window_bytes != 0 ? sizes.window_bytes : knobs_.tuning.net_switch_bytes,
                 sizes.window_bytes != 0 ? "" : " (the buffer of the switch is not known)");
}

}  // namespace herald::engine
