// SPDX-License-Identifier: BSD-3-Clause
#include "model/evaluator.hpp"

#include <algorithm>

namespace herald::model {
namespace {

constexpr double kStreamChunk = 16384;  // coll::kStreamChunk
constexpr double kWordNs = 60;          // an update of a barrier word that other cores read

}  // namespace

Prediction Evaluator::run(const Schedule& schedule, const Parameters& parameters) noexcept {
  schedule_ = &schedule;
  parameters_ = &parameters;
  nodes_.clear(), edges_.clear(), heap_.clear();
  order_ = 0;
  result_ = {};
  ranks_.assign(static_cast<std::size_t>(schedule.symmetric ? 1 : schedule.ranks), {});
  ports_.assign(static_cast<std::size_t>(schedule.symmetric ? 1 : schedule.hosts), {});
  stretch_ = std::max(1.0, schedule.ranks_per_host / std::max(1.0, parameters.cores));
  for (std::size_t rank = 0; rank + 1 < schedule.first.size(); ++rank)
    for (std::uint32_t i = schedule.first[rank]; i < schedule.first[rank + 1]; ++i) {
      const Step& step = schedule.steps[i];
      add_node(step.kind, static_cast<std::int32_t>(rank), step.bytes, step.needs);
      nodes_.back().step = i;
      nodes_.back().acknowledged = step.acknowledged;
    }
  if (!match()) return {};
  add_shared_edges();
  unfinished_ = static_cast<std::uint32_t>(schedule.steps.size() - 1);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].needs == 0) push(0, i, What::start);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Event event = heap_.back();
    heap_.pop_back();
    switch (event.what) {
      case What::start: start(event.node, event.at); break;
      case What::reach_port: reach_port(event.node, event.at); break;
      case What::land: land(event.node, event.at); break;
      case What::resume: resume(event.node, event.at); break;
      case What::finish: finish(event.node, event.at); break;
    }
  }
  result_.complete = unfinished_ == 0;
  return result_;
}

// Most receives are posted before their message comes, and for most steps no other one waits: those are no
// events.
void Evaluator::push(double at, std::uint32_t id, What what) noexcept {
  if (what == What::start && nodes_[id].kind == Kind::recv && !nodes_[id].arrived && !nodes_[id].held) {
    nodes_[id].posted = true;
    return;
  }
  const bool last = what == What::finish && nodes_[id].step == id && nodes_[id].edges == kNobody &&
                    schedule_->steps[id].successors == schedule_->steps[id + 1].successors;
  if (last) return finish(id, at);
  heap_.push_back({at, order_++, id, what});
  std::push_heap(heap_.begin(), heap_.end());
}

// A rank that has waited for longer than it spins must be woken first.
double Evaluator::take_processor(const Node& node, Split& split, double now) noexcept {
  const double free = ranks_[static_cast<std::size_t>(node.rank)].free_ns;
  if (free > now) {
    split.extend(free, &Split::contention);
    return free;
  }
  if (now - free <= parameters_->spin_ns) return now;
  split.extend(now + parameters_->wake_ns, &Split::overhead);
  return now + parameters_->wake_ns;
}

void Evaluator::work(std::uint32_t id, double now, double ns) noexcept {
  Node& node = nodes_[id];
  const double end = take_processor(node, node.split, now) + share(ns);
  node.split.extend(end, &Split::copying);
  ranks_[static_cast<std::size_t>(node.rank)].free_ns = end;
  push(end, id, What::finish);
}

void Evaluator::start(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  const Parameters& p = *parameters_;
  const PathParameters& local = p.of(Path::shm);
  switch (node.kind) {
    case Kind::none:
    case Kind::gather:
    case Kind::wait_arrived: return finish(id, now);
    case Kind::send:
    case Kind::cast:
    case Kind::contribute:
    case Kind::announce: return start_send(id, now);
    case Kind::recv: return start_recv(id, now);
    case Kind::copy: return work(id, now, p.copy_ns(node.bytes));
    case Kind::reduce: return work(id, now, p.reduce_ns(schedule_->reduction, node.bytes));
    case Kind::post:
      return work(id, now, schedule_->steps[id].copied ? local.send_overhead.at(node.bytes) : kWordNs);
    case Kind::fetch: return work(id, now, local.latency.at(0) + local.user_recv.at(node.bytes));
    case Kind::put: return work(id, now, p.of(Path::direct).user_recv.at(node.bytes));
    case Kind::arrive: return work(id, now, kWordNs);
    case Kind::combine:
      // The added node is the reduction by the last rank that arrives.
      return work(id, now, node.step == kNobody ? p.reduce_ns(schedule_->reduction, node.bytes) : kWordNs);
    case Kind::stream_write:
    case Kind::stream_read:
    case Kind::stream_reduce: return start_stream(id, now);
  }
}

// Readers follow the writer by one chunk, and end a chunk after it.
void Evaluator::start_stream(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  const Parameters& p = *parameters_;
  const double chunk = std::min(node.bytes, kStreamChunk);
  double ns = share(p.copy_ns(node.bytes)), head = share(p.copy_ns(chunk));
  if (node.kind == Kind::stream_reduce) {
    const double others = std::max(1, schedule_->ranks_per_host - 1);
    ns = share(p.reduce_ns(schedule_->reduction, node.bytes) * others);
    head = share(p.reduce_ns(schedule_->reduction, chunk) * others);
  }
  const double begin = take_processor(node, node.split, now);
  const double end = std::max(begin + ns, node.floor_ns + head);
  Split at_head = node.split;
  at_head.extend(begin + head, &Split::copying);
  node.split.extend(begin + ns, &Split::copying);
  node.split.extend(end, &Split::contention);
  ranks_[static_cast<std::size_t>(node.rank)].free_ns = end;
  for (std::uint32_t e = node.edges; e != kNobody; e = edges_[e].next) {
    if (!edges_[e].at_start) continue;
    Node& reader = nodes_[edges_[e].to];
    reader.floor_ns = std::max(reader.floor_ns, end);
    fire(edges_[e].to, begin + head, at_head);
  }
  push(end, id, What::finish);
}

Path Evaluator::path_of(const Node& send, const Node& recv) const noexcept {
  if (send.kind != Kind::send) return Path::mcast;
  const bool local = schedule_->symmetric ? schedule_->hosts == 1 : host_of(send.rank) == host_of(recv.rank);
  if (!local) return Path::udp;
  return send.bytes > parameters_->of(Path::shm).eager_bytes ? Path::direct : Path::shm;
}

// The sender of a long message waits for its receiver.
void Evaluator::start_send(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  if (node.receivers == kNobody) return finish(id, now);
  Node& recv = nodes_[node.receivers];
  if (node.kind == Kind::send && !recv.posted &&
      node.bytes > parameters_->of(path_of(node, recv)).eager_bytes) {
    recv.held = true;
    node.ready = now;
    return;
  }
  launch(id, now);
}

void Evaluator::launch(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  const Path which = path_of(node, nodes_[node.receivers]);
  const bool remote = which != Path::shm && which != Path::direct;
  const PathParameters& path = parameters_->of(which);
  const double head = std::min(node.bytes, path.packet_bytes);
  const double begin = take_processor(node, node.split, now);
  int receivers = 0;
  for (std::uint32_t r = node.receivers; r != kNobody; r = nodes_[r].next_receiver) ++receivers;
  const double more = which == Path::mcast ? parameters_->fan_out_ns * std::max(0, receivers - 1) : 0;
  const double end = begin + share(path.send_overhead.at(node.bytes) + more);
  const double out = begin + share(path.send_overhead.at(head));
  ranks_[static_cast<std::size_t>(node.rank)].free_ns = end;
  Split way = node.split;
  way.extend(out, &Split::overhead);
  double leaves = out;
  if (remote) {
    leaves = leave_port(node, out, end);
    way.extend(leaves, &Split::contention);
  }
  const double pairs = schedule_->symmetric ? schedule_->hosts / 2.0 - 1 : 0;
  const double slower = remote ? std::max(0.0, pairs) * path.latency_per_pair.at(node.bytes) : 0;
  // L ends when the port of the receiver has passed the message on.
  const double service = remote ? path.recv_gap.at(head) : 0;
  for (std::uint32_t r = node.receivers; r != kNobody; r = nodes_[r].next_receiver) {
    Node& recv = nodes_[r];
    recv.first_ns = leaves + std::max(0.0, path.latency.at(head) - service) + slower;
    recv.last_ns =
        std::max(leaves + path.latency.at(node.bytes) + slower, remote ? 0 : end + path.latency.at(0));
    recv.way = way;
    recv.way.extend(remote ? recv.first_ns : recv.last_ns, &Split::wire);
    push(remote ? recv.first_ns : recv.last_ns, r, remote ? What::reach_port : What::land);
  }
  const bool is_long = node.kind == Kind::send && node.bytes > path.eager_bytes;
  if (is_long || node.acknowledged || node.kind == Kind::contribute) return;  // complete with the answer
  node.split.extend(end, &Split::overhead);
  push(end, id, What::finish);
}

// When the message leaves its host, whose processor works on it until `end`.
double Evaluator::leave_port(const Node& node, double out, double end) noexcept {
  const Path which = node.kind == Kind::send ? Path::udp : Path::mcast;
  Port& port = port_of(node.rank);
  const double leaves = std::max(out, port.send_free_ns),
               gap = parameters_->of(which).send_gap.at(node.bytes);
  port.send_free_ns = std::max(leaves + gap, end);
  const double turn = parameters_->interference * gap;
  if (turn > 0) port.recv_free_ns = std::max(port.recv_free_ns, leaves) + turn;
  return leaves;
}

void Evaluator::start_recv(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  node.posted = true;
  Node& send = nodes_[node.source];
  const Path which = path_of(send, node);
  if (node.held) {
    node.held = false;
    const double pull = parameters_->of(which).latency.at(0);
    send.split = node.split;
    send.split.extend(now + pull, &Split::wire);
    return launch(node.source, now + pull);
  }
  if (!node.arrived) return;
  if (node.last_ns > now) node.split = node.way;
  const double begin = take_processor(node, node.split, std::max(now, node.last_ns));
  const double end = begin + share(parameters_->of(which).user_recv.at(node.bytes));
  ranks_[static_cast<std::size_t>(node.rank)].free_ns = end;
  node.split.extend(end, &Split::overhead);
  push(end, id, What::finish);
  if (send.acknowledged && node.bytes <= parameters_->of(which).eager_bytes)
    answer(node.source, end, which, node.split);
}

// The ports of a switch serve messages in the order of their first packets.
void Evaluator::reach_port(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  const Path which = path_of(nodes_[node.source], node);
  const PathParameters& path = parameters_->of(which);
  Port& port = port_of(node.rank);
  const double begin = std::max(now, port.recv_free_ns), gap = path.recv_gap.at(node.bytes);
  const double backlog = (begin - now) / std::max(1e-6, path.recv_gap.slope_at(node.bytes));
  const double last = std::max(begin + gap, node.last_ns);
  port.recv_free_ns = begin + gap;
  const double turn = parameters_->interference * gap;
  if (turn > 0) port.send_free_ns = std::max(port.send_free_ns, begin) + turn;
  const bool full = parameters_->switch_bytes > 0 && backlog + node.bytes > parameters_->switch_bytes;
  const double repair = full && backlog > 0 ? parameters_->repair_ns : 0;
  node.way.extend(begin, &Split::contention);
  node.way.extend(last, &Split::wire);
  node.way.extend(last + repair, &Split::contention);
  node.first_ns = begin;
  node.last_ns = last + repair;
  push(node.last_ns, id, What::land);
}

void Evaluator::land(std::uint32_t id, double now) noexcept {
  Rank& rank = ranks_[static_cast<std::size_t>(nodes_[id].rank)];
  if (rank.head == kNobody && rank.free_ns <= now) return handle(id, now);
  if (rank.head == kNobody)
    rank.head = id;
  else
    nodes_[rank.tail].waiting = id;
  rank.tail = id;
  if (!rank.resumes)
    push(std::max(now, rank.free_ns), static_cast<std::uint32_t>(nodes_[id].rank), What::resume);
  rank.resumes = true;
}

void Evaluator::resume(std::uint32_t index, double now) noexcept {
  Rank& rank = ranks_[index];
  if (rank.free_ns <= now) {
    const std::uint32_t id = rank.head;
    rank.head = nodes_[id].waiting;
    nodes_[id].way.extend(now, &Split::contention);
    handle(id, now);
  }
  rank.resumes = rank.head != kNobody;
  if (rank.resumes) push(std::max(now, rank.free_ns), index, What::resume);
}

// The rank has a processor for a message that has landed.
void Evaluator::handle(std::uint32_t id, double now) noexcept {
  Node& node = nodes_[id];
  const std::uint32_t source = node.source;
  const Path which = path_of(nodes_[source], node);
  const PathParameters& path = parameters_->of(which);
  Rank& rank = ranks_[static_cast<std::size_t>(node.rank)];
  const double head = std::min(node.bytes, path.packet_bytes);
  double all = path.recv_overhead.at(node.bytes), tail = path.recv_overhead.at(head);
  if (node.posted) all += path.user_recv.at(node.bytes), tail += path.user_recv.at(head);
  // Packets were handled while later ones were on their way.
  const double before = std::max(0.0, node.last_ns - std::max(node.first_ns, rank.free_ns));
  const double end = take_processor(node, node.way, now) + std::max(share(tail), share(all) - before);
  node.way.extend(end, &Split::overhead);
  rank.free_ns = end;
  node.arrived = true;
  node.last_ns = end;
  const bool is_long = nodes_[source].kind == Kind::send && node.bytes > path.eager_bytes;
  if (is_long || (node.posted && nodes_[source].acknowledged)) answer(source, end, which, node.way);
  if (!node.posted) return;
  node.split = node.way;
  push(end, id, What::finish);
}

// The sender learns that its message has been received.
void Evaluator::answer(std::uint32_t send, double now, Path which, const Split& split) noexcept {
  const double at = now + (which == Path::direct ? 0 : parameters_->of(which).latency.at(0));
  nodes_[send].split = split;
  nodes_[send].split.extend(at, &Split::wire);
  push(at, send, What::finish);
}

void Evaluator::fire(std::uint32_t to, double now, const Split& split) noexcept {
  Node& node = nodes_[to];
  if (now >= node.ready) {
    node.ready = now;
    node.split = split;
  }
  if (--node.needs == 0) push(node.ready, to, What::start);
}

void Evaluator::finish(std::uint32_t id, double now) noexcept {
  const Split split = nodes_[id].split;
  for (std::uint32_t e = nodes_[id].edges; e != kNobody; e = edges_[e].next)
    if (!edges_[e].at_start) fire(edges_[e].to, now, split);
  if (nodes_[id].step == kNobody) return;
  const std::uint32_t step = nodes_[id].step;
  if (step != id) {  // the result of a fused exchange completes the contribution
    nodes_[step].split = split;
    return finish(step, now);
  }
  --unfinished_;
  if (now >= result_.ns) {
    result_.ns = now;
    result_.split = split;
  }
  const Schedule& all = *schedule_;
  for (std::uint32_t i = all.steps[step].successors; i < all.steps[step + 1].successors; ++i)
    fire(all.next[i], now, split);
}

}  // namespace herald::model
