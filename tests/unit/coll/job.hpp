// SPDX-License-Identifier: BSD-3-Clause
// job.hpp: runs the plans of all ranks of a collective in one process, over messages in memory.
// It does from a seed what a real network may do: ranks advance in any order, messages between
// the same two ranks with the same tag stay in order, casts among themselves, but others overtake, sends
// complete late, and their data is read as late as the receive, so a plan that reuses a buffer too early
// gives a wrong result.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/prng.hpp"
#include "coll/coll_spec.hpp"
#include "coll/run.hpp"
#include "coll/table.hpp"
#include "type/build.hpp"

namespace herald::coll {

constexpr std::uint32_t kSharedBytes = 80;  // bytes that a post may copy: five items

inline bool scatters(Op op) { return op == Op::reduce_scatter || op == Op::reduce_scatter_block; }

constexpr std::byte kPattern{0xa5};  // in memory that nothing was written to
constexpr int kWords = 4;            // an item is a 2 x 2 matrix of 32-bit words
struct Item {
  std::uint32_t word[kWords] = {};
  bool operator==(const Item&) const = default;
};
Item sum(const Item& a, const Item& b) noexcept;      // commutes
Item product(const Item& a, const Item& b) noexcept;  // of matrices: does not

// Two layouts of the same items: without gaps, and with gaps and a lower bound.
const type::Layout& dense_layout();
const type::Layout& gappy_layout();

// Memory of `items` items in a layout, filled with a pattern first: bytes outside of items must not change.
class Memory {
 public:
  Memory() = default;
  Memory(const type::Layout& layout, std::int64_t items);
  std::uintptr_t address() const noexcept { return base_; }
  Item get(std::int64_t at, const type::Layout& layout) const;
  void set(std::int64_t at, const type::Layout& layout, const Item& item);
  // True if only the first `items` items may have changed since it was made.
  bool gaps_intact() const;

 private:
  std::vector<std::byte> bytes_;
  std::uintptr_t base_ = 0;  // of item 0
  const type::Layout* layout_ = nullptr;
  std::int64_t items_ = 0;
};

struct Member {
  CollSpec spec;
  Memory send, recv;
  std::vector<std::int64_t> send_counts, send_displs, recv_counts, recv_displs;
  std::vector<const type::Layout*> send_layouts, recv_layouts;
};

using Reduction = Item (*)(const Item&, const Item&) noexcept;

// False if no rank can progress and not all are done, or if a plan breaks a rule; `why` has the reason.
bool run_job(const Algorithm& algorithm, std::vector<Member>& members, Reduction reduction, Prng& prng,
             std::string& why);

}  // namespace herald::coll
