// SPDX-License-Identifier: BSD-3-Clause
// tools/replay/replayer.cpp: predicts every collective of a recorded program, corrects predictions by the
// recorded times, and replays the program on a changed network.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "commands.hpp"
#include "replay/replay.hpp"

namespace herald::tools {
namespace {

using model::Flow;

int length_class(double bytes) { return std::bit_width(static_cast<std::uint64_t>(bytes)); }

struct Sums {
  double seen = 0, predicted = 0;
  double ratio() const { return predicted > 0 ? std::clamp(seen / predicted, 1e-3, 1e6) : 1; }
};

// JoinedCall::ns and other_ns, as recorded: the mean over the ranks that it stands for.
struct Seen {
  double ns = -1, other_ns = -1;  // negative: not known
};

double mean_or_none(double sum, std::size_t count) {
  return count == 0 ? -1 : std::max(0.0, sum / static_cast<double>(count));
}

Seen seen_of(const RecordedCall& call, const model::JoinedCall& joined, bool one_clock) {
  const std::size_t n = call.came_ns.size();
  Seen seen;
  if (!one_clock) {  // the last rank that came waited for nobody
    if (joined.flow != Flow::all || n == 0) return seen;
    seen.ns = call.left_ns[0] - call.came_ns[0];
    for (std::size_t i = 1; i < n; ++i) seen.ns = std::min(seen.ns, call.left_ns[i] - call.came_ns[i]);
    return seen;
  }
  const double last = *std::max_element(call.came_ns.begin(), call.came_ns.end());
  const auto root = static_cast<std::size_t>(
      std::find(joined.members.begin(), joined.members.end(), joined.root) - joined.members.begin());
  double sum = 0, other = 0, before = 0;
  std::size_t count = 0, others = 0;
  for (std::size_t i = 0; i < n; ++i) {
    before = std::max(before, call.came_ns[i]);
    if (joined.flow == Flow::all || (joined.flow == Flow::to_root && i == root))
      sum += call.left_ns[i] - last, ++count;
    else if (joined.flow == Flow::prefix)
      sum += call.left_ns[i] - before, ++count;
    else if (joined.flow == Flow::to_root || i == root)
      other += call.left_ns[i] - call.came_ns[i], ++others;
    else if (call.came_ns[i] <= call.came_ns[root])
      sum += call.left_ns[i] - call.came_ns[root], ++count;
  }
  seen.ns = mean_or_none(sum, count);
  seen.other_ns = mean_or_none(other, others);
  return seen;
}

coll::Shape shape_for(const coll::Cluster& cluster, double cores) {
  coll::Shape shape = coll::shape_of(cluster.ranks(), cluster.hosts(), true);
  shape.largest_host = cluster.largest();
  shape.host_order = cluster.in_order();
  if (shape.largest_host > 1) {
    shape.shared_bytes = coll::kUsualSharedBytes;
    shape.streams = shape.hosts == 1;
    shape.reads_peers = true;
  }
  shape.leaders_lane = shape.hosts > 2;
  shape.lane = shape.leaders_lane && shape.hosts == shape.ranks;
  shape.oversubscribed = shape.largest_host > cores;
  return shape;
}

// Predicts collectives; those that differ in nothing only once.
class CallPredictor {
 public:
  CallPredictor(const model::Parameters& parameters, const WhatIf& change)
      : parameters_(parameters), predictor_(parameters), change_(change) {}

  struct Answer {
    model::Prediction prediction;
    bool other_algorithm = false;  // the one that was asked for does not fit
  };
  const Answer& predict(const RecordedCall& call, const std::vector<int>& hosts) {
    const auto [found, added] = answers_.try_emplace({call.op, call.algorithm, call.bytes, hosts});
    if (added) found->second = make(call, hosts);
    return found->second;
  }

 private:
  using Key = std::tuple<coll::Op, std::string, std::uint64_t, std::vector<int>>;

  Answer make(const RecordedCall& call, const std::vector<int>& hosts) {
    coll::Cluster cluster(hosts);
    const coll::Shape shape = shape_for(cluster, parameters_.cores);
    cluster.lane = shape.leaders_lane;
    cluster.reads_peers = shape.reads_peers;
    if (shape.ranks == 1) return {{0, {}, true}, false};
    Answer answer;
    const auto named = change_.algorithms.find(call.op);
    const std::string name = named != change_.algorithms.end() ? named->second
                             : change_.all_auto                ? "auto"
                                                               : call.algorithm;
    if (name == "auto") {
      const auto all = predictor_.candidates(call.op, call.bytes, shape, cluster);
      if (!all.empty()) return {all.front().prediction, false};
    }
    const coll::Algorithm* algorithm = coll::find_algorithm(call.op, name);
    if (algorithm != nullptr && algorithm->fits(shape) && (change_.hosts == 0 || name != call.algorithm))
      answer.prediction = predictor_.predict(*algorithm, call.bytes, shape, cluster);
    if (answer.prediction.complete) return answer;
    answer.other_algorithm = named != change_.algorithms.end();
    answer.prediction = predictor_.predict(predictor_.choose_cheapest(call.op, call.bytes, shape, cluster),
                                           call.bytes, shape, cluster);
    if (!answer.prediction.complete) answer.prediction = guess(call, shape);
    return answer;
  }

  // A tree of messages.
  model::Prediction guess(const RecordedCall& call, const coll::Shape& shape) const {
    const model::PathParameters& path = parameters_.of(shape.hosts > 1 ? model::Path::udp : model::Path::shm);
    const double levels = coll::log2_up(shape.ranks), bytes = static_cast<double>(call.bytes);
    model::Prediction all;
    all.split.overhead =
        levels * (path.send_overhead.at(bytes) + path.recv_overhead.at(bytes) + path.user_recv.at(bytes));
    all.split.wire = levels * path.latency.at(bytes);
    all.ns = all.split.total();
    all.complete = true;
    return all;
  }

  const model::Parameters& parameters_;
  coll::Predictor predictor_;
  const WhatIf& change_;
  std::map<Key, Answer> answers_;
};

std::vector<int> hosts_of(const model::Program& program, const model::JoinedCall& call) {
  std::vector<int> hosts;
  for (const std::int32_t rank : call.members) hosts.push_back(program.host[static_cast<std::size_t>(rank)]);
  return hosts;
}

bool leaves_host(const std::vector<int>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [&](int host) { return host != hosts.front(); });
}

bool is_remote(const model::Program& program, const model::Message& message) {
  return program.host[static_cast<std::size_t>(message.from)] !=
         program.host[static_cast<std::size_t>(message.to)];
}

}  // namespace

Replayer::Replayer(const Recorded& recorded, const model::Parameters& parameters)
    : recorded_(recorded), parameters_(parameters) {
  correct_calls(place({}, parameters));
  correct_messages(place({}, parameters));
}

void Replayer::correct_calls(const model::Program& base) {
  std::map<CallClass, Sums> sums;
  for (std::size_t i = 0; i < base.calls.size(); ++i) {
    const RecordedCall& call = recorded_.calls[i];
    const Seen seen = seen_of(call, base.calls[i], recorded_.one_clock);
    const bool remote = leaves_host(hosts_of(base, base.calls[i]));
    const auto add = [&](double ns, double predicted, bool other) {
      if (ns < 0) return;
      Sums& sum = sums[{call.op, length_class(static_cast<double>(call.bytes)), remote, other}];
      sum.seen += ns, sum.predicted += predicted;
    };
    add(seen.ns, base.calls[i].ns, false);
    add(seen.other_ns, base.calls[i].other_ns, true);
  }
  for (const auto& [key, sum] : sums) call_scales_[key] = sum.ratio();
}

// Messages wait for each other, so that their times do not follow from one correction at once.
void Replayer::correct_messages(model::Program base) {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const model::Replayed now = model::replay(base, parameters_);
    std::map<std::pair<bool, int>, Sums> sums;
    for (std::size_t i = 0; i < base.messages.size(); ++i) {
      if (recorded_.message_ns[i] <= 0 || now.message_ns[i] <= 0) continue;
      Sums& sum = sums[{is_remote(base, base.messages[i]), length_class(base.messages[i].bytes)}];
      sum.seen += recorded_.message_ns[i], sum.predicted += now.message_ns[i];
    }
    for (const auto& [key, sum] : sums) {
      double& scale = message_scales_.try_emplace(key, 1.0).first->second;
      scale = std::clamp(scale * sum.ratio(), 1e-3, 1e6);
    }
    scale_messages(base);
  }
}

void Replayer::scale_messages(model::Program& program) const {
  for (model::Message& message : program.messages) {
    const auto found = message_scales_.find({is_remote(program, message), length_class(message.bytes)});
    message.scale = found == message_scales_.end() ? 1 : found->second;
  }
}

double Replayer::call_scale(const CallClass& call) const {
  const auto found = call_scales_.find(call);
  return found == call_scales_.end() ? 1 : found->second;
}

model::Program Replayer::place(const WhatIf& change, const model::Parameters& parameters) {
  model::Program program = recorded_.program;
  const auto ranks = static_cast<int>(program.host.size());
  if (change.hosts > ranks)
    throw CLI::ValidationError("--with",
                               fmt::format("hosts={}: the program has {} ranks", change.hosts, ranks));
  for (int rank = 0; change.hosts > 0 && rank < ranks; ++rank)
    program.host[static_cast<std::size_t>(rank)] =
        static_cast<int>(std::int64_t{rank} * change.hosts / ranks);
  CallPredictor predictor(parameters, change);
  changed_algorithms = 0;
  for (std::size_t i = 0; i < program.calls.size(); ++i) {
    model::JoinedCall& joined = program.calls[i];
    const RecordedCall& call = recorded_.calls[i];
    const std::vector<int> hosts = hosts_of(program, joined);
    const CallPredictor::Answer& answer = predictor.predict(call, hosts);
    changed_algorithms += answer.other_algorithm ? 1 : 0;
    CallClass key{call.op, length_class(static_cast<double>(call.bytes)), leaves_host(hosts), false};
    joined.split = answer.prediction.split;
    joined.ns = answer.prediction.ns * call_scale(key);
    key.other = true;
    joined.other_ns = answer.prediction.ns / 2 * call_scale(key);
  }
  scale_messages(program);
  return program;
}

model::Replayed Replayer::run(const WhatIf& change) {
  const model::Parameters parameters = changed(parameters_, change);
  return model::replay(place(change, parameters), parameters, change.processors);
}

}  // namespace herald::tools
