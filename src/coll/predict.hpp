// SPDX-License-Identifier: BSD-3-Clause
// coll/predict.hpp: the time of an algorithm on a measured cluster, found by walking the steps of its plans
// (model/evaluator.hpp), and the choice of the cheapest one.
// All inputs are equal at every rank, so every rank predicts and chooses alike.
#pragma once
#include <cstdint>
#include <vector>

#include "coll/table.hpp"
#include "model/evaluator.hpp"

namespace herald::coll {

class Predictor {
 public:
  explicit Predictor(const model::Parameters& parameters) noexcept : parameters_(parameters) {}

  // `bytes` as in choose(). Not complete: this algorithm cannot be predicted.
  model::Prediction predict(const Algorithm& algorithm, std::uint64_t bytes, const Shape& shape,
                            const Cluster& cluster) noexcept;

  struct Candidate {
    const Algorithm* algorithm = nullptr;
    model::Prediction prediction;
  };
  // All algorithms that fit, the cheapest first.
  std::vector<Candidate> candidates(Op op, std::uint64_t bytes, const Shape& shape,
                                    const Cluster& cluster) noexcept;
  // The chosen one, then the others that were predicted, the cheapest first. The cheapest is chosen if it is
  // clearly cheaper than choose(); else choose(), and it alone for data below 1 KiB, inside a host, and where
  // sizes are not known to all ranks.
  std::vector<Candidate> ranked(Op op, std::uint64_t bytes, const Shape& shape,
                                const Cluster& cluster) noexcept;
  const Algorithm& choose_cheapest(Op op, std::uint64_t bytes, const Shape& shape,
                                   const Cluster& cluster) noexcept {
    return *ranked(op, bytes, shape, cluster).front().algorithm;
  }

 private:
  model::Prediction predict_for(const Algorithm& algorithm, std::uint64_t bytes, const Shape& shape,
                                const Cluster& cluster) noexcept;
  struct Call {
    const Algorithm& algorithm;
    const Shape& shape;
    const Cluster& cluster;
    bool one_for_all = false;  // the plans of all ranks are alike
  };
  struct Length {
    std::uint64_t steps;        // of the plan of one rank
    std::uint64_t short_steps;  // for `short_bytes`, if there are more for longer data; else 0
    std::uint64_t short_bytes;
  };
  model::Prediction walk_one(const Call& call, std::uint64_t bytes) noexcept;
  model::Prediction walk_all(const Call& call, std::uint64_t bytes) noexcept;
  model::Prediction walk(const Call& call, std::uint64_t bytes) noexcept;
  model::Prediction walk_if_short(const Call& call, std::uint64_t bytes, const Length& length) noexcept;
  model::Prediction continue_line(const Call& call, std::uint64_t bytes, std::uint64_t far) noexcept;
  static Length length_of(const Call& call, std::uint64_t bytes) noexcept;
  static Shape halve(const Algorithm& algorithm, const Shape& shape) noexcept;
  Shape with_cost(Shape shape) const noexcept;
  void begin(const Call& call) noexcept;
  model::Prediction end() noexcept;
  void add_plan(const Plan& plan, int rank, const Cluster& cluster) noexcept;

  const model::Parameters& parameters_;
  model::Schedule schedule_;
  model::Evaluator evaluator_;
};

// The placement that a shape describes: `largest_host` ranks on each host, in order.
Cluster cluster_of(const Shape& shape) noexcept;

}  // namespace herald::coll
