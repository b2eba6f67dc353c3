// SPDX-License-Identifier: BSD-3-Clause
// sim/job/script.cpp: programs, made from limits and chance.
#include "sim/job/script.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/net/chance.hpp"

namespace herald::sim {
namespace {

using p2p::SendMode;

class Writer {
 public:
  Writer(Program program, const ScriptLimits& limits, Prng& chance) : limits_(limits), chance_(chance) {
    script.name = word(program);
    script.steps.resize(static_cast<std::size_t>(limits.processes));
    left_ = limits.total_bytes;
  }

  std::vector<Step>& of(std::int32_t process) { return script.steps[static_cast<std::size_t>(process)]; }
  std::uint32_t add_send(const SendSpec& spec) {
    script.sends.push_back(spec);
    return static_cast<std::uint32_t>(script.sends.size() - 1);
  }
  std::uint32_t add_receive(const RecvSpec& spec) {
    script.receives.push_back(spec);
    return static_cast<std::uint32_t>(script.receives.size() - 1);
  }
  std::int32_t anyone() { return static_cast<std::int32_t>(chance_.below(count())); }
  std::int32_t other_than(std::int32_t me) {
    const auto pick = static_cast<std::int32_t>(chance_.below(count() - 1));
    return pick >= me ? pick + 1 : pick;
  }
  std::uint64_t count() const { return static_cast<std::uint64_t>(limits_.processes); }

  // Nothing, little, around the edges of packets, and now and then a lot.
  std::uint64_t size() {
    std::uint64_t bytes = 0;
    switch (chance_.below(8)) {
      case 0: break;
      case 1: bytes = chance_.below(16); break;
      case 2: bytes = chance_.below(512); break;
      case 3: {
        const std::uint64_t edge = limits_.datagram_bytes * (chance_.below(4) + 1);
        const std::uint64_t below = chance_.below(130), above = chance_.below(20);
        bytes = edge - std::min(edge, below) + above;
        break;
      }
      case 4: bytes = 4096 + chance_.below(3) - 1; break;
      case 5: bytes = chance_.below(20'000); break;
      case 6: bytes = chance_.below(150'000); break;
      case 7: bytes = chance_.below(limits_.largest + 1); break;
    }
    bytes = std::min({bytes, limits_.largest, left_});
    left_ -= bytes;
    return bytes;
  }
  SendMode mode() {
    return chance_.below(4) == 0 ? SendMode::synchronous
                                 : (chance_.below(8) == 0 ? SendMode::ready : SendMode::standard);
  }
  Step pause() {
    const bool compute = limits_.compute && chance_.below(3) == 0;
    return {compute ? Do::compute : Do::rest, 0, up_to(chance_, limits_.longest_pause)};
  }
  void maybe_pause(std::int32_t process, std::uint64_t one_in) {
    if (chance_.below(one_in) == 0) of(process).push_back(pause());
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[chance_.below(i)]);
  }

  void random();
  void incast();
  void all_to_all();
  void ping_pong();
  void ring();
  void flood();
  void recall();

  Script script;

 private:
  // How the receives of one process in one context name what they want; one way for all of them, so that
  // whichever message a receive takes leaves none without.
  enum class Style : std::uint8_t { exact, any_source, any_tag, any };
  void receives_of(std::int32_t at, std::vector<std::uint32_t>& out);
  void interleave(std::int32_t at, std::vector<std::uint32_t>& sends, std::vector<std::uint32_t>& receives);

  const ScriptLimits limits_;
  Prng& chance_;
  std::uint64_t left_ = 0;
};

void Writer::receives_of(std::int32_t at, std::vector<std::uint32_t>& out) {
  std::map<std::uint64_t, std::pair<Style, bool>> styles;
  const std::size_t sends = script.sends.size();
  for (std::size_t i = 0; i < sends; ++i) {
    const SendSpec& send = script.sends[i];
    if (send.to != at) continue;
    if (styles.find(send.context) == styles.end()) {
      Style style = static_cast<Style>(chance_.below(4));
      if (!limits_.any_source) style = chance_.below(2) == 0 ? Style::exact : Style::any_tag;
      styles[send.context] = {style, chance_.below(4) == 0};
    }
    const auto [style, probed] = styles[send.context];
    RecvSpec receive;
    receive.at = at;
    receive.context = send.context;
    if (style == Style::exact || style == Style::any_tag) receive.source = send.from;
    if (style == Style::exact || style == Style::any_source) receive.tag = send.tag;
    receive.probed = probed;
    receive.room = send.bytes;
    out.push_back(add_receive(receive));
  }
  // A receive has room for the largest message of its context, or now and then for less.
  for (const std::uint32_t index : out) {
    RecvSpec& receive = script.receives[index];
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < sends; ++i) {
      const SendSpec& send = script.sends[i];
      if (send.to == at && send.context == receive.context &&
          (receive.source == p2p::kAnySource || receive.source == send.from) &&
          (receive.tag == p2p::kAnyTag || receive.tag == send.tag))
        most = std::max(most, send.bytes);
    }
    receive.room = chance_.below(12) == 0 ? chance_.below(most + 1) : most;
  }
}

// Receives first, sends first, or one with the other.
void Writer::interleave(std::int32_t at, std::vector<std::uint32_t>& sends,
                        std::vector<std::uint32_t>& receives) {
  shuffle(receives);
  std::vector<Step> steps;
  for (const std::uint32_t each : receives) steps.push_back({Do::receive, each});
  const std::size_t middle = steps.size();
  for (const std::uint32_t each : sends) steps.push_back({Do::send, each});
  switch (chance_.below(4)) {
    case 0: break;
    case 1:
      std::rotate(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(middle), steps.end());
      break;
    default: {
      // Merge, keeping the order of each: who comes next is drawn.
      std::vector<Step> merged;
      std::size_t a = 0, b = middle;
      while (a < middle || b < steps.size()) {
        const bool first =
            b == steps.size() || (a < middle && chance_.below(steps.size() - b + middle - a) < middle - a);
        merged.push_back(first ? steps[a++] : steps[b++]);
      }
      steps.swap(merged);
    }
  }
  const std::uint64_t pauses = chance_.below(3) == 0 ? 3 : 40;
  for (const Step& step : steps) {
    maybe_pause(at, pauses);
    of(at).push_back(step);
  }
  of(at).push_back({Do::wait_all});
}

void Writer::random() {
  const std::uint64_t contexts = chance_.below(3) + 1;
  std::vector<std::vector<std::uint32_t>> sends(count());
  for (std::uint32_t i = 0; i < limits_.messages; ++i) {
    SendSpec send;
    send.from = anyone();
    send.to = other_than(send.from);
    send.context = chance_.below(contexts) + 1;
    send.tag = static_cast<std::int32_t>(chance_.below(4));
    send.bytes = size();
    send.mode = mode();
    sends[static_cast<std::size_t>(send.from)].push_back(add_send(send));
  }
  for (std::int32_t at = 0; at < limits_.processes; ++at) {
    std::vector<std::uint32_t> receives;
    receives_of(at, receives);
    interleave(at, sends[static_cast<std::size_t>(at)], receives);
  }
}

// All send to one at once, as in a gather.
void Writer::incast() {
  const std::int32_t root = anyone();
  const std::uint64_t rounds = chance_.below(3) + 1;
  const std::uint64_t bytes =
      std::min(limits_.largest, limits_.total_bytes / (rounds * std::max<std::uint64_t>(1, count() - 1)));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::int32_t from = 0; from < limits_.processes; ++from) {
      if (from == root) continue;
      SendSpec send;
      send.from = from;
      send.to = root;
      send.context = 1;
      send.tag = static_cast<std::int32_t>(round);
      send.bytes = chance_.below(4) == 0 ? chance_.below(bytes + 1) : bytes;
      const std::uint32_t index = add_send(send);
      of(from).push_back({Do::send, index});
      if (chance_.below(2) == 0) of(from).push_back({Do::wait_send, index});
      const RecvSpec receive{root, 1, limits_.any_source && round % 2 == 1 ? p2p::kAnySource : from, send.tag,
                             bytes};
      of(root).push_back({Do::receive, add_receive(receive)});
    }
    of(root).push_back({Do::wait_all});
  }
  for (std::int32_t each = 0; each < limits_.processes; ++each) of(each).push_back({Do::wait_all});
}

void Writer::all_to_all() {
  const std::uint64_t pairs = count() * (count() - 1);
  const std::uint64_t bytes =
      std::min(limits_.largest, limits_.total_bytes / std::max<std::uint64_t>(1, pairs));
  for (std::int32_t at = 0; at < limits_.processes; ++at)
    for (std::int32_t distance = 1; distance < limits_.processes; ++distance) {
      const std::int32_t from = (at + distance) % limits_.processes;
      of(at).push_back({Do::receive, add_receive({at, 1, from, 5, bytes})});
    }
  for (std::int32_t at = 0; at < limits_.processes; ++at) {
    for (std::int32_t distance = 1; distance < limits_.processes; ++distance) {
      const std::int32_t to = (at + distance) % limits_.processes;
      of(at).push_back({Do::send, add_send({at, to, 1, 5, bytes, SendMode::standard})});
    }
    of(at).push_back({Do::wait_all});
  }
}

void Writer::ping_pong() {
  for (std::int32_t even = 0; even + 1 < limits_.processes; even += 2) {
    const std::uint64_t rounds = std::max<std::uint64_t>(1, 2 * limits_.messages / count());
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t bytes = size() / 2;
      const auto tag = static_cast<std::int32_t>(round);
      for (const std::int32_t me : {even, even + 1}) {
        const std::int32_t other = me == even ? even + 1 : even;
        const std::uint32_t send = add_send({me, other, 2, tag, bytes, mode()});
        const std::uint32_t receive = add_receive({me, 2, other, tag, bytes});
        of(me).push_back({Do::receive, receive});
        if (me != even) of(me).push_back({Do::wait_receive, receive});
        maybe_pause(me, 30);
        of(me).push_back({Do::send, send});
        if (me == even) of(me).push_back({Do::wait_receive, receive});
        of(me).push_back({Do::wait_send, send});
      }
    }
  }
  for (std::int32_t each = 0; each < limits_.processes; ++each) of(each).push_back({Do::wait_all});
}

// Each hands on to its right what came from its left.
void Writer::ring() {
  const std::uint64_t rounds = std::max<std::uint64_t>(1, limits_.messages / count());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t bytes = std::min(size(), limits_.total_bytes / (rounds * count()));
    for (std::int32_t me = 0; me < limits_.processes; ++me) {
      const std::int32_t left = (me + limits_.processes - 1) % limits_.processes;
      const std::int32_t right = (me + 1) % limits_.processes;
      const std::uint32_t receive = add_receive({me, 3, left, 1, bytes});
      const std::uint32_t send = add_send({me, right, 3, 1, bytes, SendMode::standard});
      maybe_pause(me, 20);
      if (me == 0) of(me).push_back({Do::send, send});
      of(me).push_back({Do::receive, receive});
      of(me).push_back({Do::wait_receive, receive});
      if (me != 0) of(me).push_back({Do::send, send});
      of(me).push_back({Do::wait_send, send});
    }
  }
}

// Many short messages from each to a few, in no hurry to be received.
void Writer::flood() {
  std::vector<std::vector<std::uint32_t>> receives(count());
  for (std::int32_t from = 0; from < limits_.processes; ++from) {
    const std::int32_t to = other_than(from);
    const std::uint64_t messages = limits_.messages * 8 / count() + 1;
    for (std::uint64_t i = 0; i < messages; ++i) {
      const std::uint64_t bytes = chance_.below(chance_.below(10) == 0 ? 3000 : 40);
      const std::uint32_t send =
          add_send({from, to, 4, static_cast<std::int32_t>(i % 3), bytes, SendMode::standard});
      of(from).push_back({Do::send, send});
      if (i % 16 == 15) maybe_pause(from, 4);
      receives[static_cast<std::size_t>(to)].push_back(
          add_receive({to, 4, from, script.sends[send].tag, bytes}));
    }
  }
  for (std::int32_t at = 0; at < limits_.processes; ++at) {
    auto& mine = receives[static_cast<std::size_t>(at)];
    if (chance_.below(2) == 0) of(at).push_back(pause());
    for (const std::uint32_t each : mine) {
      of(at).push_back({Do::receive, each});
      // Of what is sent in order nothing may be missing: the room is that of the largest.
      script.receives[each].room = 3000;
    }
    of(at).push_back({Do::wait_all});
  }
}

// Messages that are asked back, before or after they have come; the sender then tells what became of each.
void Writer::recall() {
  std::vector<std::vector<std::vector<Step>>> threads(count());
  for (std::uint32_t i = 0; i < limits_.messages / 4 + 1; ++i) {
    const std::int32_t from = anyone(), to = other_than(from);
    const std::uint64_t bytes = size();
    const auto tag = static_cast<std::int32_t>(2 * i);
    const std::uint32_t send = add_send({from, to, 6, tag, bytes, mode()});
    const std::uint32_t news = add_send({from, to, 7, tag + 1, 1, SendMode::standard});
    const std::uint32_t receive = add_receive({to, 6, from, tag, bytes});
    const std::uint32_t heard = add_receive({to, 7, from, tag + 1, 1});
    std::vector<Step> sender{{Do::send, send}}, receiver;
    if (chance_.below(3) != 0) sender.push_back({Do::rest, 0, up_to(chance_, microseconds(400))});
    sender.insert(sender.end(), {{Do::recall, send}, {Do::wait_send, send}, {Do::tell, news}});
    receiver.push_back({Do::receive, heard});
    if (chance_.below(2) == 0) {
      if (chance_.below(2) == 0) receiver.push_back({Do::rest, 0, up_to(chance_, microseconds(400))});
      receiver.push_back({Do::receive, receive});
    }
    receiver.push_back({Do::wait_receive, heard});
    receiver.push_back({Do::heed, receive});
    of(from).insert(of(from).end(), sender.begin(), sender.end());
    threads[static_cast<std::size_t>(to)].push_back(receiver);
  }
  // A process tells its own news before it waits for news of others.
  for (std::int32_t at = 0; at < limits_.processes; ++at) {
    for (const auto& thread : threads[static_cast<std::size_t>(at)])
      of(at).insert(of(at).end(), thread.begin(), thread.end());
    of(at).push_back({Do::wait_all});
  }
}

}  // namespace

std::uint64_t Script::total_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const SendSpec& send : sends) sum += send.bytes;
  return sum;
}

std::uint64_t Script::busiest_bytes() const noexcept {
  std::vector<std::uint64_t> in(steps.size()), out(steps.size());
  for (const SendSpec& send : sends) {
    out[static_cast<std::size_t>(send.from)] += send.bytes + 100;
    in[static_cast<std::size_t>(send.to)] += send.bytes + 100;
  }
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) most = std::max({most, in[i], out[i]});
  return most;
}

const char* word(Program program) noexcept {
  switch (program) {
    case Program::random: return "random";
    case Program::incast: return "incast";
    case Program::all_to_all: return "all-to-all";
    case Program::ping_pong: return "ping-pong";
    case Program::ring: return "ring";
    case Program::flood: return "flood";
    case Program::recall: return "recall";
  }
  return "?";
}

Script write_script(Program program, const ScriptLimits& limits, Prng& chance) {
  Writer writer(program, limits, chance);
  switch (program) {
    case Program::random: writer.random(); break;
    case Program::incast: writer.incast(); break;
    case Program::all_to_all: writer.all_to_all(); break;
    case Program::ping_pong: writer.ping_pong(); break;
    case Program::ring: writer.ring(); break;
    case Program::flood: writer.flood(); break;
    case Program::recall: writer.recall(); break;
  }
  return std::move(writer.script);
}

}  // namespace herald::sim
