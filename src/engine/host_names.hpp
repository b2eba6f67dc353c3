// SPDX-License-Identifier: BSD-3-Clause
// engine/host_names.hpp: the names of the peers' hosts, for messages: each once, as neighbours often share
// one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace herald::engine {

class HostNames {
 public:
  explicit HostNames(int peers) : at_(static_cast<std::size_t>(peers)), text_(1, '\0') {}

  void set(int peer, const std::string& name) {
    if (name != text_.c_str() + last_) {
      last_ = static_cast<std::uint32_t>(text_.size());
      text_.append(name.c_str(), name.size() + 1);
    }
    if (static_cast<std::size_t>(peer) >= at_.size()) at_.resize(static_cast<std::size_t>(peer) + 1);
    at_[static_cast<std::size_t>(peer)] = last_;
  }
  void settle() { text_.shrink_to_fit(); }  // after the last set()
  // Empty if it was never set.
  const char* of(int peer) const noexcept {
    const auto at = static_cast<std::size_t>(peer);
    return at < at_.size() ? text_.c_str() + at_[at] : "";
  }

 private:
  std::vector<std::uint32_t> at_;  // where its name begins in the text
  std::string text_;               // each with its zero
  std::uint32_t last_ = 0;
};

}  // namespace herald::engine
