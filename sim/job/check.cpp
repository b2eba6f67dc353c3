// SPDX-License-Identifier: BSD-3-Clause
// sim/job/check.cpp: was every byte right, every message in its place, everything given back?
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <set>

#include "sim/job/job.hpp"
#include "sim/job/pattern.hpp"

namespace herald::sim {
namespace {

constexpr std::size_t kMostWords = 12;

__attribute__((format(printf, 2, 3))) void say(std::vector<std::string>& wrong, const char* format, ...) {
  if (wrong.size() >= kMostWords) return;
  char text[300];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  wrong.push_back(text);
}

bool fits(const RecvSpec& receive, const SendSpec& send) {
  return receive.tag == p2p::kAnyTag || receive.tag == send.tag;
}

// The messages of one sender to one receiver in one context, in the order in which they were sent, without
// those that were cancelled.
using Rows = std::map<std::pair<std::int32_t, std::uint64_t>, std::vector<std::uint32_t>>;

Rows rows_to(const Setup& setup, const Processes& processes, std::int32_t at) {
  Rows rows;
  for (const auto& each : processes) {
    const auto from = static_cast<std::int32_t>(&each - processes.data());
    for (const Step& step : setup.script.steps[static_cast<std::size_t>(from)]) {
      if (step.what != Do::send && step.what != Do::tell) continue;
      const SendSpec& send = setup.script.sends[step.index];
      if (send.to != at || !each->messages().has_send(step.index) ||
          each->messages().send_of(step.index).cancelled)
        continue;
      rows[{from, send.context}].push_back(step.index);
    }
  }
  return rows;
}

void check_one(const Setup& setup, const Process& process, std::int32_t at, std::uint32_t index, Rows& rows,
               std::vector<std::string>& wrong) {
  const RecvSpec& spec = setup.script.receives[index];
  const Recv& recv = process.messages().recv_of(index);
  if (recv.cancelled) {
    if (!recv.unwanted) say(wrong, "receive %u at %d was cancelled though nobody asked", index, at);
    return;
  }
  if (recv.unwanted && recv.status != Status::peer_lost)
    say(wrong, "receive %u at %d got a message that its sender had back", index, at);
  if (recv.status == Status::peer_lost && recv.phase == p2p::RecvPhase::finished &&
      recv.from_source == p2p::kAnySource)
    return;  // not matched
  auto& row = rows[{recv.from_source, spec.context}];
  const auto first = std::find_if(row.begin(), row.end(),
                                  [&](std::uint32_t each) { return fits(spec, setup.script.sends[each]); });
  if (first == row.end()) {
    if (recv.status != Status::peer_lost)
      say(wrong, "receive %u at %d: there is no message from %d that it could have got", index, at,
          recv.from_source);
    return;
  }
  const std::uint32_t message = *first;
  row.erase(first);
  if (recv.status == Status::peer_lost) return;
  const SendSpec& send = setup.script.sends[message];
  const std::uint64_t bytes = std::min(send.bytes, spec.room);
  const Status status = send.bytes > spec.room ? Status::truncated : Status::ok;
  if (recv.from_tag != send.tag)
    say(wrong, "receive %u at %d: tag %d, but message %u from %d has %d (overtaken?)", index, at,
        recv.from_tag, message, send.from, send.tag);
  if (recv.status != status)
    say(wrong, "receive %u at %d of message %u: status %d, not %d", index, at, message,
        static_cast<int>(recv.status), static_cast<int>(status));
  if (recv.p2p::RecvOp::bytes != bytes)
    say(wrong, "receive %u at %d of message %u from %d: %llu bytes, not %llu", index, at, message, send.from,
        static_cast<unsigned long long>(recv.p2p::RecvOp::bytes), static_cast<unsigned long long>(bytes));
  if (send.context == 7) return;  // news of a recall: judged by who heeds it
  const std::size_t at_byte = first_wrong(setup.seed, message, {recv.memory.get(), bytes});
  if (at_byte != bytes)
    say(wrong, "receive %u at %d of message %u from %d (%llu bytes): byte %zu is wrong", index, at, message,
        send.from, static_cast<unsigned long long>(bytes), at_byte);
}

}  // namespace

// Receives in the order in which they were started: each has the earliest message from its sender that fits
// it and that no earlier receive has. That is what MPI's order of messages comes to.
void check_contents(const Setup& setup, const Net& net, const Processes& processes,
                    std::vector<std::string>& wrong) {
  for (std::int32_t at = 0; at < setup.net.hosts; ++at) {
    if (!net.is_alive(at)) continue;
    const Process& process = *processes[static_cast<std::size_t>(at)];
    Rows rows = rows_to(setup, processes, at);
    for (const std::uint32_t index : process.messages().order())
      check_one(setup, process, at, index, rows, wrong);
    if (setup.dies >= 0) continue;  // some receives found nobody
    for (const auto& [key, row] : rows)
      if (!row.empty()) say(wrong, "message %u from %d to %d was never received", row.front(), key.first, at);
  }
}

void check_sends(const Setup& setup, const Net& net, const Processes& processes,
                 std::vector<std::string>& wrong) {
  for (std::uint32_t i = 0; i < setup.script.sends.size(); ++i) {
    const SendSpec& spec = setup.script.sends[i];
    if (!net.is_alive(spec.from)) continue;
    const Process& process = *processes[static_cast<std::size_t>(spec.from)];
    if (!process.messages().has_send(i)) {
      say(wrong, "send %u of %d was never started", i, spec.from);
      continue;
    }
    const Send& send = process.messages().send_of(i);
    if (send.cancelled && !send.recalled)
      say(wrong, "send %u of %d was cancelled though nobody asked", i, spec.from);
    const bool may_be_lost = spec.to == setup.dies;
    if (send.status != Status::ok && !(may_be_lost && send.status == Status::peer_lost))
      say(wrong, "send %u of %d to %d ended with status %d", i, spec.from, spec.to,
          static_cast<int>(send.status));
  }
  for (std::uint32_t i = 0; i < setup.script.receives.size(); ++i) {
    const RecvSpec& spec = setup.script.receives[i];
    if (!net.is_alive(spec.at)) continue;
    const Process& process = *processes[static_cast<std::size_t>(spec.at)];
    if (process.messages().has_recv(i) && process.messages().recv_of(i).status == Status::peer_lost &&
        spec.source != setup.dies)
      say(wrong, "receive %u at %d from %d ended with peer_lost, but %d lives", i, spec.at, spec.source,
          spec.source);
  }
}

void check_leaks(const Setup& setup, const Net& net, const Processes& processes,
                 std::vector<std::string>& wrong) {
  for (std::int32_t at = 0; at < setup.net.hosts; ++at) {
    if (!net.is_alive(at)) continue;
    const Process& process = *processes[static_cast<std::size_t>(at)];
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    if (process.core().sends_under_way() != 0)
      say(wrong, "leak: %llu sends of %d are still under way", number(process.core().sends_under_way()), at);
    if (process.core().messages_held() != 0 && setup.dies < 0)
      say(wrong, "leak: %d still holds %llu messages", at, number(process.core().messages_held()));
    if (process.core().wants_to_send()) say(wrong, "leak: %d still has packets to send", at);
    if (process.mesh().buffered_bytes() != 0)
      say(wrong, "leak: the mesh of %d still holds %llu bytes", at, number(process.mesh().buffered_bytes()));
    if (process.core().counters().bad_packets != 0)
      say(wrong, "core of %d got %llu packets that make no sense", at,
          number(process.core().counters().bad_packets));
    const std::uint64_t lost = process.mesh().counters().peers_lost;
    if (lost > (setup.dies >= 0 ? 1u : 0u))
      say(wrong, "%d took %llu living peers for dead", at, number(lost));
  }
}

// Compares windows with those of a serial program: every update of a counter exactly once and atomically, in
// the range of each process what it wrote last, and one more than was read for each exclusive lock.
void check_one_sided(const Setup& setup, const Net& net, const Processes& processes,
                     std::vector<std::string>& wrong) {
  using Words = OneSided::Words;
  const std::size_t hosts = processes.size();
  const WindowLayout layout(hosts);
  const auto index = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  std::vector<Words> sums(hosts, Words(WindowLayout::kRanges));
  for (std::uint32_t i = 0; i < setup.script.epochs.size(); ++i) {
    const EpochSpec& spec = setup.script.epochs[i];
    Words& words = sums[index(spec.to)];
    if (spec.kind == EpochSpec::update) ++words[WindowLayout::kUpdated];
    if (spec.kind != EpochSpec::count) continue;
    for (const std::uint64_t counter : counters_of(spec, setup.seed, i)) ++words[counter];
  }
  std::map<std::pair<std::int32_t, std::uint64_t>, std::set<std::int64_t>> seen;
  for (std::int32_t at = 0; at < setup.net.hosts; ++at) {
    if (!net.is_alive(at)) continue;
    const OneSided& mine = processes[index(at)]->one_sided();
    wrong.insert(wrong.end(), mine.wrong().begin(), mine.wrong().end());
    wrong.insert(wrong.end(), mine.active().wrong().begin(), mine.active().wrong().end());
    if (mine.active().ended() != setup.script.active.size())
      say(wrong, "%d ended %zu of %zu epochs of active target", at, mine.active().ended(),
          setup.script.active.size());
    if (mine.lost() != 0 && setup.dies < 0) say(wrong, "epochs of %d were lost, but no target died", at);
    for (const OneSided::Fetched& each : mine.fetched())
      if (!seen[{each.target, each.counter}].insert(each.before).second || each.before < 0 ||
          each.before >= sums[index(each.target)][each.counter])
        say(wrong, "%d fetched %lld from counter %llu of %d: twice, or never there", at,
            static_cast<long long>(each.before), static_cast<unsigned long long>(each.counter), each.target);
    if (setup.script.epochs.empty()) continue;
    for (std::uint64_t i = 0; i < WindowLayout::kRanges && setup.dies < 0; ++i)
      if (mine.memory()[i] != sums[index(at)][i])
        say(wrong, "word %llu of the window of %d is %lld, not %lld", static_cast<unsigned long long>(i), at,
            static_cast<long long>(mine.memory()[i]), static_cast<long long>(sums[index(at)][i]));
    for (std::int32_t from = 0; from < setup.net.hosts; ++from) {
      if (!net.is_alive(from)) continue;
      const Words& written = processes[index(from)]->one_sided().written_to(at);
      const auto begin = mine.memory().begin() + static_cast<std::ptrdiff_t>(layout.range_of(from));
      if (!std::equal(written.begin(), written.end(), begin))
        say(wrong, "the range of %d in the window of %d is not what it wrote", from, at);
    }
  }
}

}  // namespace herald::sim
