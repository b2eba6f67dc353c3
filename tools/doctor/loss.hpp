// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/loss.hpp: measures lost datagrams between hosts, and says at which host and in which
// direction. Pure.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "doctor/doctor.hpp"

namespace herald::tools::doctor {

// Counts probes and replies between this host and its peers. Few probes are outstanding at a time, so that a
// receiver that is not scheduled for a while loses nothing by itself.
class LossMeter {
 public:
  LossMeter() = default;
  explicit LossMeter(const std::vector<int>& peers);

  // The number of the next probe to `peer`; nothing: enough are outstanding, or all were sent.
  std::optional<std::uint32_t> next_probe(int peer, std::int64_t now_ns);
  void on_probe(int peer);  // a probe of the peer came, and a reply leaves
  void on_reply(int peer, std::uint32_t number);
  bool is_complete() const;
  void stop_replies() { replies_ = false; }
  bool replies() const { return replies_; }
  // [{"to": peer, "sent": n, "received": m}]: datagrams to the peer, and from it.
  json results() const;

 private:
  struct Peer {
    std::uint32_t sent = 0;  // probes
    std::uint64_t out = 0, in = 0;
    std::deque<std::pair<std::uint32_t, std::int64_t>> outstanding;  // number, time
  };
  std::map<int, Peer> peers_;
  std::uint32_t most_ = 0;
  std::size_t window_ = 1;
  bool replies_ = true;
};

// Datagrams of an ordered pair of hosts.
struct PairLoss {
  std::string from, to;
  std::int64_t sent = 0, lost = 0;
};

// A host that loses datagrams that it receives, or that it sends.
struct LossPlace {
  std::string host;
  bool receives = true;
  std::set<std::string> peers;
  std::int64_t sent = 0, lost = 0;
};

// From 0.1 % on. Pairs that share a host are one place: the one that explains the largest share of loss is
// first.
std::vector<LossPlace> find_loss(std::vector<PairLoss> pairs);
// "0.12 %"
std::string percent_text(std::int64_t lost, std::int64_t sent);

}  // namespace herald::tools::doctor
