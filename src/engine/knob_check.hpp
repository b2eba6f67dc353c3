// SPDX-License-Identifier: BSD-3-Clause
// engine/knob_check.hpp: compares the knobs that all ranks must have alike, at start-up.
// In:  the hash of each rank's knobs, which precedes its card.
// Out: an error that names the knob, the ranks and their values. Texts are exchanged only if hashes differ.
#pragma once
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "boot/boot.hpp"

namespace herald::engine {

class KnobCheck {
 public:
  KnobCheck(boot::Boot& boot, const Knobs& knobs, int generation);

  const std::string& hash() const noexcept { return hashes_[static_cast<std::size_t>(boot_.rank())]; }
  // Remembers the hash at the beginning of a peer's card, and returns how long it is.
  std::size_t take_hash(int peer, const std::string& card);
  // Collective: every rank has seen the same hashes.
  bool all_agree(std::string& why);

 private:
  boot::Boot& boot_;
  std::string text_, key_;
  std::vector<std::string> hashes_;  // by rank
};

}  // namespace herald::engine
