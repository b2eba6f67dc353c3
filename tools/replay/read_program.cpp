// SPDX-License-Identifier: BSD-3-Clause
// tools/replay/read_program.cpp: the ranks' timelines joined: sends and receives become messages, and the
// calls of all ranks of a communicator become collectives.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "commands.hpp"
#include "replay/replay.hpp"

namespace herald::tools {
namespace {

coll::Op op_of(const std::string& name) {
  int op = 0;
  while (name != name_of(static_cast<coll::Op>(op))) ++op;  // read_rank() keeps no others
  return static_cast<coll::Op>(op);
}

model::Flow flow_of(coll::Op op) {
  switch (op) {
    case coll::Op::bcast:
    case coll::Op::scatter:
    case coll::Op::scatterv: return model::Flow::from_root;
    case coll::Op::reduce:
    case coll::Op::gather:
    case coll::Op::gatherv: return model::Flow::to_root;
    case coll::Op::scan:
    case coll::Op::exscan: return model::Flow::prefix;
    default: return model::Flow::all;
  }
}

void check_complete(const std::vector<Timeline>& lines) {
  std::size_t size = lines.size();
  for (const Timeline& line : lines) size = std::max(size, static_cast<std::size_t>(line.size));
  for (std::size_t rank = 0; rank < size; ++rank)
    if (rank >= lines.size() || lines[rank].rank != static_cast<int>(rank))
      fail("model replay",
           fmt::format("the timeline of rank {} is missing: give the files of all {} ranks", rank, size));
  for (const Timeline& line : lines) {
    if (line.lost != 0)
      fail("model replay",
           fmt::format("{} lost its first {} events: run the program again with HERALD_TRACE_EVENTS={}",
                       line.file, line.lost, 2 * (static_cast<std::size_t>(line.lost) + line.events.size())));
    const bool has_facts = std::any_of(line.events.begin(), line.events.end(), [](const Json& event) {
      return event.value("name", "") == "collective call";
    });
    const bool has_collectives = std::any_of(line.events.begin(), line.events.end(), [](const Json& event) {
      return event.value("name", "") == "collective";
    });
    if (has_collectives && !has_facts)
      fail(
          "model replay",
          fmt::format("{} is of an older Herald, which did not write the lengths of collectives", line.file));
  }
}

class Joiner {
 public:
  explicit Joiner(std::vector<RankLine> ranks) : ranks_(std::move(ranks)) {
    numbers_.resize(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      numbers_[rank].assign(ranks_[rank].operations.size(), kUnmatched);
  }

  void join(Recorded& out) {
    join_messages(out);
    join_calls(out);
    out.program.ranks.resize(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const RankLine::Mark& mark : ranks_[rank].marks) add_action(out.program.ranks[rank], rank, mark);
      out.ns = std::max(out.ns, ranks_[rank].end_ns);
      out.threads = std::max(out.threads, ranks_[rank].threads);
    }
  }

 private:
  static constexpr std::uint32_t kUnmatched = ~std::uint32_t{0};
  struct Place {
    int rank;
    std::size_t operation;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // from, to, tag, bytes

  RankOperation& at(const Place& place) {
    return ranks_[static_cast<std::size_t>(place.rank)].operations[place.operation];
  }
  std::uint32_t& number_of(const Place& place) {
    return numbers_[static_cast<std::size_t>(place.rank)][place.operation];
  }
  template <class Visit>
  void for_each(bool sends, Visit visit) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      for (std::size_t i = 0; i < ranks_[rank].operations.size(); ++i) {
        const RankOperation& operation = ranks_[rank].operations[i];
        if (!operation.is_collective && operation.end >= 0 && operation.is_send == sends)
          visit(Place{static_cast<int>(rank), i}, operation);
      }
  }

  // Messages of the same two ranks, tag and length arrive in order.
  void join_messages(Recorded& out) {
    std::map<Key, std::deque<Place>> sent;
    std::map<Key, std::set<std::int64_t>> senders;  // by receiver, tag and length, for other communicators
    for_each(true, [&](const Place& place, const RankOperation& send) {
      sent[{place.rank, send.peer, send.tag, send.bytes}].push_back(place);
      senders[{-1, send.peer, send.tag, send.bytes}].insert(place.rank);
    });
    for_each(false, [&](const Place& place, const RankOperation& recv) {
      std::deque<Place>* waiting = &sent[{recv.peer, place.rank, recv.tag, recv.bytes}];
      if (waiting->empty())
        for (const std::int64_t sender : senders[{-1, place.rank, recv.tag, recv.bytes}])
          if (std::deque<Place>& other = sent[{sender, place.rank, recv.tag, recv.bytes}]; !other.empty())
            waiting = &other;
      if (waiting->empty()) {
        ++out.unmatched;
        return;
      }
      const Place sender = waiting->front();
      waiting->pop_front();
      const RankOperation& send = at(sender);
      number_of(sender) = number_of(place) = static_cast<std::uint32_t>(out.program.messages.size());
      out.program.messages.push_back({sender.rank, place.rank, static_cast<double>(recv.bytes), 1});
      const bool known = out.one_clock && recv.prompt;
      out.message_ns.push_back(known ? std::max(0.0, recv.end - std::max(send.start, recv.start)) : 0);
    });
    for (const auto& [key, waiting] : sent) out.unmatched += waiting.size();
  }

  // The n-th call with a number, of each communicator, at all its ranks.
  void join_calls(Recorded& out) {
    std::map<std::tuple<std::int64_t, std::int64_t, std::size_t>, std::vector<Place>> calls;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> times;
      for (std::size_t i = 0; i < ranks_[rank].operations.size(); ++i) {
        const RankOperation& call = ranks_[rank].operations[i];
        if (!call.is_collective || call.end < 0 || !is_started(rank, i)) continue;
        const std::size_t n = times[{call.communicator, call.number}]++;
        calls[{call.communicator, call.number, n}].push_back({static_cast<int>(rank), i});
      }
    }
    for (auto& [key, places] : calls) add_call(out, std::get<0>(key), places);
  }
  bool is_started(std::size_t rank, std::size_t operation) {
    if (started_.size() != ranks_.size()) {
      started_.resize(ranks_.size());
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        for (const RankLine::Mark& mark : ranks_[r].marks)
          if (mark.kind == model::Action::Kind::join) started_[r].insert(mark.operation);
    }
    return started_[rank].contains(operation);
  }

  void add_call(Recorded& out, std::int64_t communicator, std::vector<Place>& places) {
    const auto rank_in = [&](const Place& place) {
      const auto& known = ranks_[static_cast<std::size_t>(place.rank)].rank_in;
      const auto found = known.find(communicator);
      return found == known.end() ? place.rank : found->second;
    };
    std::stable_sort(places.begin(), places.end(),
                     [&](const Place& a, const Place& b) { return rank_in(a) < rank_in(b); });
    RecordedCall call;
    const RankOperation& first = at(places.front());
    call.op = op_of(first.name);
    call.algorithm = first.algorithm;
    model::JoinedCall joined;
    joined.flow = flow_of(call.op);
    joined.root = static_cast<std::int32_t>(first.root);
    bool has_root = false;
    for (const Place& place : places) {
      const RankOperation& each = at(place);
      number_of(place) = static_cast<std::uint32_t>(out.calls.size());
      joined.members.push_back(place.rank);
      has_root = has_root || place.rank == joined.root;
      call.bytes = std::max(call.bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(0, each.bytes)));
      call.came_ns.push_back(each.start);
      call.left_ns.push_back(each.end);
    }
    const bool rooted = joined.flow == model::Flow::from_root || joined.flow == model::Flow::to_root;
    if (rooted && !has_root) joined.flow = model::Flow::all;
    out.program.calls.push_back(std::move(joined));
    out.calls.push_back(std::move(call));
  }

  void add_action(std::vector<model::Action>& actions, std::size_t rank, const RankLine::Mark& mark) {
    using Kind = model::Action::Kind;
    if (mark.kind == Kind::compute || mark.kind == Kind::overhead || mark.kind == Kind::other) {
      actions.push_back({mark.kind, 0, mark.ns});
      return;
    }
    const std::uint32_t id = numbers_[rank][mark.operation];
    if (id != kUnmatched) actions.push_back({mark.kind, id, 0});
  }

  std::vector<RankLine> ranks_;
  std::vector<std::vector<std::uint32_t>> numbers_;  // by rank and operation: of its message or collective
  std::vector<std::set<std::size_t>> started_;
};

}  // namespace

Recorded read_program(const std::vector<std::string>& files) {
  const std::vector<Timeline> lines = read_timelines(files);
  check_complete(lines);
  Recorded out;
  std::vector<std::string> hosts;
  std::int64_t first = lines.front().start_ns;
  for (const Timeline& line : lines) {
    out.one_clock = out.one_clock && line.clock == lines.front().clock;
    first = std::min(first, line.start_ns);
    auto host = std::find(hosts.begin(), hosts.end(), line.host);
    if (host == hosts.end()) host = hosts.insert(hosts.end(), line.host);
    out.program.host.push_back(static_cast<int>(host - hosts.begin()));
  }
  out.hosts = static_cast<int>(hosts.size());
  out.link_mbit = lines.front().link_mbit;
  out.cores = std::max(1.0, lines.front().cores);
  std::vector<RankLine> ranks;
  for (const Timeline& line : lines)
    ranks.push_back(read_rank(line, out.one_clock ? static_cast<double>(line.start_ns - first) : 0));
  Joiner(std::move(ranks)).join(out);
  if (out.ns <= 0) fail("model replay", "the timelines have no MPI calls: nothing to replay");
  return out;
}

}  // namespace herald::tools
