// SPDX-License-Identifier: BSD-3-Clause
#include "engine/knob_check.hpp"

#include <algorithm>
#include <cstdio>

#include "base/hash.hpp"

namespace herald::engine {
namespace {

constexpr std::size_t kHashLetters = 16;

std::string hash_letters(const std::string& text) {
  char letters[kHashLetters + 1];
  std::snprintf(letters, sizeof letters, "%016llx", static_cast<unsigned long long>(hash_text(text)));
  return letters;
}

}  // namespace

KnobCheck::KnobCheck(boot::Boot& boot, const Knobs& knobs, int generation)
    : boot_(boot),
      text_(job_knobs(knobs)),
      key_("herald-knobs-" + std::to_string(generation)),
      hashes_(static_cast<std::size_t>(boot.size())) {
  hashes_[static_cast<std::size_t>(boot.rank())] = hash_letters(text_);
}

std::size_t KnobCheck::take_hash(int peer, const std::string& card) {
  std::string& hash = hashes_[static_cast<std::size_t>(peer)];
  hash = card.substr(0, kHashLetters);
  return hash.size();
}

bool KnobCheck::all_agree(std::string& why) {
  const auto differs = [this](const std::string& hash) { return hash != hashes_[0]; };
  if (std::none_of(hashes_.begin(), hashes_.end(), differs)) return true;
  std::vector<std::string> texts(hashes_.size());
  bool good = boot_.put(key_, text_) == Status::ok && boot_.fence() == Status::ok;
  for (std::size_t rank = 0; good && rank < texts.size(); ++rank) {
    if (static_cast<int>(rank) == boot_.rank())
      texts[rank] = text_;
    else if (rank == 0 || differs(hashes_[rank]))
      good = boot_.get(static_cast<int>(rank), key_, texts[rank]) == Status::ok;
  }
  why = good ? find_disagreement(texts) : "the ranks could not compare their settings: " + boot_.last_error();
  return false;
}

}  // namespace herald::engine
