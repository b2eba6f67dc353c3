// SPDX-License-Identifier: BSD-3-Clause
// engine/model_exchange.hpp: rank 0's measured parameters of the cluster serve the whole job, so that all
// ranks choose alike. They travel with the cards: a letter before each card says whether rank 0 has any.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"
#include "model/parameters.hpp"
#include "model/tried.hpp"

namespace herald::engine {

struct JobModel {
  model::Parameters parameters;
  int ranks = 0;  // that have these parameters; processes that join the job later may have others
  std::vector<model::Tried> tried;  // by earlier jobs; the same at all ranks
  std::vector<model::Tried> found;  // by this job, for later ones
};

class ModelExchange {
 public:
  ModelExchange(boot::Boot& boot, int generation);
  // Before the fence. The letter of this rank; rank 0 looks for a file, and puts its text.
  std::string put(bool& good);
  // After it: reads the letter of a peer, and from rank 0 the parameters. Returns how long the letter is.
  std::size_t take(int peer, std::string_view card, bool& good);
  // Null: none were measured.
  std::unique_ptr<JobModel> take_model() noexcept { return std::move(model_); }

 private:
  boot::Boot& boot_;
  const std::string key_;
  std::unique_ptr<JobModel> model_;
};

// At the end of the job, at rank 0: later jobs need not try again.
void save_found(const JobModel& model);

}  // namespace herald::engine
