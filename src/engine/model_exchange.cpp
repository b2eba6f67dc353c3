// SPDX-License-Identifier: BSD-3-Clause
#include "engine/model_exchange.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "boot/model_file.hpp"

namespace herald::engine {
namespace {

constexpr char kHas = 'm', kHasNot = '-';

}  // namespace

ModelExchange::ModelExchange(boot::Boot& boot, int generation)
    : boot_(boot), key_("herald-model-" + std::to_string(generation)) {}

std::string ModelExchange::put(bool& good) {
  if (boot_.rank() != 0) return {kHasNot};
  model::Measured found;
  std::vector<std::string> warnings;
  const bool has = boot::find_model(boot::model_folder(environ), boot::this_place(), found, warnings);
  for (const std::string& each : warnings) std::fprintf(stderr, "herald: warning: %s\n", each.c_str());
  if (!has) return {kHasNot};
  // Through the text at this rank too: the others have what is left of each number there.
  const std::string text = to_text(found);
  std::string why;
  if (!from_text(text, found, why)) return {kHasNot};
  good = boot_.put(key_, text) == Status::ok;
  model_ = std::make_unique<JobModel>(JobModel{found.parameters, boot_.size(), found.tried, {}});
  return {kHas};
}

std::size_t ModelExchange::take(int peer, std::string_view card, bool& good) {
  if (peer != 0 || card.empty() || card[0] != kHas) return card.empty() ? 0 : 1;
  std::string text, why;
  model::Measured found;
  good = boot_.get(0, key_, text) == Status::ok && from_text(text, found, why);
  if (good) model_ = std::make_unique<JobModel>(JobModel{found.parameters, boot_.size(), found.tried, {}});
  return 1;
}

void save_found(const JobModel& model) {
  if (model.found.empty()) return;
  std::string why;
  if (!boot::add_tried(boot::model_folder(environ), boot::this_place(), model.parameters, model.found, why))
    std::fprintf(stderr, "herald: warning: the fastest algorithms are not kept for later jobs: %s\n",
                 why.c_str());
}

}  // namespace herald::engine
