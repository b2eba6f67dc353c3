// SPDX-License-Identifier: BSD-3-Clause
#include "model/replay.hpp"

#include <algorithm>
#include <queue>

namespace herald::model {
namespace {

constexpr double kNever = -1;

struct Flight {  // of a message
  double sent = kNever, posted = kNever, launched = kNever, first = 0, last = 0;
  double sender_done = kNever, done = kNever;
  bool landed = false;
  Split split;  // from launched to done
};

struct Meeting {  // of the ranks of a collective
  std::vector<double> came;
  std::size_t count = 0;
  double last = 0;
};

struct RankState {
  std::size_t next = 0;
  double blocked_since = kNever;
  bool resumes = false;  // it is known when
  Shares shares;
};

struct Port {
  double send_free = 0, recv_free = 0;
};

struct Event {
  enum class What : std::uint8_t { reach_port, land, run };
  double at;
  std::uint64_t order;
  What what;
  std::uint32_t id;
  bool operator<(const Event& other) const noexcept {
    return at != other.at ? at > other.at : order > other.order;
  }
};

class Run {
 public:
  Run(const Program& program, const Parameters& parameters, double processors)
      : program_(program), parameters_(parameters), processors_(std::max(1e-3, processors)) {
    flights_.resize(program.messages.size());
    meetings_.resize(program.calls.size());
    for (std::size_t i = 0; i < meetings_.size(); ++i)
      meetings_[i].came.assign(program.calls[i].members.size(), kNever);
    ranks_.resize(program.ranks.size());
    ends_.assign(program.ranks.size(), 0);
    int hosts = 1;
    for (const int host : program.host) hosts = std::max(hosts, host + 1);
    ports_.resize(static_cast<std::size_t>(hosts));
  }

  Replayed go() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) push(0, Event::What::run, rank);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      switch (event.what) {
        case Event::What::run: run(event.id, event.at); break;
        case Event::What::reach_port: reach_port(event.id, event.at); break;
        case Event::What::land: land(event.id, event.at); break;
      }
    }
    return result();
  }

 private:
  void push(double at, Event::What what, std::uint32_t id) { events_.push({at, order_++, what, id}); }

  // Until the rank must wait, or time passes.
  void run(std::uint32_t rank, double now) {
    RankState& state = ranks_[rank];
    if (state.blocked_since != kNever) {
      account(state, program_.ranks[rank][state.next++], state.blocked_since, now);
      state.blocked_since = kNever;
      state.resumes = false;
    }
    for (; state.next < program_.ranks[rank].size(); ++state.next) {
      const Action& action = program_.ranks[rank][state.next];
      switch (action.kind) {
        case Action::Kind::compute: spend(rank, now, action.ns / processors_, state.shares.computing); return;
        case Action::Kind::overhead: spend(rank, now, action.ns / processors_, state.shares.overhead); return;
        case Action::Kind::other: spend(rank, now, action.ns, state.shares.other); return;
        case Action::Kind::send:
          flights_[action.id].sent = now;
          try_launch(action.id);
          break;
        case Action::Kind::recv: post(action.id, now); break;
        case Action::Kind::join: join(action.id, rank, now); break;
        case Action::Kind::await_send:
        case Action::Kind::await_recv:
        case Action::Kind::await_join: {
          const double done = done_at(action, rank);
          if (done != kNever && done <= now) break;
          state.blocked_since = now;
          state.resumes = done != kNever;
          if (state.resumes) push(done, Event::What::run, rank);
          return;
        }
      }
    }
    ends_[rank] = now;
  }

  void spend(std::uint32_t rank, double now, double ns, double& share) {
    share += ns;
    ++ranks_[rank].next;
    push(now + ns, Event::What::run, rank);
  }

  double done_at(const Action& action, std::uint32_t rank) const {
    if (action.kind == Action::Kind::await_send) return flights_[action.id].sender_done;
    if (action.kind == Action::Kind::await_recv) return flights_[action.id].done;
    return call_done(action.id, rank);
  }

  // The rank goes on if it waits for this.
  void wake(std::int32_t rank, Action::Kind kind, std::uint32_t id) {
    const auto index = static_cast<std::uint32_t>(rank);
    RankState& state = ranks_[index];
    if (state.blocked_since == kNever || state.resumes) return;
    const Action& action = program_.ranks[index][state.next];
    if (action.kind != kind || action.id != id) return;
    const double done = done_at(action, index);
    state.resumes = done != kNever;
    if (state.resumes) push(std::max(done, state.blocked_since), Event::What::run, index);
  }

  // Time before the message left or the last rank came is waiting; the rest is shared as the cost was.
  void account(RankState& state, const Action& action, double from, double until) const {
    double begun = from;
    Split split;
    if (action.kind == Action::Kind::await_join) {
      begun = begun_at(action.id);
      split = program_.calls[action.id].split;
    } else {
      begun = flights_[action.id].launched;
      split = flights_[action.id].split;
    }
    const double late = std::clamp(begun - from, 0.0, until - from), rest = until - from - late;
    const double total = split.total();
    state.shares.waiting += late;
    if (total <= 0) {
      state.shares.overhead += rest;
      return;
    }
    state.shares.overhead += rest * split.overhead / total;
    state.shares.wire += rest * split.wire / total;
    state.shares.contention += rest * split.contention / total;
    state.shares.copying += rest * split.copying / total;
  }

  bool is_remote(const Message& message) const {
    return program_.host[static_cast<std::size_t>(message.from)] !=
           program_.host[static_cast<std::size_t>(message.to)];
  }
  const PathParameters& path_of(const Message& message) const {
    if (is_remote(message)) return parameters_.of(Path::udp);
    const bool is_long = message.bytes > parameters_.of(Path::shm).eager_bytes;
    return parameters_.of(is_long ? Path::direct : Path::shm);
  }
  Port& port_of(std::int32_t rank) {
    return ports_[static_cast<std::size_t>(program_.host[static_cast<std::size_t>(rank)])];
  }

  void post(std::uint32_t id, double now) {
    Flight& flight = flights_[id];
    flight.posted = now;
    try_launch(id);
    if (!flight.landed) return;
    const Message& message = program_.messages[id];
    finish(id, now + path_of(message).user_recv.at(message.bytes) * message.scale, &Split::overhead);
  }

  // A long message leaves when its receiver has posted it.
  void try_launch(std::uint32_t id) {
    Flight& flight = flights_[id];
    const Message& message = program_.messages[id];
    const PathParameters& path = path_of(message);
    const bool is_long = message.bytes > path.eager_bytes;
    if (flight.launched != kNever || flight.sent == kNever || (is_long && flight.posted == kNever)) return;
    const double pull = is_long ? path.latency.at(0) : 0;
    flight.launched = std::max(flight.sent, is_long ? flight.posted : flight.sent);
    const double head = std::min(message.bytes, path.packet_bytes), scale = message.scale;
    const double out = flight.launched + pull + path.send_overhead.at(head);
    flight.split.wire += pull;
    flight.split.overhead += path.send_overhead.at(head);
    if (!is_long) {
      flight.sender_done = flight.launched;  // the time of the call is recorded
      wake(message.from, Action::Kind::await_send, id);
    }
    if (!is_remote(message)) {
      flight.first = out;
      flight.last = out + path.latency.at(message.bytes) * scale;
      flight.split.extend(flight.last - flight.launched, &Split::wire);
      return push(flight.last, Event::What::land, id);
    }
    Port& port = port_of(message.from);
    const double leaves = std::max(out, port.send_free), gap = path.send_gap.at(message.bytes) * scale;
    port.send_free = leaves + gap;
    port.recv_free = std::max(port.recv_free, leaves * (parameters_.interference > 0 ? 1 : 0)) +
                     parameters_.interference * gap;
    flight.split.extend(leaves - flight.launched, &Split::contention);
    flight.first = leaves + std::max(0.0, path.latency.at(head) - path.recv_gap.at(head)) * scale;
    flight.last = leaves + path.latency.at(message.bytes) * scale;
    flight.split.extend(flight.first - flight.launched, &Split::wire);
    push(flight.first, Event::What::reach_port, id);
  }

  void reach_port(std::uint32_t id, double now) {
    Flight& flight = flights_[id];
    const Message& message = program_.messages[id];
    const PathParameters& path = path_of(message);
    Port& port = port_of(message.to);
    const double begin = std::max(now, port.recv_free), gap = path.recv_gap.at(message.bytes) * message.scale;
    const double backlog = (begin - now) / std::max(1e-6, path.recv_gap.slope_at(message.bytes));
    const bool full =
        parameters_.switch_bytes > 0 && backlog > 0 && backlog + message.bytes > parameters_.switch_bytes;
    port.recv_free = begin + gap;
    port.send_free = std::max(port.send_free, begin * (parameters_.interference > 0 ? 1 : 0)) +
                     parameters_.interference * gap;
    flight.split.extend(begin - flight.launched, &Split::contention);
    flight.last = std::max(begin + gap, flight.last);
    flight.split.extend(flight.last - flight.launched, &Split::wire);
    flight.last += full ? parameters_.repair_ns : 0;
    flight.split.extend(flight.last - flight.launched, &Split::contention);
    flight.first = begin;
    push(flight.last, Event::What::land, id);
  }

  // Packets were handled while later ones were on their way.
  void land(std::uint32_t id, double now) {
    Flight& flight = flights_[id];
    const Message& message = program_.messages[id];
    const PathParameters& path = path_of(message);
    flight.landed = true;
    if (flight.posted == kNever) return;
    const double head = std::min(message.bytes, path.packet_bytes);
    const double tail = path.recv_overhead.at(head) + path.user_recv.at(head);
    const double all = path.recv_overhead.at(message.bytes) + path.user_recv.at(message.bytes);
    const double before = now - flight.first;
    finish(id, now + std::max(tail, all - before) * message.scale, &Split::overhead);
  }

  void finish(std::uint32_t id, double at, double Split::*part) {
    Flight& flight = flights_[id];
    const Message& message = program_.messages[id];
    flight.done = at;
    flight.split.extend(at - flight.launched, part);
    if (flight.sender_done == kNever) {
      flight.sender_done = at + path_of(message).latency.at(0);
      wake(message.from, Action::Kind::await_send, id);
    }
    wake(message.to, Action::Kind::await_recv, id);
  }

  std::size_t index_in(const JoinedCall& call, std::int32_t rank) const {
    const auto found = std::find(call.members.begin(), call.members.end(), rank);
    return static_cast<std::size_t>(found - call.members.begin());
  }
  double came(std::uint32_t id, std::int32_t rank) const {
    const std::size_t index = index_in(program_.calls[id], rank);
    return index < meetings_[id].came.size() ? meetings_[id].came[index] : kNever;
  }

  void join(std::uint32_t id, std::uint32_t rank, double now) {
    const std::size_t index = index_in(program_.calls[id], static_cast<std::int32_t>(rank));
    if (index >= meetings_[id].came.size()) return;
    meetings_[id].came[index] = now;
    meetings_[id].last = std::max(meetings_[id].last, now);
    const JoinedCall& call = program_.calls[id];
    const bool all_came = ++meetings_[id].count == call.members.size();
    const bool lets_others_go = call.flow == Flow::prefix || call.root == static_cast<std::int32_t>(rank);
    if (!all_came && !lets_others_go) return;
    for (const std::int32_t member : call.members) wake(member, Action::Kind::await_join, id);
  }

  // The last of the first members.
  double last_came(std::uint32_t id, std::size_t members) const {
    double last = 0;
    for (std::size_t i = 0; i < members; ++i) {
      if (meetings_[id].came[i] == kNever) return kNever;
      last = std::max(last, meetings_[id].came[i]);
    }
    return last;
  }
  double begun_at(std::uint32_t id) const {
    const JoinedCall& call = program_.calls[id];
    if (call.flow == Flow::from_root) return std::max(0.0, came(id, call.root));
    return meetings_[id].last;
  }
  double call_done(std::uint32_t id, std::uint32_t rank) const {
    const JoinedCall& call = program_.calls[id];
    const auto self = static_cast<std::int32_t>(rank);
    const double own = came(id, self);
    if (own == kNever) return 0;  // not a member: nothing to wait for
    const auto after = [](double begun, double ns) { return begun == kNever ? kNever : begun + ns; };
    switch (call.flow) {
      case Flow::all:
        if (meetings_[id].count < call.members.size()) return kNever;
        return meetings_[id].last + call.ns;
      case Flow::prefix: return after(last_came(id, index_in(call, self) + 1), call.ns);
      case Flow::from_root: {
        if (self == call.root) return own + call.other_ns;
        const double begun = after(came(id, call.root), call.ns);
        return begun == kNever ? kNever : std::max(own, begun);
      }
      case Flow::to_root:
        if (self != call.root) return own + call.other_ns;
        if (meetings_[id].count < call.members.size()) return kNever;
        return meetings_[id].last + call.ns;
    }
    return kNever;
  }

  Replayed result() const {
    Replayed all;
    all.end_ns = ends_;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].next < program_.ranks[rank].size() && all.stuck < 0)
        all.stuck = static_cast<int>(rank);
      all.ns = std::max(all.ns, ends_[rank]);
    }
    const double share = ranks_.empty() ? 0 : 1.0 / static_cast<double>(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Shares& one = ranks_[rank].shares;
      all.shares.computing += one.computing * share, all.shares.overhead += one.overhead * share;
      all.shares.wire += one.wire * share, all.shares.contention += one.contention * share;
      all.shares.copying += one.copying * share, all.shares.other += one.other * share;
      all.shares.waiting += (one.waiting + all.ns - ends_[rank]) * share;
    }
    for (const Flight& flight : flights_)
      all.message_ns.push_back(flight.done == kNever ? 0
                                                     : flight.done - std::max(flight.sent, flight.posted));
    return all;
  }

  const Program& program_;
  const Parameters& parameters_;
  const double processors_;
  std::vector<Flight> flights_;
  std::vector<Meeting> meetings_;
  std::vector<RankState> ranks_;
  std::vector<Port> ports_;
  std::vector<double> ends_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
};

}  // namespace

Replayed replay(const Program& program, const Parameters& parameters, double processors) {
  return Run(program, parameters, processors).go();
}

}  // namespace herald::model
