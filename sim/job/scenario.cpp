// SPDX-License-Identifier: BSD-3-Clause
// sim/job/scenario.cpp: see scenario.hpp. All choices come from one source, in one order: changing them
// changes what every seed means.
#include "sim/job/scenario.hpp"

#include <algorithm>
#include <array>

#include "sim/job/one_sided.hpp"
#include "sim/job/pattern.hpp"
#include "sim/job/setup_maker.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

constexpr std::array kTroubles{
    Named{Trouble::none, "none", "nothing goes wrong"},
    Named{Trouble::loss1, "loss1", "1 % of the packets are lost"},
    Named{Trouble::loss10, "loss10", "10 % are lost"},
    Named{Trouble::loss50, "loss50", "up to 50 % are lost"},
    Named{Trouble::burst, "burst", "packets are lost in rows"},
    Named{Trouble::reorder, "reorder", "packets overtake each other"},
    Named{Trouble::duplicate, "duplicate", "packets come twice"},
    Named{Trouble::spoil, "spoil", "wrong bits, cut ends, strangers"},
    Named{Trouble::replay, "replay", "old packets come again"},
    Named{Trouble::storm, "storm", "all of that, a little"},
    Named{Trouble::partition, "partition", "hosts that do not hear each other for up to 5 s"},
    Named{Trouble::one_way, "one-way", "likewise in one direction"},
    Named{Trouble::pause, "pause", "hosts that stop for a while"},
    Named{Trouble::slow, "slow", "processes that compute long and look seldom"},
    Named{Trouble::death, "death", "a host dies"},
    Named{Trouble::link, "link", "one of several links dies, or comes and goes"},
    Named{Trouble::plug, "plug", "one of several switches is off for a while"},
    Named{Trouble::small_port, "small-port", "switch ports that hold less than granted"},
    Named{Trouble::small_socket, "small-socket", "receive buffers that hold less than granted"},
    Named{Trouble::nic_drops, "nic-drops", "interfaces that drop when full"},
    Named{Trouble::refusal, "refusal", "packets that are not taken at once"},
    Named{Trouble::go_back_n, "go-back-n", "the baseline's repair, with losses"},
    Named{Trouble::crowd, "crowd", "many hosts"},
    Named{Trouble::stolen, "stolen", "processors that hosts share are taken away, again and again"},
    Named{Trouble::cable, "cable", "the only cable of a host is out and in again, six times"},
    Named{Trouble::replay_death, "replay-death",
          "a host dies, and its packets are delivered again for seconds"},
    Named{Trouble::mtu, "mtu", "a port drops long datagrams, and nothing says so"},
    Named{Trouble::flaps, "flaps",
          "a cable is out for 0.1 to 2 s, again and again; the job works all the time"},
};
constexpr auto kMixed = static_cast<std::size_t>(Trouble::stolen);  // the first so many

class Maker : SetupMaker {
 public:
  Maker(Trouble trouble, std::uint64_t seed, Setup& setup)
      : SetupMaker(seed, 77 + static_cast<std::uint64_t>(trouble), setup), trouble_(trouble) {}
  void make();

 private:
  bool is(Trouble which) const { return trouble_ == which; }
  std::vector<std::uint8_t> sides();
  void network();
  void faults();
  void machines();
  void program();
  void happenings();
  void switch_is_off();
  void limit();
  double line_seconds() const;

  const Trouble trouble_;
  double computing_ = 0;  // seconds, of the process that pauses most
};

void Maker::network() {
  NetConfig& net = setup_.net;
  net.seed = chance_.next();
  net.hosts = static_cast<std::int32_t>(between(chance_, 2, chance_.below(4) == 0 ? 9 : 5));
  if (is(Trouble::crowd))
    net.hosts = static_cast<std::int32_t>(between(chance_, 16, chance_.below(8) == 0 ? 256 : 64));
  net.links = static_cast<std::uint8_t>(chance_.below(4) == 0 ? between(chance_, 2, 3) : 1);
  if (is(Trouble::link) || is(Trouble::plug)) net.links = static_cast<std::uint8_t>(between(chance_, 2, 4));
  if (is(Trouble::cable) || is(Trouble::flaps)) net.links = 1;
  net.shape.bits_per_second =
      one_of<std::uint64_t>({100'000'000, 1'000'000'000, 1'000'000'000, 10'000'000'000});
  net.shape.delay = microseconds(chance_.below(8) == 0 ? between(chance_, 50, 500) : between(chance_, 1, 20));
  net.shape.port_bytes = one_of<std::uint32_t>({256'000, 512'000, 2'000'000});
  net.wake = microseconds(between(chance_, 0, 30));
  net.wake_jitter = microseconds(between(chance_, 0, 60));
}

void Maker::machines() {
  NetConfig& net = setup_.net;
  rel::MeshConfig& mesh = setup_.process.mesh;
  key_and_size();
  mesh.log_bytes = one_of<std::uint32_t>({256 << 10, 1 << 20, 8 << 20, 8 << 20});
  mesh.give_up = milliseconds(5000);  // a partition may last as long
  if (is(Trouble::go_back_n)) mesh.repair = rel::Repair::go_back_n;
  if (is(Trouble::small_port)) net.shape.port_bytes = one_of<std::uint32_t>({16'000, 32'000, 64'000});
  if (is(Trouble::small_socket)) net.socket_bytes = one_of<std::uint32_t>({32'000, 64'000, 212'992});
  if (is(Trouble::nic_drops)) {
    net.nic_drops = true;
    net.shape.nic_bytes = one_of<std::uint32_t>({24'000, 64'000, 128'000});
  }
  setup_.process.keep_alive = milliseconds(one_of<std::int64_t>({0, 1, 10, 100}));
  if (is(Trouble::refusal)) setup_.process.tap.refuses = one_of({0.02, 0.2});
  p2p::CoreConfig& core = setup_.process.core;
  if (chance_.below(4) == 0) core.mode = one_of({p2p::PushMode::zero, p2p::PushMode::all});
  core.remote_more = one_of<std::uint32_t>({0, 8192, 1 << 16});
  core.remote_allowance = one_of<std::uint32_t>({16 << 10, 1 << 19});
  core.remote_copied = core.remote_allowance == 1 << 19 ? core.remote_more : 0;
  core.most_unexpected = core.remote_allowance == 1 << 19 ? 0 : 1 << 18;
  if (core.remote_more != 0) mesh.row_packets = core.remote_more == 8192 ? 8 : 32;
}

void Maker::faults() {
  Faults& faults = setup_.net.faults;
  switch (trouble_) {
    case Trouble::loss1: faults.loss = 0.01; break;
    case Trouble::loss10: (chance_.below(4) == 0 ? faults.common_loss : faults.loss) = 0.1; break;
    case Trouble::loss50: faults.loss = 0.2 + 0.1 * static_cast<double>(chance_.below(4)); break;
    case Trouble::go_back_n: faults.loss = one_of({0.0, 0.01, 0.05}); break;
    case Trouble::burst: burst(); break;
    case Trouble::reorder: faults.reorder = one_of({0.01, 0.1, 0.5}); break;
    case Trouble::duplicate: faults.duplicate = one_of({0.01, 0.1, 0.5}); break;
    case Trouble::spoil: spoil(); break;
    case Trouble::replay: faults.replay = one_of({0.01, 0.1}); break;
    case Trouble::storm: storm(); break;
    case Trouble::replay_death: replays(); break;
    default: some_loss(); break;
  }
  end_faults();
}

void Maker::program() {
  ScriptLimits limits;
  limits.processes = setup_.net.hosts;
  limits.messages = static_cast<std::uint32_t>(between(chance_, 10, chance_.below(3) == 0 ? 600 : 150));
  limits.total_bytes = std::uint64_t{1} << between(chance_, 16, 24);
  limits.largest = std::uint64_t{1} << between(chance_, 12, 22);
  if (is(Trouble::loss50) || is(Trouble::burst))
    limits.total_bytes = std::min<std::uint64_t>(limits.total_bytes, 1 << 19);
  if (is(Trouble::go_back_n)) limits.total_bytes = std::min<std::uint64_t>(limits.total_bytes, 1 << 20);
  if (is(Trouble::crowd)) limits.messages = static_cast<std::uint32_t>(between(chance_, 200, 1000));
  if (is(Trouble::flaps)) limits.messages = static_cast<std::uint32_t>(between(chance_, 400, 800));
  limits.datagram_bytes = setup_.process.mesh.datagram_bytes;
  limits.any_source = !is(Trouble::death) && !is(Trouble::replay_death);
  limits.longest_pause = is(Trouble::cable)   ? milliseconds(between(chance_, 100, 300))
                         : is(Trouble::flaps) ? milliseconds(between(chance_, 20, 60))
                         : is(Trouble::slow)
                             ? milliseconds(between(chance_, 5, chance_.below(4) == 0 ? 400 : 50))
                             : microseconds(between(chance_, 0, 2000));
  Program program = chance_.below(3) == 0 ? kPrograms[chance_.below(std::size(kPrograms))] : Program::random;
  if (is(Trouble::crowd) && program == Program::all_to_all) program = Program::random;
  setup_.script = write_script(program, limits, chance_);
  for (const auto& steps : setup_.script.steps) {
    double sum = 0;
    for (const Step& step : steps) sum += static_cast<double>(step.time.ns) / 1e9;
    computing_ = std::max(computing_, sum);
  }
  likely_ = Duration{static_cast<std::int64_t>((computing_ + 1.2 * line_seconds()) * 1e9) + 500'000};
}

double Maker::line_seconds() const {
  return static_cast<double>(setup_.script.busiest_bytes()) * 8 /
         static_cast<double>(setup_.net.shape.bits_per_second);
}

std::vector<std::uint8_t> Maker::sides() {
  std::vector<std::uint8_t> sides(static_cast<std::size_t>(setup_.net.hosts));
  for (std::uint8_t& side : sides) side = static_cast<std::uint8_t>(chance_.below(2));
  sides[0] = 0;
  sides[1] = 1;
  return sides;
}

void Maker::happenings() {
  switch (trouble_) {
    case Trouble::partition:
    case Trouble::one_way:
      // Twice in a row is together no longer than once.
      for (std::uint64_t twice = chance_.below(2), n = twice + 1; n != 0; --n) {
        const bool one_way = is(Trouble::one_way);
        const Instant begin = setup_.trouble_ends + up_to(chance_, likely_);
        plan(begin, one_way ? "partition, one way" : "partition",
             [sides = sides(), one_way](Net& net) { net.fabric().partition(sides, kNoLink, one_way); });
        plan(begin +
                 milliseconds(between(chance_, 1, chance_.below(2) == 0 ? (twice != 0 ? 2500 : 5000) : 200)),
             "the partition heals", [](Net& net) { net.fabric().partition({}); });
      }
      break;
    case Trouble::pause: pauses(); break;
    case Trouble::stolen: preemptions(); break;
    case Trouble::death:
    case Trouble::replay_death: death(); break;
    case Trouble::cable: cable(); break;
    case Trouble::flaps: flaps(); break;
    case Trouble::mtu: narrow_port(); break;
    case Trouble::link: links(); break;
    case Trouble::plug: switch_is_off(); break;
    default: break;
  }
}

// One of several switches loses power.
void Maker::switch_is_off() {
  const auto bad = static_cast<std::uint8_t>(chance_.below(setup_.net.links));
  const Instant off = some_time();
  plan(off, "switch " + std::to_string(bad) + " is off",
       [bad](Net& net) { net.fabric().set_switch(bad, false); });
  if (chance_.below(3) != 0)
    plan(off + milliseconds(between(chance_, 1, 1500)), "switch " + std::to_string(bad) + " is on",
         [bad](Net& net) { net.fabric().set_switch(bad, true); });
}

// The limit is a multiple of the time on the lines, more with high loss, plus computing and repair of tails.
void Maker::limit() {
  const double kept = 1 - loss_;
  const double base = is(Trouble::link) || is(Trouble::plug) ? 1 : 2;
  // Waits add up where one step follows from another; pauses of several processes then do, too.
  double computing = 0;
  for (const auto& steps : setup_.script.steps)
    for (const Step& step : steps) computing += static_cast<double>(step.time.ns) / 1e9;
  // Each message may have to wait for the one before it, and for a timeout each time that one was lost.
  constexpr double kTimeout = 0.01;
  double delays = 0;
  for (const auto& steps : setup_.script.steps)
    delays += static_cast<double>(steps.size()) *
              (static_cast<double>(setup_.net.shape.delay.ns) / 1e9 + kTimeout * loss_ / kept);
  const double allowed = base + computing + delays + 30 * line_seconds() / (kept * kept * kept) + 20 * loss_;
  setup_.limit = Duration{static_cast<std::int64_t>(allowed * 1e9)};
}

void Maker::make() {
  network();
  machines();
  faults();
  program();
  happenings();
  limit();
}

const std::string kShort = "short", kSealed = "sealed", kTcp = "tcp", kOneSided = "rma", kBulk = "bulk";

// One-sided operations between the messages of the job.
void add_one_sided(std::uint64_t seed, Setup& setup) {
  Prng chance(pattern_seed(seed, 9002));
  add_epochs(setup.script, setup.dies < 0, chance);
  if (setup.dies < 0) add_active_epochs(setup.script, chance);
  // Epochs on one target wait for each other: several round trips each, and repairs of their tails.
  setup.limit = Duration{setup.limit.ns + milliseconds(30'000).ns};
}

// UDP between two sides is blocked from the start or from some time on, for good or for a while. TCP passes:
// it is cut now and then, silent or refused for a moment. `alone`: nothing else goes wrong.
void block_udp(std::uint64_t seed, bool alone, Setup& setup) {
  Prng chance(pattern_seed(seed, 9001));
  std::vector<std::uint8_t> sides(static_cast<std::size_t>(setup.net.hosts));
  for (std::uint8_t& side : sides) side = static_cast<std::uint8_t>(chance.below(2));
  sides[0] = 0;
  sides[1] = 1;
  const bool one_way = chance.below(4) == 0;
  const Instant begin = chance.below(2) == 0 ? Instant{} : Instant{} + up_to(chance, milliseconds(20));
  setup.tcp = true;
  setup.plan.push_back({begin, "UDP is blocked",
                        [sides, one_way](Net& net) { net.fabric().partition(sides, kNoLink, one_way); }});
  Instant last = begin;
  const auto plan = [&](Instant at, std::function<void(TcpNet&)> run) {
    last = std::max(last, at);
    setup.tcp_plan.push_back({at, std::move(run)});
  };
  if (chance.below(2) == 0)
    for (std::uint64_t n = chance.below(4); n != 0; --n)
      plan(begin + up_to(chance, milliseconds(3000)), [](TcpNet& tcp) { tcp.cut_all(); });
  if (chance.below(4) == 0) {
    const Instant at = begin + up_to(chance, milliseconds(1500));
    plan(at, [](TcpNet& tcp) { tcp.set_silent(true); });
    plan(at + milliseconds(1 + static_cast<std::int64_t>(chance.below(1000))),
         [](TcpNet& tcp) { tcp.set_silent(false); });
  }
  if (chance.below(4) == 0) {
    plan(begin, [](TcpNet& tcp) { tcp.set_refusing(true); });
    plan(begin + up_to(chance, milliseconds(1000)), [](TcpNet& tcp) { tcp.set_refusing(false); });
  }
  if (chance.below(3) == 0) {
    last = std::max(last, begin + up_to(chance, milliseconds(4000)));
    setup.plan.push_back({last, "UDP passes again", [](Net& net) { net.fabric().partition({}); }});
  }
  setup.trouble_ends = std::max(setup.trouble_ends, last);
  // A connection that was silent is found out, and opened again with back-off.
  if (alone) setup.resume_within = milliseconds(last == begin ? 2000 : 4500);
  setup.limit = Duration{setup.limit.ns + milliseconds(6000).ns};
}

// Long messages go as bulk frames by TCP connections, which are refused, cut, silent or corrupt a byte.
void add_bulk(std::uint64_t seed, Setup& setup) {
  Prng chance(pattern_seed(seed, 9003));
  setup.tcp = setup.process.bulk = true;
  setup.process.core.bulk_least = chance.below(2) == 0 ? 1 : 8 << 10;
  Instant last{};
  const auto plan = [&](Instant at, std::function<void(TcpNet&)> run) {
    last = std::max(last, at);
    setup.tcp_plan.push_back({at, std::move(run)});
  };
  const auto soon = [&] { return Instant{} + up_to(chance, milliseconds(chance.below(2) == 0 ? 10 : 200)); };
  for (std::uint64_t n = chance.below(6); n != 0; --n) plan(soon(), [](TcpNet& tcp) { tcp.cut_all(); });
  for (std::uint64_t n = chance.below(3); n != 0; --n) plan(soon(), [](TcpNet& tcp) { tcp.corrupt_next(); });
  if (chance.below(4) == 0) {
    const Instant at = soon();
    plan(at, [](TcpNet& tcp) { tcp.set_silent(true); });
    plan(at + milliseconds(1 + static_cast<std::int64_t>(chance.below(300))),
         [](TcpNet& tcp) { tcp.set_silent(false); });
  }
  if (chance.below(4) == 0) {
    plan({}, [](TcpNet& tcp) { tcp.set_refusing(true); });
    plan(soon(), [](TcpNet& tcp) { tcp.set_refusing(false); });
  }
  setup.trouble_ends = std::max(setup.trouble_ends, last);
  setup.limit = Duration{setup.limit.ns + milliseconds(6000).ns};
}

}  // namespace

std::span<const Named> troubles() noexcept { return kTroubles; }

bool make_setup(const std::string& scenario, std::uint64_t seed, Setup& setup) {
  if (scenario == kSealed || scenario.starts_with(kSealed + "+")) {
    const std::string usual = seed % 2 == 0 ? "mix" : "lanes";
    if (!make_setup(scenario == kSealed ? usual : scenario.substr(kSealed.size() + 1), seed, setup))
      return false;
    setup.scenario = kSealed + "+" + setup.scenario;
    setup.process.security = seed % 4 < 2 ? wire::Security::encrypt : wire::Security::auth;
    return true;
  }
  if (scenario == kTcp || scenario.starts_with(kTcp + "+")) {
    const std::string usual = seed % 2 == 0 ? "none" : "lane-none";
    if (!make_setup(scenario == kTcp ? usual : scenario.substr(kTcp.size() + 1), seed, setup)) return false;
    setup.scenario = kTcp + "+" + setup.scenario;
    block_udp(seed, scenario == kTcp, setup);
    return true;
  }
  if (scenario == kBulk || scenario.starts_with(kBulk + "+")) {
    if (!make_setup(scenario == kBulk ? "mix" : scenario.substr(kBulk.size() + 1), seed, setup)) return false;
    setup.scenario = kBulk + "+" + setup.scenario;
    add_bulk(seed, setup);
    return true;
  }
  if (scenario == kOneSided || scenario.starts_with(kOneSided + "+")) {
    if (!make_setup(scenario == kOneSided ? "mix" : scenario.substr(kOneSided.size() + 1), seed, setup))
      return false;
    setup.scenario = kOneSided + "+" + setup.scenario;
    add_one_sided(seed, setup);
    return true;
  }
  if (scenario.starts_with("lane")) return make_lane_setup(scenario, seed, setup);
  if (scenario == kShort || scenario.starts_with(kShort + "+")) {
    if (!make_setup(scenario == kShort ? "mix" : scenario.substr(kShort.size() + 1), seed, setup))
      return false;
    setup.scenario = kShort + "+" + setup.scenario;
    setup.process.sends_at_once = true;
    return true;
  }
  setup = {};
  std::size_t which = kTroubles.size();
  if (scenario == "mix") {
    Prng pick(pattern_seed(seed, 3));
    which = pick.below(kMixed);
    // Crowds are dear: one seed in a hundred or so.
    if (kTroubles[which].trouble == Trouble::crowd && pick.below(4) != 0) which = 0;
  } else {
    for (std::size_t i = 0; i < kTroubles.size(); ++i)
      if (scenario == kTroubles[i].name) which = i;
  }
  if (which == kTroubles.size()) return false;
  setup.scenario = kTroubles[which].name;
  Maker(kTroubles[which].trouble, seed, setup).make();
  return true;
}

}  // namespace herald::sim
