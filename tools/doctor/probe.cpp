// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/probe.cpp: probes UDP between all hosts, over the sockets, address cards and links of a job.
// A probe names its sender and holds a random number of the receiver, so that packets of other senders and
// earlier runs are ignored. A reply is as long as its probe. Every leader probes each 100 ms, and replies;
// probes that measure loss leave as replies to earlier ones come (LossMeter).
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>

#include "doctor/doctor.hpp"
#include "doctor/loss.hpp"
#include "doctor/multicast.hpp"
#include "path/udp/udp.hpp"

namespace herald::tools::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kDuration = milliseconds(1500);  // at least
constexpr auto kLossDuration =
    milliseconds(1000 * kMostProbeSeconds);  // at most, until all probes of loss have left
constexpr auto kSettle = milliseconds(100);  // for datagrams on their way when all hosts have stopped
constexpr auto kInterval = milliseconds(100);
constexpr std::size_t kSmall = 64, kLossBytes = 512;
constexpr std::uint8_t kSmallProbe = 0, kFullProbe = 1, kLossProbe = 2;
constexpr int kFullProbes = 3;  // without a reply: then a search for the largest datagram that passes

struct Probe {
  char magic[8];
  std::uint64_t secret;  // the receiver's
  std::int32_t from;
  std::uint8_t link, reply, kind, pad;
  std::uint32_t number;  // of a probe that measures loss
  std::int64_t sent_ns;  // clock of the sender
  std::int64_t wall_ns;  // clock of the replying host
};
constexpr char kProbeMagic[8] = {'h', 'e', 'r', 'd', 'o', 'c', '0', '1'};
static_assert(sizeof(Probe) <= kSmall);

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Behind the head a datagram has these bytes: the checksum of UDP does not find every change.
std::byte filler(std::size_t at) { return static_cast<std::byte>(at * 7 + 1); }

bool is_intact(std::span<const std::byte> datagram) {
  for (std::size_t i = sizeof(Probe); i < datagram.size(); ++i)
    if (datagram[i] != filler(i)) return false;
  return true;
}

// One link to one peer.
struct LinkProbe {
  int peer = 0;
  std::uint8_t index = 0;
  bool small = false, full = false;              // a reply came
  int rounds = 0;                                // of probes of full size without a reply
  std::size_t passes = 0, fails = 0, tried = 0;  // sizes, while the search lasts; `passes` stays
  double rtt_us = 0;                             // minimum
  double offset_us = 0;  // of the peer's wall clock, from the probe with that round trip
};

}  // namespace

struct Prober::Inner {
  int rank = 0;
  std::unique_ptr<path::UdpPath> path;
  std::string problem;
  std::uint64_t secret = 0;
  std::vector<HostLeader> leaders;
  std::vector<LinkProbe> links;
  std::map<int, std::string> unreachable;  // peers without a link, and why
  std::vector<std::byte> bytes;
  LossMeter loss;
  std::int64_t damaged = 0;  // datagrams

  std::uint64_t secret_of(int peer) const {
    for (const HostLeader& each : leaders)
      if (each.rank == peer) return each.secret;
    return 0;
  }

  void send(int peer, std::uint8_t link, Probe probe, std::size_t size) {
    std::memcpy(bytes.data(), &probe, sizeof probe);
    const path::UdpSend one{peer, link, {bytes.data(), size}};
    std::ptrdiff_t failed = -1;
    (void)path->send(std::span(&one, 1), failed);
  }

  void add_links() {
    for (const HostLeader& each : leaders) {
      if (each.rank == rank || !path) continue;
      std::string why = "it has no socket";
      const int count = each.card.empty() ? 0 : path->add_peer(each.rank, each.card, why);
      if (count == 0) unreachable[each.rank] = why;
      for (int i = 0; i < count; ++i) {
        LinkProbe link;
        link.peer = each.rank;
        link.index = static_cast<std::uint8_t>(i);
        links.push_back(link);
      }
    }
    bytes.resize(65536);  // a reply is as long as the probe
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = filler(i);
    std::vector<int> peers;
    for (const LinkProbe& link : links)
      if (peers.empty() || peers.back() != link.peer) peers.push_back(link.peer);
    loss = LossMeter(peers);
  }

  Probe make_probe(const LinkProbe& link, std::uint8_t kind, std::uint32_t number) const {
    Probe probe{{}, secret_of(link.peer), rank, link.index, 0, kind, 0, number, monotonic_ns(), 0};
    std::memcpy(probe.magic, kProbeMagic, sizeof kProbeMagic);
    return probe;
  }

  // Links of a peer take turns; a link without a reply gets none.
  void send_loss_probes() {
    for (const LinkProbe& link : links) {
      if (!link.small) continue;
      if (const auto number = loss.next_probe(link.peer, monotonic_ns()))
        send(link.peer, link.index, make_probe(link, kLossProbe, *number), kLossBytes);
    }
  }

  void send_probe(const LinkProbe& link, std::uint8_t kind, std::size_t length) {
    send(link.peer, link.index, make_probe(link, kind, 0), length);
  }

  void send_probes() {
    for (LinkProbe& link : links) {
      send_probe(link, kSmallProbe, kSmall);
      if (link.full) continue;  // small ones continue: the first round trips take longer
      if (!link.small || link.rounds++ < kFullProbes)
        send_probe(link, kFullProbe, path->datagram_bytes());
      else
        search(link);
    }
  }

  // Halves the range of sizes in each round; two probes, because one may be lost.
  void search(LinkProbe& link) {
    if (link.fails == 0) link.passes = kSmall, link.fails = path->datagram_bytes();
    if (link.tried > link.passes) link.fails = link.tried;  // no reply came
    if (link.fails - link.passes < 2) return;
    link.tried = (link.passes + link.fails) / 2;
    for (int i = 0; i < 2; ++i) send_probe(link, kFullProbe, link.tried);
  }

  void on_reply(const Probe& probe, std::size_t size) {
    if (probe.kind == kLossProbe) return loss.on_reply(probe.from, probe.number);
    for (LinkProbe& link : links) {
      if (link.peer != probe.from || link.index != probe.link) continue;
      if (probe.kind == kFullProbe) {
        link.full = link.full || size == path->datagram_bytes();
        if (link.fails != 0) link.passes = std::max(link.passes, size);
        return;
      }
      const std::int64_t now = monotonic_ns();
      const double rtt = static_cast<double>(now - probe.sent_ns) / 1e3;
      if (!link.small || rtt < link.rtt_us) {
        link.rtt_us = rtt;
        link.offset_us = static_cast<double>(probe.wall_ns - wall_ns()) / 1e3 + rtt / 2;
      }
      link.small = true;
      return;
    }
  }

  void receive() {
    const auto came = path->receive();
    // Copies first: send() reuses the memory of receive().
    std::vector<std::pair<Probe, std::size_t>> probes;
    for (const path::UdpArrival& each : came) {
      Probe probe;
      if (each.bytes.size() < kSmall || each.from < 0) continue;
      std::memcpy(&probe, each.bytes.data(), sizeof probe);
      if (std::memcmp(probe.magic, kProbeMagic, sizeof kProbeMagic) != 0 || probe.secret != secret ||
          probe.from != each.from)
        continue;
      probe.link = each.link;
      if (!is_intact(each.bytes)) ++damaged;
      probes.emplace_back(probe, each.bytes.size());
    }
    for (auto& [probe, size] : probes) {
      if (probe.reply != 0) {
        on_reply(probe, size);
        continue;
      }
      const int to = probe.from;
      if (probe.kind == kLossProbe) loss.on_probe(to);
      if (!loss.replies()) continue;
      probe.reply = 1;
      probe.secret = secret_of(to);
      probe.from = rank;
      probe.wall_ns = wall_ns();
      send(to, probe.link, probe, std::min(size, bytes.size()));
    }
  }

  json results() const {
    json reach = json::array();
    for (const LinkProbe& link : links) {
      json entry = {
          {"from", rank},        {"to", link.peer},   {"link", path->link_name(link.peer, link.index)},
          {"small", link.small}, {"full", link.full}, {"full_bytes", path->datagram_bytes()}};
      if (link.small && !link.full) entry["passes_bytes"] = link.passes;
      if (link.small) entry["rtt_us"] = link.rtt_us, entry["offset_us"] = link.offset_us;
      reach.push_back(entry);
    }
    for (const auto& [peer, why] : unreachable)
      reach.push_back(
          {{"from", rank}, {"to", peer}, {"link", ""}, {"why", why}, {"small", false}, {"full", false}});
    return reach;
  }
};

Prober::Prober(const Knobs& knobs, int rank, int size) : inner_(std::make_unique<Inner>()) {
  inner_->rank = rank;
  std::random_device random;
  inner_->secret = std::uint64_t{random()} << 32 | random();
  path::UdpConfig config;
  config.rank = rank;
  config.size = size;
  config.interfaces = knobs.if_;
  config.networks = knobs.net;
  config.socket_bytes = static_cast<std::uint32_t>(knobs.net_socket_bytes);
  if (!path::read_ports(knobs.ports, config.ports)) inner_->problem = "HERALD_PORTS=" + knobs.ports;
  config.segment = false;  // each probe is one datagram
  inner_->path = path::UdpPath::open(config, inner_->problem);
}

Prober::~Prober() = default;

std::string Prober::card() const { return inner_->path ? inner_->path->card() : std::string(); }
const std::string& Prober::problem() const { return inner_->problem; }
std::uint64_t Prober::secret() const { return inner_->secret; }

json Prober::run(const std::vector<HostLeader>& leaders, const std::function<void()>& all_have_stopped) {
  Inner& inner = *inner_;
  inner.leaders = leaders;
  inner.add_links();
  Multicast multicast(inner.rank, leaders);
  std::vector<pollfd> waits;
  if (inner.path)
    for (const int fd : inner.path->descriptors()) waits.push_back({fd, POLLIN, 0});
  waits.push_back({multicast.fd(), POLLIN, 0});
  const auto start = Clock::now();
  auto next = start, next_cast = start;
  for (;;) {
    const auto now = Clock::now();
    if (now - start >= kLossDuration ||
        (now - start >= kDuration && inner.loss.is_complete() && multicast.is_complete()))
      break;
    if (now >= next) {
      if (inner.path) inner.send_probes();
      next += kInterval;
    }
    if (now >= next_cast) {
      multicast.send_probes();
      next_cast = now + milliseconds(1);
    }
    if (inner.path) inner.send_loss_probes();
    (void)::poll(waits.data(), waits.size(), 1);
    if (inner.path) inner.receive();
    multicast.receive_probes();
  }
  // Nobody sends any more: what has not come then is lost. A host that was not scheduled has lost nothing.
  inner.loss.stop_replies();
  all_have_stopped();
  const auto settled = Clock::now() + kSettle;
  for (bool more = true; more || Clock::now() < settled;) {
    more = ::poll(waits.data(), waits.size(), 1) > 0;
    if (inner.path) inner.receive();
    multicast.receive_probes();
  }
  return {{"reach", inner.results()},
          {"heard", multicast.results()},
          {"datagrams", inner.loss.results()},
          {"damaged", inner.damaged}};
}

}  // namespace herald::tools::doctor
