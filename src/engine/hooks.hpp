// SPDX-License-Identifier: BSD-3-Clause
// engine/hooks.hpp: more work for each turn, such as collective plans in progress.
#pragma once
#include <algorithm>
#include <vector>

namespace herald::engine {

class Hooks {
 public:
  using Hook = bool (*)(void* context);  // true: it moved something
  void add(Hook hook, void* context) noexcept { entries_.push_back({hook, context}); }
  void remove(Hook hook, void* context) noexcept {
    const auto at = std::find(entries_.begin(), entries_.end(), Entry{hook, context});
    if (at != entries_.end()) entries_.erase(at);
  }
  bool empty() const noexcept { return entries_.empty(); }
  bool run() noexcept {
    bool moved = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {  // a hook may add or remove hooks
      const Entry entry = entries_[i];
      moved = entry.hook(entry.context) || moved;
    }
    return moved;
  }

 private:
  struct Entry {
    Hook hook;
    void* context;
    bool operator==(const Entry&) const noexcept = default;
  };
  std::vector<Entry> entries_;
};

}  // namespace herald::engine
