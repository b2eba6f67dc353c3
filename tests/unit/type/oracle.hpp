// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/type/oracle.hpp: the MPI type map, taken literally: a list of (kind, displacement) pairs and of
// explicit bounds. Slow, and written without looking at how layouts are built, so that it can judge them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "type/build.hpp"

namespace herald::type {

struct Entry {
  Basic basic;
  std::int64_t at;
};

struct Map {
  std::vector<Entry> entries;
  std::vector<std::int64_t> lbs, ubs;  // explicit bounds
  std::int64_t align = 1;
  bool has_items = false;                      // parts with data were added
  std::int64_t first_item = 0, items_end = 0;  // from the first to the last of them, their padding included

  std::int64_t size() const {
    std::int64_t sum = 0;
    for (const Entry& e : entries) sum += row_of(e.basic).size;
    return sum;
  }
  std::int64_t true_lb() const {
    if (entries.empty()) return 0;
    return std::min_element(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.at < b.at; })->at;
  }
  std::int64_t true_ub() const {
    std::int64_t end = entries.empty() ? 0 : INT64_MIN;
    for (const Entry& e : entries) end = std::max(end, e.at + row_of(e.basic).size);
    return end;
  }
  std::int64_t lb() const { return lbs.empty() ? data_lb() : *std::min_element(lbs.begin(), lbs.end()); }
  std::int64_t ub() const {
    if (!ubs.empty()) return *std::max_element(ubs.begin(), ubs.end());
    const std::int64_t raw = (has_items ? items_end : true_ub()) - data_lb();
    return data_lb() + (raw + align - 1) / align * align;
  }
  std::int64_t data_lb() const { return has_items ? first_item : true_lb(); }
  std::int64_t extent() const { return ub() - lb(); }

  void add(const Map& other, std::int64_t shift) {
    if (!other.entries.empty()) {
      first_item = has_items ? std::min(first_item, other.lb() + shift) : other.lb() + shift;
      items_end = has_items ? std::max(items_end, other.ub() + shift) : other.ub() + shift;
      has_items = true;
    }
    for (const Entry& e : other.entries) entries.push_back({e.basic, e.at + shift});
    for (const std::int64_t b : other.lbs) lbs.push_back(b + shift);
    for (const std::int64_t b : other.ubs) ubs.push_back(b + shift);
    if (!other.entries.empty() || !other.lbs.empty()) align = std::max(align, other.align);
  }
  void add_row(const Map& other, std::int64_t count, std::int64_t shift) {
    for (std::int64_t i = 0; i < count; ++i) add(other, shift + i * other.extent());
  }

  // Offsets of all data bytes of `count` items, in order.
  std::vector<std::int64_t> bytes(std::int64_t count) const {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const Entry& e : entries) {
        for (int b = 0; b < row_of(e.basic).size; ++b) out.push_back(i * extent() + e.at + b);
      }
    }
    return out;
  }

  static Map of(Basic basic) {
    Map map;
    const BasicRow& row = row_of(basic);
    if (basic == Basic::none) return map;
    map.align = row.align;
    if (row.klass == Class::pair) {
      const BasicRow& index = row_of(row.index);
      map.entries.push_back({row.value, 0});
      map.entries.push_back(
          {row.index, (row_of(row.value).size + index.align - 1) / index.align * index.align});
    } else {
      map.entries.push_back({basic, 0});
    }
    return map;
  }
  static Map sized(Map map, std::int64_t lb, std::int64_t extent) {
    map.lbs = {lb};
    map.ubs = {lb + extent};
    return map;
  }
};

// A layout and its type map.
struct Sample {
  LayoutRef layout;
  Map map;
  std::string text;  // how it was built
};

inline std::uint64_t seed_of_day() {
  const char* text = std::getenv("HERALD_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 20240611;
}

// Random nested types: tests/unit/type/random_type.cpp
Sample random_sample(Prng& prng, int depth);

}  // namespace herald::type
