// SPDX-License-Identifier: BSD-3-Clause
// tools/doctor/probe.cpp: who reaches whom. Uses the same sockets, cards and links as a job does.
// A probe names its sender and holds the receiver's secret, so that strangers and earlier runs are not heard;
// the answer is as long as the probe. All speakers probe every 100 ms, and answer.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>

#include "doctor/doctor.hpp"
#include "doctor/multicast.hpp"
#include "path/udp/udp.hpp"

namespace herald::tools::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto kWhole = milliseconds(1500);
constexpr auto kAgain = milliseconds(100);
constexpr std::size_t kSmall = 64;

struct Probe {
  char magic[8];
  std::uint64_t secret;  // the receiver's
  std::int32_t from;
  std::uint8_t link, answer, full, pad;
  std::int64_t sent_ns;  // by the clock of who probes
  std::int64_t wall_ns;  // of who answers
};
constexpr char kMagic[8] = {'h', 'e', 'r', 'd', 'o', 'c', '0', '1'};
static_assert(sizeof(Probe) <= kSmall);

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// One link to one peer.
struct Way {
  int peer = 0;
  std::uint8_t link = 0;
  bool small = false, full = false;  // answered
  double rtt_us = 0;                 // the shortest
  double offset_us = 0;              // of the peer's wall clock, by that one
};

}  // namespace

struct Prober::Inner {
  int rank = 0;
  std::unique_ptr<path::UdpPath> path;
  std::string problem;
  std::uint64_t secret = 0;
  std::vector<Speaker> speakers;
  std::vector<Way> ways;
  std::map<int, std::string> unreachable;  // peers without a link, and why
  std::vector<std::byte> bytes;

  std::uint64_t secret_of(int peer) const {
    for (const Speaker& each : speakers)
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
    for (const Speaker& each : speakers) {
      if (each.rank == rank || !path) continue;
      std::string why = "it has no socket";
      const int links = each.card.empty() ? 0 : path->add_peer(each.rank, each.card, why);
      if (links == 0) unreachable[each.rank] = why;
      for (int link = 0; link < links; ++link) {
        Way way;
        way.peer = each.rank;
        way.link = static_cast<std::uint8_t>(link);
        ways.push_back(way);
      }
    }
    bytes.resize(65536);  // an answer is as long as the probe, whatever we would send
  }

  void ask() {
    for (const Way& way : ways)
      for (const bool full : {false, true}) {
        if (full && way.full) continue;  // short ones go on: the first round trips take longer
        Probe probe{{}, secret_of(way.peer), rank, way.link, 0, full, 0, monotonic_ns(), 0};
        std::memcpy(probe.magic, kMagic, sizeof kMagic);
        send(way.peer, way.link, probe, full ? path->datagram_bytes() : kSmall);
      }
  }

  void on_answer(const Probe& probe, std::uint8_t link, std::size_t size) {
    for (Way& way : ways) {
      if (way.peer != probe.from || way.link != link) continue;
      if (probe.full != 0) {
        way.full = size == path->datagram_bytes();
        return;
      }
      const std::int64_t now = monotonic_ns();
      const double rtt = static_cast<double>(now - probe.sent_ns) / 1e3;
      if (!way.small || rtt < way.rtt_us) {
        way.rtt_us = rtt;
        way.offset_us = static_cast<double>(probe.wall_ns - wall_ns()) / 1e3 + rtt / 2;
      }
      way.small = true;
      return;
    }
  }

  void listen() {
    const auto came = path->receive();
    // Copies first: answering uses the path.
    std::vector<std::pair<Probe, std::size_t>> probes;
    for (const path::UdpArrival& each : came) {
      Probe probe;
      if (each.bytes.size() < kSmall || each.from < 0) continue;
      std::memcpy(&probe, each.bytes.data(), sizeof probe);
      if (std::memcmp(probe.magic, kMagic, sizeof kMagic) != 0 || probe.secret != secret ||
          probe.from != each.from)
        continue;
      probe.link = each.link;
      probes.emplace_back(probe, each.bytes.size());
    }
    for (auto& [probe, size] : probes) {
      if (probe.answer != 0) {
        on_answer(probe, probe.link, size);
        continue;
      }
      const int to = probe.from;
      probe.answer = 1;
      probe.secret = secret_of(to);
      probe.from = rank;
      probe.wall_ns = wall_ns();
      send(to, probe.link, probe, std::min(size, bytes.size()));
    }
  }

  json results() const {
    json reach = json::array();
    for (const Way& way : ways) {
      json entry = {{"from", rank},       {"to", way.peer},   {"link", path->link_name(way.peer, way.link)},
                    {"small", way.small}, {"full", way.full}, {"full_bytes", path->datagram_bytes()}};
      if (way.small) entry["rtt_us"] = way.rtt_us, entry["offset_us"] = way.offset_us;
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
  std::random_device chance;
  inner_->secret = std::uint64_t{chance()} << 32 | chance();
  path::UdpConfig config;
  config.rank = rank;
  config.size = size;
  config.interfaces = knobs.if_;
  config.networks = knobs.net;
  config.socket_bytes = static_cast<std::uint32_t>(knobs.net_socket_bytes);
  config.segment = false;  // each probe is a datagram of its own
  inner_->path = path::UdpPath::open(config, inner_->problem);
}

Prober::~Prober() = default;

std::string Prober::card() const { return inner_->path ? inner_->path->card() : std::string(); }
const std::string& Prober::problem() const { return inner_->problem; }
std::uint64_t Prober::secret() const { return inner_->secret; }

json Prober::run(const std::vector<Speaker>& speakers) {
  Inner& inner = *inner_;
  inner.speakers = speakers;
  inner.add_links();
  Multicast multicast(inner.rank, speakers);
  std::vector<pollfd> waits;
  if (inner.path)
    for (const int fd : inner.path->descriptors()) waits.push_back({fd, POLLIN, 0});
  waits.push_back({multicast.fd(), POLLIN, 0});
  const auto start = Clock::now();
  auto next = start;
  while (Clock::now() - start < kWhole) {
    if (Clock::now() >= next) {
      if (inner.path) inner.ask();
      multicast.call();
      next += kAgain;
    }
    (void)::poll(waits.data(), waits.size(), 5);
    if (inner.path) inner.listen();
    multicast.listen();
  }
  return {{"reach", inner.results()}, {"heard", multicast.heard()}};
}

}  // namespace herald::tools::doctor
