// SPDX-License-Identifier: BSD-3-Clause
#include "rma/conflicts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace herald::rma {

using wire::RmaKind;

namespace {

const char* name_of(RmaKind kind) noexcept {
  switch (kind) {
    case RmaKind::put: return "put";
    case RmaKind::get: return "get";
    case RmaKind::accumulate: return "accumulate";
    case RmaKind::get_accumulate: return "get_accumulate or fetch_and_op";
    case RmaKind::compare_swap: return "compare_and_swap";
    default: return "access";
  }
}

std::string describe(const AccessFacts& facts, std::uint64_t bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "a %s of rank %d (%lld items, %llu bytes, from byte %llu on)",
                name_of(facts.kind), facts.origin, static_cast<long long>(facts.count),
                static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(facts.offset));
  return text;
}

}  // namespace

// Gets may overlap, and so may accumulates, which are atomic to each other.
bool Conflicts::may_overlap(RmaKind one, RmaKind other) noexcept {
  const auto updates = [](RmaKind kind) { return kind != RmaKind::put && kind != RmaKind::get; };
  return (one == RmaKind::get && other == RmaKind::get) || (updates(one) && updates(other));
}

bool Conflicts::overlap(const std::vector<Bytes>& one, const std::vector<Bytes>& other) noexcept {
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    if (one[i].begin < other[j].end && other[j].begin < one[i].end) return true;
    one[i].end <= other[j].begin ? ++i : ++j;
  }
  return false;
}

std::string Conflicts::add(const AccessFacts& facts, type::Cursor at) noexcept {
  Access access{facts, {}, at.total()};
  std::array<type::Run, 64> runs;
  while (const std::size_t count = at.next_runs(runs, SIZE_MAX))
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = reinterpret_cast<std::uintptr_t>(runs[i].data);
      access.bytes.push_back({begin, begin + runs[i].bytes});
    }
  std::sort(access.bytes.begin(), access.bytes.end(),
            [](const Bytes& one, const Bytes& other) { return one.begin < other.begin; });
  std::string text;
  for (const Access& earlier : accesses_) {
    if (may_overlap(earlier.facts.kind, facts.kind) || !overlap(earlier.bytes, access.bytes)) continue;
    text = describe(facts, access.total) + " and " + describe(earlier.facts, earlier.total) +
           " are on the same memory of rank " + std::to_string(rank_) +
           " in one epoch; separate them by a synchronisation";
    break;
  }
  accesses_.push_back(std::move(access));
  return text;
}

void Conflicts::end(int origin) noexcept {
  std::erase_if(accesses_, [&](const Access& access) { return access.facts.origin == origin; });
}

}  // namespace herald::rma
