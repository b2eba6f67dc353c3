// SPDX-License-Identifier: BSD-3-Clause
// engine/open_net.cpp: how the ranks of a job find each other across hosts: cards, keys, machines.
#include <cstdio>
#include <cstdlib>

#include "engine/machine.hpp"
#include "engine/net_open.hpp"
#include "engine/open.hpp"
#include "engine/self.hpp"
#include "path/random.hpp"

namespace herald::engine {
namespace {

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
  return read_key(text, key) ? text : write_key({path::random_number(), path::random_number()});
}

// A card between hosts: key, host name, machine, and what the path says, one line each. Only rank 0's key
// counts.
struct RemoteCard {
  std::string key, host, address;
  Machine machine;
};

bool read_remote_card(const std::string& text, RemoteCard& card) {
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

bool Opener::open_net(std::string& why) {
  NetOpener net(rank_, size_, knobs_, engine_.node_);
  if (!net.open(why)) return false;
  Cards cards(static_cast<std::size_t>(size_));
  const std::string own =
      own_key() + "\n" + host_name() + "\n" + write_machine(read_own_machine()) + "\n" + net.card();
  if (!exchange_cards(own, cards, why)) return false;
  cards[static_cast<std::size_t>(rank_)] = own;
  return add_remote_peers(net, cards, why);
}

bool Opener::add_remote_peers(NetOpener& net, const Cards& cards, std::string& why) {
  const Machine here = read_own_machine();
  NetStart start;
  start.epoch = static_cast<std::uint32_t>(generation_);
  start.seed = path::random_number();
  start.local_ranks = 0;
  for (int peer = 0; peer < size_; ++peer) {
    RemoteCard card;
    const bool good = read_remote_card(cards[static_cast<std::size_t>(peer)], card) &&
                      (peer != 0 || read_key(card.key, start.key));
    if (!good) {
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
  engine_.net_ = net.finish(start);
  engine_.transport_.open(*engine_.net_, remote_);
  engine_.lanes_.use(*engine_.net_);
  engine_.peers_.use(*engine_.net_);
  return true;
}

}  // namespace herald::engine
