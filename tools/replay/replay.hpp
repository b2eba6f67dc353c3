// SPDX-License-Identifier: BSD-3-Clause
// tools/replay/replay.hpp: `herald model replay`: timelines of a job (HERALD_TRACE) as a program of the
// model, and the same program on another network.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "coll/predict.hpp"
#include "model/replay.hpp"
#include "trace/timeline.hpp"

namespace herald::tools {

// A collective as it was recorded; its times are those of its members, in their order.
struct RecordedCall {
  coll::Op op = coll::Op::barrier;
  std::string algorithm;
  std::uint64_t bytes = 0;
  std::vector<double> came_ns, left_ns;
};

struct Recorded {
  model::Program program;
  std::vector<RecordedCall> calls;  // by id, as Program::calls
  std::vector<double> message_ns;   // by id, as Replayed::message_ns; 0: not known
  double ns = 0;                    // of the run
  int hosts = 1;
  double link_mbit = 0, cores = 1;
  bool one_clock = true;      // times of different ranks can be compared
  std::size_t unmatched = 0;  // sends and receives without the other side
  std::size_t threads = 1;    // most threads of a rank that make calls
};

// One rank's timeline as actions and operations (read_rank.cpp).
struct RankOperation {
  bool is_send = false, is_collective = false;
  double start = 0, end = -1;  // end < 0: it never completed
  std::int64_t peer = -1, bytes = 0, tag = 0;
  std::string name, algorithm;  // of a collective
  std::int64_t communicator = 0, root = -1, number = 0;
  bool prompt = false;  // the program waited, or looked, when it completed
};
struct RankLine {
  // On the main thread an operation starts, is waited for, or time passes.
  struct Mark {
    model::Action::Kind kind;
    std::size_t operation;  // index in `operations`
    double ns;
  };
  std::vector<Mark> marks;
  std::vector<RankOperation> operations;
  std::map<std::int64_t, int> rank_in;  // by communicator
  double end_ns = 0;
  std::size_t threads = 0;
};
RankLine read_rank(const Timeline& line, double shift_ns);

// Joins the ranks: which receive took which send, who took part in which collective. On failure it prints why
// and throws CLI::RuntimeError.
Recorded read_program(const std::vector<std::string>& files);

// Changes of the network, the hosts and the algorithms.
struct WhatIf {
  double rate_mbit = 0, rate_times = 1;
  double latency_ns = -1, latency_times = 1;
  double processors = 1;
  int hosts = 0;  // 0: as recorded
  double buffer_bytes = -1;
  std::map<coll::Op, std::string> algorithms;  // "auto": the one of the shortest predicted time
  bool all_auto = false;
};
// "rate=10gbit,hosts=32". Throws CLI::ValidationError with a sentence.
WhatIf parse_what_if(const std::string& text);

class Replayer {
 public:
  // Corrects the predicted times by those of the recorded run.
  Replayer(const Recorded& recorded, const model::Parameters& parameters);
  model::Replayed run(const WhatIf& change);
  std::size_t changed_algorithms = 0;  // of the last run: calls for which the named algorithm does not fit

 private:
  // Collectives that are corrected alike. other: the root that sends, or those that send to it.
  struct CallClass {
    coll::Op op;
    int length;
    bool remote, other;
    auto operator<=>(const CallClass&) const = default;
  };
  model::Program place(const WhatIf& change, const model::Parameters& parameters);
  void correct_calls(const model::Program& base);
  void correct_messages(model::Program base);
  void scale_messages(model::Program& program) const;
  double call_scale(const CallClass& call) const;

  const Recorded& recorded_;
  const model::Parameters& parameters_;
  std::map<CallClass, double> call_scales_;
  std::map<std::pair<bool, int>, double> message_scales_;  // by whether it leaves the host, and length
};

// The parameters on the changed network.
model::Parameters changed(const model::Parameters& base, const WhatIf& change);

}  // namespace herald::tools
