// SPDX-License-Identifier: BSD-3-Clause
// model/evaluator.hpp: the time that a schedule takes: walks the steps of all ranks in the order of time.
// In:  a schedule, the parameters of a cluster.
// Out: when the last step completes, and where the time on the path to it went.
// Contention: one processor per rank, shared if ranks outnumber cores; one port per host and direction, which
// all ranks of the host share; ports that send and receive at the same time interfere; a full port drops.
#pragma once
#include <cstdint>
#include <vector>

#include "model/parameters.hpp"
#include "model/schedule.hpp"

namespace herald::model {

// Parts of a time on the critical path.
struct Split {
  double overhead = 0;    // processors: O_s, O_r, U_r, wake-ups
  double wire = 0;        // L and gaps
  double contention = 0;  // waiting for a processor or a port that serves others
  double copying = 0;     // copies and reductions
  double total() const noexcept { return overhead + wire + contention + copying; }
  // The time from its total until `at` belongs to one part.
  void extend(double at, double Split::*part) noexcept { this->*part += at - total(); }
};

struct Prediction {
  double ns = 0;
  Split split;
  bool complete = false;  // false: messages do not match, or steps wait for each other
};

class Evaluator {
 public:
  Prediction run(const Schedule& schedule, const Parameters& parameters) noexcept;

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  // A step, or one that the evaluator adds: the receive of a fused exchange, a barrier word.
  struct Node {
    Kind kind = Kind::none;
    bool posted = false, arrived = false, held = false;  // receives; held: its sender waits for it
    bool acknowledged = false;                           // sends: complete when the receiver has it
    std::int32_t rank = 0;
    std::uint32_t needs = 0, step = kNobody;  // kNobody: added
    std::uint32_t source = kNobody;           // receives: the send
    std::uint32_t receivers = kNobody;        // sends: the first receive; then by next_receiver
    std::uint32_t next_receiver = kNobody;
    std::uint32_t edges = kNobody;    // first of the edges to other ranks
    std::uint32_t waiting = kNobody;  // the next message that has landed at a busy rank
    double bytes = 0, ready = 0, first_ns = 0, last_ns = 0, floor_ns = 0;
    Split split;  // until the step starts or completes
    Split way;    // receives: of the message
  };
  struct Edge {
    std::uint32_t to, next;
    bool at_start;  // fires when the step begins: a stream is read while it is written
  };
  // In the order in which events of the same instant happen: a rank forwards what it has before it takes the
  // next message.
  enum class What : std::uint8_t { finish, start, reach_port, land, resume };
  struct Event {
    double at;
    std::uint32_t order, node;
    What what;
    bool operator<(const Event& other) const noexcept {  // the heap's top is the earliest
      if (at != other.at) return at > other.at;
      return what != other.what ? what > other.what : order > other.order;
    }
  };
  struct Rank {
    double free_ns = 0;
    std::uint32_t head = kNobody, tail = kNobody;  // messages that wait for its processor
    bool resumes = false;
  };
  struct Port {
    double send_free_ns = 0, recv_free_ns = 0;
  };
  struct Chain {  // receives that wait for the same sender, receiver and tag, in order
    std::uint64_t key = 0;
    std::uint32_t head = kNobody, tail = kNobody;
  };

  bool match() noexcept;
  bool match_symmetric() noexcept;
  bool match_ranks() noexcept;
  bool match_fused() noexcept;
  void add_shared_edges() noexcept;
  std::uint32_t add_node(Kind kind, std::int32_t rank, double bytes, std::uint32_t needs) noexcept;
  void add_edge(std::uint32_t from, std::uint32_t to, bool at_start = false) noexcept;
  void pair(std::uint32_t send, std::uint32_t recv) noexcept;
  Chain& chain(std::int32_t from, std::int32_t to, std::uint8_t tag) noexcept;

  void push(double at, std::uint32_t node, What what) noexcept;
  void start(std::uint32_t id, double now) noexcept;
  void start_send(std::uint32_t id, double now) noexcept;
  void launch(std::uint32_t id, double now) noexcept;
  void start_recv(std::uint32_t id, double now) noexcept;
  void reach_port(std::uint32_t id, double now) noexcept;
  void land(std::uint32_t id, double now) noexcept;
  void resume(std::uint32_t rank, double now) noexcept;
  void handle(std::uint32_t id, double now) noexcept;
  void answer(std::uint32_t send, double now, Path which, const Split& split) noexcept;
  void start_stream(std::uint32_t id, double now) noexcept;
  void work(std::uint32_t id, double now, double ns) noexcept;
  void finish(std::uint32_t id, double now) noexcept;
  void fire(std::uint32_t to, double now, const Split& split) noexcept;
  double take_processor(const Node& node, Split& split, double now) noexcept;  // when it is free, awake
  double leave_port(const Node& node, double out, double end) noexcept;
  double share(double ns) const noexcept { return ns * stretch_; }
  Port& port_of(std::int32_t rank) noexcept { return ports_[static_cast<std::size_t>(host_of(rank))]; }
  int host_of(std::int32_t rank) const noexcept {
    return schedule_->symmetric ? 0 : schedule_->host[static_cast<std::size_t>(rank)];
  }
  Path path_of(const Node& send, const Node& recv) const noexcept;

  const Schedule* schedule_ = nullptr;
  const Parameters* parameters_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Event> heap_;
  std::vector<Rank> ranks_;
  std::vector<Port> ports_;
  std::vector<Chain> chains_;
  std::uint32_t order_ = 0, unfinished_ = 0;
  double stretch_ = 1;
  Prediction result_;
};

}  // namespace herald::model
