// SPDX-License-Identifier: BSD-3-Clause
// sim/job/lane_scenario.cpp: from a seed to a setup whose job calls collectives over lanes. All choices come
// from one source, in one order: changing them changes what every seed means.
#include <algorithm>
#include <array>

#include "sim/job/lane_script.hpp"
#include "sim/job/pattern.hpp"
#include "sim/job/scenario.hpp"
#include "sim/job/setup_maker.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr std::array kTroubles{
    NamedLane{LaneTrouble::none, "lane-none", "collectives over lanes, and nothing goes wrong"},
    NamedLane{LaneTrouble::loss, "lane-loss", "each receiver loses up to 10 % for itself"},
    NamedLane{LaneTrouble::common, "lane-common", "all receivers lose the same packets"},
    NamedLane{LaneTrouble::burst, "lane-burst", "packets are lost in rows"},
    NamedLane{LaneTrouble::reorder, "lane-reorder", "packets overtake each other"},
    NamedLane{LaneTrouble::duplicate, "lane-duplicate", "packets come twice, or again seconds later"},
    NamedLane{LaneTrouble::spoil, "lane-spoil", "wrong bits, cut ends, strangers"},
    NamedLane{LaneTrouble::storm, "lane-storm", "all of that, a little"},
    NamedLane{LaneTrouble::late, "lane-late", "members that come late by up to seconds"},
    NamedLane{LaneTrouble::mute, "lane-mute", "a switch that forwards no multicast, for good or for a while"},
    NamedLane{LaneTrouble::deaf, "lane-deaf", "a switch that forwards it to some hosts only"},
    NamedLane{LaneTrouble::thin, "lane-thin", "a switch that loses 30 % of it"},
    NamedLane{LaneTrouble::flap, "lane-flap", "multicast stops in the middle, and comes back"},
    NamedLane{LaneTrouble::death, "lane-death", "a member dies"},
    NamedLane{LaneTrouble::pause, "lane-pause", "hosts that stop for a while"},
    NamedLane{LaneTrouble::slow, "lane-slow", "processes that compute long and look seldom"},
    NamedLane{LaneTrouble::refusal, "lane-refusal", "packets that are not taken at once"},
    NamedLane{LaneTrouble::small, "lane-small", "little room: ports, sockets, logs, windows"},
    NamedLane{LaneTrouble::crowd, "lane-crowd", "many members, acknowledged by a tree"},
    NamedLane{LaneTrouble::deal, "lane-deal", "calls from one to several, whose parts travel together"},
    NamedLane{LaneTrouble::stolen, "lane-stolen",
              "processors that hosts share are taken away, again and again"},
    NamedLane{LaneTrouble::cable, "lane-cable", "the only cable of a host is out and in again, six times"},
    NamedLane{LaneTrouble::link, "lane-link", "one of several links dies, or is out and in again"},
    NamedLane{LaneTrouble::replay_death, "lane-replay-death",
              "a member dies, and its packets are delivered again for seconds"},
    NamedLane{LaneTrouble::mtu, "lane-mtu", "a port drops long datagrams, and nothing says so"},
    NamedLane{LaneTrouble::flaps, "lane-flaps",
              "a cable is out for 0.1 to 2 s, again and again; the job works all the time"},
};
constexpr auto kMixed = static_cast<std::size_t>(LaneTrouble::stolen);  // the first so many

constexpr std::array kWays{
    NamedWay{LaneWay::simple, "lane-simple", "Simple Broadcast of paper 000, under one of these troubles"},
    NamedWay{LaneWay::push_pull, "lane-push-pull", "Push-Pull Broadcast of paper 000, likewise"},
    NamedWay{LaneWay::moves, "lane-moves", "strangers use the addresses: lanes move, share, follow late"},
    NamedWay{LaneWay::parts, "lane-parts", "lanes of some members of another, made by one who calls them"},
    NamedWay{LaneWay::rare, "lane-rare",
             "alltoallw, reduce_scatter, scan and exscan, which the others leave out"},
    NamedWay{LaneWay::fused_count, "lane-fused",
             "many short calls in which all report to one, which tells all"},
};

class Maker : SetupMaker {
 public:
  Maker(LaneTrouble trouble, LaneWay way, std::uint64_t seed, Setup& setup)
      : SetupMaker(seed, 777 + static_cast<std::uint64_t>(trouble) + 1000 * static_cast<std::uint64_t>(way),
                   setup),
        trouble_(trouble),
        way_(way) {}
  void make();

 private:
  bool is(LaneTrouble which) const { return trouble_ == which; }
  bool goes_back() const { return way_ == LaneWay::simple || way_ == LaneWay::push_pull; }
  void network();
  void faults();
  void machines();
  void program();
  void happenings();
  void deaf_ports();
  void addresses();
  void strangers();
  void limit();

  const LaneTrouble trouble_;
  const LaneWay way_;
  double line_ = 0;  // seconds, if each packet goes to each member singly
  double computing_ = 0;
  double packets_ = 0;  // if each member casts its share of each collective
};

void Maker::network() {
  NetConfig& net = setup_.net;
  net.seed = chance_.next();
  net.hosts = static_cast<std::int32_t>(between(chance_, 2, chance_.below(3) == 0 ? 20 : 8));
  if (is(LaneTrouble::crowd))
    net.hosts = static_cast<std::int32_t>(between(chance_, 18, chance_.below(6) == 0 ? 256 : 48));
  if (is(LaneTrouble::link)) net.links = static_cast<std::uint8_t>(between(chance_, 2, 3));
  setup_.process.interfaces = net.links;
  net.shape.bits_per_second = one_of<std::uint64_t>({100'000'000, 1'000'000'000, 10'000'000'000});
  net.shape.delay = microseconds(chance_.below(8) == 0 ? between(chance_, 50, 500) : between(chance_, 1, 20));
  net.shape.port_bytes = one_of<std::uint32_t>({256'000, 512'000, 2'000'000});
  net.wake = microseconds(between(chance_, 0, 30));
  net.wake_jitter = microseconds(between(chance_, 0, 60));
}

void Maker::machines() {
  NetConfig& net = setup_.net;
  rel::MeshConfig& mesh = setup_.process.mesh;
  rel::LanesConfig& lanes = setup_.process.lanes;
  key_and_size();
  if (way_ == LaneWay::moves || way_ == LaneWay::parts) addresses();
  mesh.give_up = milliseconds(5000);
  if (way_ == LaneWay::simple) lanes.mode = rel::LaneMode::simple;
  if (way_ == LaneWay::push_pull) lanes.mode = rel::LaneMode::push_pull;
  lanes.flat_members = one_of<std::uint32_t>({16, 16, 4});
  lanes.window_packets = one_of<std::uint32_t>({128, 128, 32, 512});
  if (is(LaneTrouble::small)) {
    lanes.log_bytes = one_of<std::uint32_t>({64 << 10, 256 << 10});
    lanes.kept_bytes = one_of<std::uint32_t>({64 << 10, 256 << 10});
    lanes.window_packets = one_of<std::uint32_t>({4, 16, 128});
    net.shape.port_bytes = one_of<std::uint32_t>({32'000, 64'000, 256'000});
    net.socket_bytes = one_of<std::uint32_t>({64'000, 212'992, 4 << 20});
    setup_.process.core.cast_unexpected = one_of<std::uint32_t>({4096, 1 << 16});
  }
  setup_.process.keep_alive = milliseconds(one_of<std::int64_t>({0, 1, 10, 100}));
  if (is(LaneTrouble::refusal)) setup_.process.tap.refuses = one_of({0.02, 0.2});
}

void Maker::faults() {
  Faults& faults = setup_.net.faults;
  switch (trouble_) {
    case LaneTrouble::loss: faults.loss = one_of({0.001, 0.01, 0.05, 0.1}); break;
    case LaneTrouble::common: faults.common_loss = one_of({0.01, 0.05, 0.1}); break;
    case LaneTrouble::thin: faults.multicast_loss = 0.3; break;
    case LaneTrouble::burst: burst(); break;
    case LaneTrouble::deal:
      faults.loss = one_of({0.0, 0.01, 0.1});
      faults.reorder = one_of({0.0, 0.0, 0.1});
      faults.multicast_loss = one_of({0.0, 0.0, 0.3});
      break;
    case LaneTrouble::reorder: faults.reorder = one_of({0.01, 0.1, 0.5}); break;
    case LaneTrouble::duplicate:
      faults.duplicate = one_of({0.01, 0.1, 0.5});
      faults.replay = one_of({0.0, 0.05});
      break;
    case LaneTrouble::spoil: spoil(); break;
    case LaneTrouble::storm: storm(); break;
    case LaneTrouble::replay_death: replays(); break;
    default: some_loss(); break;
  }
  end_faults();
}

void Maker::program() {
  LaneLimits limits;
  limits.processes = setup_.net.hosts;
  limits.lanes = static_cast<std::uint32_t>(between(chance_, 1, 3));
  limits.collectives = static_cast<std::uint32_t>(between(chance_, 3, chance_.below(3) == 0 ? 40 : 12));
  limits.total_bytes = std::uint64_t{1} << between(chance_, 16, 23);
  limits.largest = std::uint64_t{1} << between(chance_, 12, chance_.below(4) == 0 ? 20 : 18);
  if (is(LaneTrouble::crowd)) limits.collectives = std::min(limits.collectives, 6u);
  if (is(LaneTrouble::flaps)) limits.collectives = static_cast<std::uint32_t>(between(chance_, 200, 400));
  limits.under_way = one_of<std::uint32_t>({1, 3, 6});
  if (is(LaneTrouble::late)) limits.latest = milliseconds(one_of<std::int64_t>({20, 1000, 4000}));
  limits.closes = !is(LaneTrouble::death) && !is(LaneTrouble::replay_death);
  limits.computes = is(LaneTrouble::slow) || is(LaneTrouble::late) || is(LaneTrouble::cable);
  limits.longest_pause =
      is(LaneTrouble::cable) || is(LaneTrouble::link) ? milliseconds(between(chance_, 100, 300))
      : is(LaneTrouble::flaps)                        ? milliseconds(between(chance_, 20, 60))
      : is(LaneTrouble::slow) ? milliseconds(between(chance_, 5, chance_.below(4) == 0 ? 400 : 50))
                              : microseconds(between(chance_, 0, 2000));
  limits.deals = is(LaneTrouble::deal);
  limits.parts = way_ == LaneWay::parts;
  if (limits.deals && chance_.below(4) == 0) {
    limits.latest = milliseconds(one_of<std::int64_t>({20, 1000}));
    limits.computes = true;
  }
  limits.rare = way_ == LaneWay::rare;
  limits.fused_count = way_ == LaneWay::fused_count;
  if (limits.fused_count) {
    limits.collectives *= 4;
    limits.under_way = one_of<std::uint32_t>({1, 4, 12, 24});
  }
  limits.deals = (limits.deals && !limits.fused_count) || limits.parts || limits.rare;
  setup_.script = write_lane_script(limits, chance_);
  for (const auto& steps : setup_.script.steps)
    for (const Step& step : steps) computing_ += static_cast<double>(step.time.ns) / 1e9;
  double bytes = 0;
  for (const CollSpec& each : setup_.script.collectives) {
    const auto members = static_cast<double>(setup_.script.lanes[each.lane].members.size());
    bytes += (4 * static_cast<double>(each.count) + 200) * members * members;
  }
  packets_ = bytes / (setup_.process.mesh.datagram_bytes - 100);
  line_ = bytes * 8 / static_cast<double>(setup_.net.shape.bits_per_second);
  const double fast = line_ / setup_.net.hosts;
  likely_ = Duration{static_cast<std::int64_t>((fast + computing_ / setup_.net.hosts) * 1e9) + 500'000};
}

void Maker::deaf_ports() {
  const Instant begin = chance_.below(2) == 0 ? Instant{} : some_time();
  const bool heals = chance_.below(2) == 0;
  const Instant end = begin + milliseconds(between(chance_, 1, 1000));
  for (HostId host = 0; host < setup_.net.hosts; ++host) {
    if (chance_.below(2) == 0) continue;
    const std::string name = "the port of host " + std::to_string(host);
    plan(begin, name + " drops multicast",
         [host](Net& net) { net.fabric().set_multicast_to(host, 0, false); });
    if (heals)
      plan(end, name + " forwards multicast",
           [host](Net& net) { net.fabric().set_multicast_to(host, 0, true); });
  }
}

// Few addresses, so that lanes meet on them; hosts that can join few.
void Maker::addresses() {
  LaneAddresses& own = setup_.process.addresses;
  own.used = true;
  own.pool.key = setup_.process.mesh.seal.key;
  own.pool.first = 0xefc00000;
  own.pool.bits = one_of<std::uint32_t>({20, 20, 29});
  own.most_groups = one_of<std::uint32_t>({64, 64, 3, 2, 1});
  own.poor = chance_.below(2) == 0 ? -1 : some_host();
  setup_.after = milliseconds(7000);  // receivers keep late datagrams of foreign lanes for a while
}

// Somebody else sends to the address of a lane, or to one that it may move to.
void Maker::strangers() {
  for (std::uint64_t n = chance_.below(4); n != 0; --n) {
    const LaneSpec& lane = setup_.script.lanes[chance_.below(setup_.script.lanes.size())];
    const auto move = static_cast<std::uint8_t>(one_of({0, 0, 0, 1, 2, 3}));
    const GroupId group = group_number(group::address_of(setup_.process.addresses.pool, lane.name, move));
    std::vector<std::byte> bytes(between(chance_, 1, 200));
    for (std::byte& each : bytes) each = static_cast<std::byte>(chance_.next());
    if (bytes.size() > 1 && chance_.below(2) == 0)  // another job of ours
      bytes[1] = static_cast<std::byte>(wire::DatagramKind::cast);
    const auto count = between(chance_, 20, 200);
    plan(some_time(), "a stranger sends to group " + std::to_string(group), [=](Net& net) {
      for (std::int64_t i = 0; i < count; ++i) net.fabric().send_foreign(0, group, bytes);
    });
  }
}

void Maker::happenings() {
  if (setup_.process.addresses.used) strangers();
  switch (trouble_) {
    case LaneTrouble::mute:
      plan({}, "the switch drops multicast", [](Net& net) { net.fabric().set_multicast(0, false); });
      if (chance_.below(2) == 0)
        plan(some_time(), "the switch forwards multicast",
             [](Net& net) { net.fabric().set_multicast(0, true); });
      break;
    case LaneTrouble::deaf: deaf_ports(); break;
    case LaneTrouble::flap: {
      Instant at = some_time();
      for (std::uint64_t n = chance_.below(4) + 1; n != 0; --n) {
        plan(at, "the switch drops multicast", [](Net& net) { net.fabric().set_multicast(0, false); });
        if (n == 1 && chance_.below(2) == 0) break;
        at = at + microseconds(between(chance_, 50, chance_.below(2) == 0 ? 2000 : 200'000));
        plan(at, "the switch forwards multicast", [](Net& net) { net.fabric().set_multicast(0, true); });
        at = at + microseconds(between(chance_, 50, chance_.below(2) == 0 ? 2000 : 200'000));
      }
      break;
    }
    case LaneTrouble::pause: pauses(); break;
    case LaneTrouble::stolen: preemptions(); break;
    case LaneTrouble::death:
    case LaneTrouble::replay_death: death(); break;
    case LaneTrouble::cable: cable(); break;
    case LaneTrouble::flaps: flaps(); break;
    case LaneTrouble::mtu: narrow_port(); break;
    case LaneTrouble::link: links(); break;
    default: break;
  }
}

// As in scenario.cpp: what the lines need, several times; and a wait for each collective where much is lost.
void Maker::limit() {
  const double kept = 1 - loss_;
  const auto calls = static_cast<double>(setup_.script.collectives.size());
  const double allowed =
      2 + computing_ + 30 * line_ / (kept * kept * kept) + 20 * loss_ + 0.5 * calls * loss_;
  // A receiver that keeps no packet out of order waits for each late packet.
  double waits = goes_back() ? 0.01 * packets_ * (loss_ + setup_.net.faults.reorder) : 0;
  // A packet that is refused at random, not for want of memory, is offered again after 10 ms.
  const double refused = setup_.process.tap.refuses;
  waits += 0.01 * packets_ * refused / (1 - refused);
  setup_.limit = Duration{static_cast<std::int64_t>((allowed + waits) * 1e9)};
}

void Maker::make() {
  network();
  machines();
  faults();
  program();
  happenings();
  limit();
}

}  // namespace

std::span<const NamedLane> lane_troubles() noexcept { return kTroubles; }
std::span<const NamedWay> lane_ways() noexcept { return kWays; }

bool make_lane_setup(const std::string& scenario, std::uint64_t seed, Setup& setup) {
  setup = {};
  Prng pick(pattern_seed(seed, 5));
  LaneWay way = LaneWay::usual;
  const std::size_t plus = scenario.find('+');
  std::string name = scenario.substr(0, plus);
  if (name == "lane-ways") name = kWays[pick.below(kWays.size())].name;
  for (const NamedWay& each : kWays)
    if (name == each.name) way = each.way;
  if (plus != std::string::npos && way == LaneWay::usual) return false;
  const bool any = scenario == "lanes" || (way != LaneWay::usual && plus == std::string::npos);
  std::size_t which = kTroubles.size();
  if (any) {
    which = pick.below(kMixed);
    if (kTroubles[which].trouble == LaneTrouble::crowd && pick.below(4) != 0) which = 0;
  } else {
    const std::string trouble = plus == std::string::npos ? scenario : scenario.substr(plus + 1);
    for (std::size_t i = 0; i < kTroubles.size(); ++i)
      if (trouble == kTroubles[i].name) which = i;
  }
  if (which == kTroubles.size()) return false;
  setup.scenario = kTroubles[which].name;
  if (way != LaneWay::usual) setup.scenario = name + "+" + setup.scenario;
  Maker(kTroubles[which].trouble, way, seed, setup).make();
  return true;
}

}  // namespace herald::sim
