// SPDX-License-Identifier: BSD-3-Clause
#include "coll/predict.hpp"

#include <algorithm>

#include "coll/measured_shape.hpp"
#include "coll/sample.hpp"

namespace herald::coll {
namespace {

using model::Kind;

// A schedule of more steps is not walked: that of shorter data is, and the time continued along a line, as
// in equation 2 of the paper: each further chunk takes what the bottleneck takes for it.
// Where the steps are many for short data too, fewer hosts are walked, and the time grows by the formula of
// the table.
constexpr std::uint64_t kMostSteps = 400;
constexpr std::uint64_t kShort = 64 << 10, kLong = 8 << 20;  // bytes
constexpr int kFewRanks = 8;                                 // for so many no rank stands for all

Kind kind_of(StepKind kind) noexcept {
  switch (kind) {
    case StepKind::send: return Kind::send;
    case StepKind::recv: return Kind::recv;
    case StepKind::cast: return Kind::cast;
    case StepKind::contribute: return Kind::contribute;
    case StepKind::gather: return Kind::gather;
    case StepKind::announce: return Kind::announce;
    case StepKind::copy: return Kind::copy;
    case StepKind::reduce: return Kind::reduce;
    case StepKind::check: return Kind::none;
    case StepKind::post: return Kind::post;
    case StepKind::fetch: return Kind::fetch;
    case StepKind::put: return Kind::put;
    case StepKind::arrive: return Kind::arrive;
    case StepKind::wait_arrived: return Kind::wait_arrived;
    case StepKind::combine: return Kind::combine;
    case StepKind::stream_write: return Kind::stream_write;
    case StepKind::stream_read: return Kind::stream_read;
    case StepKind::stream_reduce: return Kind::stream_reduce;
  }
  return Kind::none;
}

bool is_shared(StepKind kind) noexcept { return kind >= StepKind::post; }

// The same steps, but for partners.
bool alike(const Plan& a, const Plan& b) noexcept {
  if (a.steps.size() != b.steps.size() || a.next != b.next) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const Step &x = a.steps[i], &y = b.steps[i];
    if (x.kind != y.kind || x.tag != y.tag || x.successors != y.successors) return false;
    const std::uint64_t more = std::max(x.a.bytes, y.a.bytes), less = std::min(x.a.bytes, y.a.bytes);
    if (more - less > more / 64 + 16) return false;  // parts of unequal length by an item or two
  }
  return true;
}

bool rooted(Op op) noexcept {
  return op == Op::bcast || op == Op::reduce || op == Op::gather || op == Op::scatter || op == Op::gatherv ||
         op == Op::scatterv || op == Op::scan || op == Op::exscan;
}

model::Split scaled(const model::Split& split, double by) noexcept {
  return {split.overhead * by, split.wire * by, split.contention * by, split.copying * by};
}

bool has_unknown_sizes(Op op) noexcept {
  return op == Op::gatherv || op == Op::scatterv || op == Op::alltoallv || op == Op::alltoallw;
}

}  // namespace

Cluster cluster_of(const Shape& shape) noexcept {
  std::vector<int> numbers;
  for (int rank = 0; rank < shape.ranks; ++rank)
    numbers.push_back(std::min(shape.hosts - 1, rank / std::max(1, shape.largest_host)));
  Cluster cluster(numbers);
  cluster.lane = shape.leaders_lane;
  cluster.reads_peers = shape.reads_peers;
  return cluster;
}

void Predictor::add_plan(const Plan& plan, int rank, const Cluster& cluster) noexcept {
  const auto base = static_cast<std::uint32_t>(schedule_.steps.size());
  const auto edges = static_cast<std::uint32_t>(schedule_.next.size());
  schedule_.first.push_back(base);
  const std::vector<int>& local = cluster.on_host(cluster.host_of(rank));
  for (std::uint32_t i = 0; i < plan.size(); ++i) {
    const Step& from = plan.steps[i];
    model::Step step;
    step.kind = kind_of(from.kind);
    step.tag = from.tag;
    step.second = from.second;
    step.copied = from.copied;
    step.acknowledged = from.acknowledged;
    step.partner = from.partner;
    if (is_shared(from.kind) && from.partner >= 0 && from.partner < static_cast<int>(local.size()))
      step.partner = local[static_cast<std::size_t>(from.partner)];
    step.needs = from.needs;
    step.successors = from.successors + edges;
    step.bytes = static_cast<double>(from.a.bytes);
    schedule_.steps.push_back(step);
  }
  for (const StepId to : plan.next) schedule_.next.push_back(to + base);
}

void Predictor::begin(const Call& call) noexcept {
  schedule_.clear();
  schedule_.ranks = call.shape.ranks;
  schedule_.hosts = call.shape.hosts;
  schedule_.ranks_per_host = call.cluster.largest();
}

model::Prediction Predictor::end() noexcept {
  schedule_.first.push_back(static_cast<std::uint32_t>(schedule_.steps.size()));
  schedule_.steps.emplace_back();
  schedule_.steps.back().successors = static_cast<std::uint32_t>(schedule_.next.size());
  return evaluator_.run(schedule_, parameters_);
}

// Ranks 0, 1, in the middle and at the end do the same: one of them stands for all.
model::Prediction Predictor::walk_one(const Call& call, std::uint64_t bytes) noexcept {
  const Sample sample(call.algorithm.op, bytes, call.shape, &call.cluster);
  const Plan first = make_plan(call.algorithm, sample.spec_of(1));
  for (const int rank : {0, call.shape.ranks / 2, call.shape.ranks - 1})
    if (!alike(first, make_plan(call.algorithm, sample.spec_of(rank)))) return {};
  begin(call);
  schedule_.symmetric = true;
  add_plan(first, 0, call.cluster);
  return end();
}

model::Prediction Predictor::walk_all(const Call& call, std::uint64_t bytes) noexcept {
  const Sample sample(call.algorithm.op, bytes, call.shape, &call.cluster);
  begin(call);
  for (int rank = 0; rank < call.shape.ranks; ++rank) {
    schedule_.host.push_back(call.cluster.host_of(rank));
    add_plan(make_plan(call.algorithm, sample.spec_of(rank)), rank, call.cluster);
  }
  return end();
}

model::Prediction Predictor::walk(const Call& call, std::uint64_t bytes) noexcept {
  return call.one_for_all ? walk_one(call, bytes) : walk_all(call, bytes);
}

// Each further byte takes as long as between `near` and `far`.
model::Prediction Predictor::continue_line(const Call& call, std::uint64_t bytes,
                                           std::uint64_t far) noexcept {
  const std::uint64_t near = far / 2;
  const model::Prediction a = walk(call, near);
  if (!a.complete) return {};
  model::Prediction all = walk(call, far);
  const double times = static_cast<double>(bytes - far) / static_cast<double>(far - near);
  const auto go_on = [times](double from, double& to) { to = std::max(to, to + (to - from) * times); };
  go_on(a.split.overhead, all.split.overhead);
  go_on(a.split.wire, all.split.wire);
  go_on(a.split.contention, all.split.contention);
  go_on(a.split.copying, all.split.copying);
  const double parts = all.split.total();
  go_on(a.ns, all.ns);
  all.split = scaled(all.split, parts > 0 ? all.ns / parts : 1);
  return all;
}

// A plan for much data may have thousands of steps: those for shorter data tell how many.
Predictor::Length Predictor::length_of(const Call& call, std::uint64_t bytes) noexcept {
  const auto steps_of = [&](std::uint64_t size) {
    const Sample sample(call.algorithm.op, size, call.shape, &call.cluster);
    return std::uint64_t{make_plan(call.algorithm, sample.spec_of(call.shape.ranks / 2)).size()};
  };
  if (bytes <= 2 * kShort) return {steps_of(bytes), 0, 0};
  std::uint64_t near = kShort, few = steps_of(near), far = 2 * kShort, more = steps_of(far);
  if (more <= few) near = far, few = more, far = std::min(bytes, kLong), more = steps_of(far);
  if (more <= few || far == bytes) return {more, 0, 0};
  return {few + (more - few) * (bytes - near) / (far - near), more, far};
}

// Not complete: the schedule is too long, or has ranks that are not alike.
model::Prediction Predictor::walk_if_short(const Call& call, std::uint64_t bytes,
                                           const Length& length) noexcept {
  const auto plans = static_cast<std::uint64_t>(call.one_for_all ? 1 : call.shape.ranks);
  const std::uint64_t steps = length.steps * plans;
  if (steps <= kMostSteps) return walk(call, bytes);
  if (length.short_steps == 0 || length.short_steps * plans > kMostSteps) return {};
  // Half of `far` is walked as well.
  const std::uint64_t far = std::max(length.short_bytes, bytes * kMostSteps / steps * 2 / 3);
  return continue_line(call, bytes, std::min(far, bytes));
}

// Half as many hosts (or ranks of a single one), as long as the algorithm fits them.
Shape Predictor::halve(const Algorithm& algorithm, const Shape& shape) noexcept {
  Shape half = shape;
  if (shape.hosts > 1) {
    half.hosts = (shape.hosts + 1) / 2;
    half.ranks = half.hosts * shape.largest_host;
  } else {
    half.ranks = half.largest_host = (shape.ranks + 1) / 2;
  }
  return half.ranks >= 3 && half.ranks < shape.ranks && algorithm.fits(half) ? half : shape;
}

model::Prediction Predictor::predict(const Algorithm& algorithm, std::uint64_t bytes, const Shape& shape,
                                     const Cluster& cluster) noexcept {
  return predict_for(algorithm, bytes, measured_shape(shape, parameters_), cluster);
}

model::Prediction Predictor::predict_for(const Algorithm& algorithm, std::uint64_t bytes, const Shape& shape,
                                         const Cluster& cluster) noexcept {
  if (!algorithm.fits(shape) || algorithm.estimate(bytes, shape) >= kNeverNs) return {};
  Call call{algorithm, shape, cluster};
  const Length length = length_of(call, bytes);
  const bool uniform = shape.hosts == 1 || shape.hosts == shape.ranks;
  if (uniform && shape.ranks > kFewRanks && !rooted(algorithm.op)) {
    call.one_for_all = true;
    const model::Prediction all = walk_if_short(call, bytes, length);
    if (all.complete) return all;
    call.one_for_all = false;
  }
  if (const model::Prediction all = walk_if_short(call, bytes, length); all.complete) return all;
  const Shape half = halve(algorithm, shape);
  if (half.ranks == shape.ranks) return walk_all(call, bytes);
  model::Prediction all = predict_for(algorithm, bytes, half, cluster_of(half));
  const double times =
      algorithm.estimate(bytes, with_cost(shape)) / algorithm.estimate(bytes, with_cost(half));
  all.ns *= times;
  all.split = scaled(all.split, times);
  return all;
}

// The formulas of the table tell how a time grows with the number of hosts, given these costs.
Shape Predictor::with_cost(Shape shape) const noexcept {
  const model::PathParameters& path = parameters_.of(shape.hosts > 1 ? model::Path::udp : model::Path::shm);
  shape.cost.message_ns =
      path.send_overhead.at(0) + path.latency.at(0) + path.recv_overhead.at(0) + path.user_recv.at(0);
  shape.cost.byte_ns = std::max(0.01, path.latency.slope_at(65536) + path.user_recv.slope_at(65536));
  shape.cost.copy_byte_ns = parameters_.copy_in_cache.slope_at(65536);
  shape.cost.reduce_byte_ns = parameters_.reduce[1].slope_at(65536);
  return shape;
}

std::vector<Predictor::Candidate> Predictor::candidates(Op op, std::uint64_t bytes, const Shape& shape,
                                                        const Cluster& cluster) noexcept {
  std::vector<Candidate> all;
  for (const Algorithm* row : algorithms())
    if (row->op == op) {
      const model::Prediction prediction = predict(*row, bytes, shape, cluster);
      if (prediction.complete) all.push_back({row, prediction});
    }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.prediction.ns < b.prediction.ns; });
  return all;
}

// The model does not know inside a host what fits best, nor what few bytes cost to a microsecond, and has
// been a third off for some algorithms: there, and where it sees less difference, the table decides.
std::vector<Predictor::Candidate> Predictor::ranked(Op op, std::uint64_t bytes, const Shape& shape,
                                                    const Cluster& cluster) noexcept {
  constexpr std::uint64_t kLeastBytes = 1024;
  constexpr double kClearly = 1.5;
  const Candidate usual{&choose(op, bytes, measured_shape(shape, parameters_)), {}};
  if (has_unknown_sizes(op) || shape.hosts < 2 || bytes < kLeastBytes) return {usual};
  std::vector<Candidate> all = candidates(op, bytes, shape, cluster);
  if (all.empty()) return {usual};
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const Candidate& each) { return each.algorithm == usual.algorithm; });
  if (at != all.end() && at->prediction.ns <= kClearly * all.front().prediction.ns)
    std::rotate(all.begin(), at, at + 1);
  return all;
}

}  // namespace herald::coll
