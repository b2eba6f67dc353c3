// SPDX-License-Identifier: BSD-3-Clause
// Makes random nested types together with their type maps.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/type/oracle.hpp"

namespace herald::type {
namespace {

using Vec = std::vector<std::int64_t>;

std::int64_t pick(Prng& prng, std::int64_t lo, std::int64_t hi) {
  return lo + static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(hi - lo + 1)));
}

Vec picks(Prng& prng, std::size_t n, std::int64_t lo, std::int64_t hi) {
  Vec out(n);
  for (auto& v : out) v = pick(prng, lo, hi);
  return out;
}

std::string show(const Vec& v) {
  std::string out = "[";
  for (const auto x : v) out += std::to_string(x) + " ";
  return out + "]";
}

void expect_ok(Status status, const std::string& text) { ASSERT_EQ(static_cast<int>(status), 0) << text; }

Sample make_vector(Prng& prng, const Sample& in) {
  Sample s;
  const std::int64_t count = pick(prng, 0, 4), block = pick(prng, 0, 3), stride = pick(prng, -4, 5);
  const bool bytes = prng.below(2) == 0;
  const std::int64_t step = bytes ? stride * 3 : stride * in.map.extent();
  for (std::int64_t i = 0; i < count; ++i) s.map.add_row(in.map, block, i * step);
  s.text =
      std::string(bytes ? "h" : "") + "vector(" + show({count, block, bytes ? step : stride}) + in.text + ")";
  expect_ok(bytes ? hvector(count, block, step, *in.layout, s.layout)
                  : vector(count, block, stride, *in.layout, s.layout),
            s.text);
  return s;
}

Sample make_indexed(Prng& prng, const Sample& in) {
  Sample s;
  const auto n = static_cast<std::size_t>(pick(prng, 0, 4));
  const bool bytes = prng.below(2) == 0, same = prng.below(2) == 0;
  Vec blocks = picks(prng, n, 0, 3);
  Vec at = picks(prng, n, -5, 8);
  if (same && n != 0) std::fill(blocks.begin(), blocks.end(), blocks[0]);
  if (prng.below(3) == 0) std::iota(at.begin(), at.end(), 1);  // a regular list
  for (std::size_t i = 0; i < n; ++i)
    s.map.add_row(in.map, blocks[i], bytes ? at[i] : at[i] * in.map.extent());
  s.text = std::string(bytes ? "h" : "") + "indexed(" + show(blocks) + show(at) + in.text + ")";
  const Layout& item = *in.layout;
  if (same && n != 0) {
    expect_ok(
        bytes ? hindexed_block(blocks[0], at, item, s.layout) : indexed_block(blocks[0], at, item, s.layout),
        s.text);
  } else {
    expect_ok(bytes ? hindexed(blocks, at, item, s.layout) : indexed(blocks, at, item, s.layout), s.text);
  }
  return s;
}

Sample make_struct(Prng& prng, int depth) {
  Sample s;
  const auto n = static_cast<std::size_t>(pick(prng, 0, 4));
  Vec blocks = picks(prng, n, 0, 2);
  Vec at = picks(prng, n, -10, 30);
  std::vector<Sample> items;
  std::vector<const Layout*> layouts;
  s.text = "struct(";
  for (std::size_t i = 0; i < n; ++i) {
    items.push_back(random_sample(prng, depth - 1));
    if (prng.below(2) == 0 && i != 0)
      at[i] = at[i - 1] + blocks[i - 1] * items[i - 1].map.extent();  // no gap
    s.map.add_row(items[i].map, blocks[i], at[i]);
    s.text += items[i].text + ",";
  }
  for (const Sample& item : items) layouts.push_back(item.layout.get());
  s.text += show(blocks) + show(at) + ")";
  expect_ok(structure(blocks, at, layouts, s.layout), s.text);
  return s;
}

Sample make_subarray(Prng& prng, const Sample& in) {
  Sample s;
  const auto n = static_cast<std::size_t>(pick(prng, 1, 3));
  Vec sizes = picks(prng, n, 1, 4), subsizes(n), starts(n);
  for (std::size_t i = 0; i < n; ++i) {
    subsizes[i] = pick(prng, 1, sizes[i]);
    starts[i] = pick(prng, 0, sizes[i] - subsizes[i]);
  }
  const Order order = prng.below(2) == 0 ? Order::c : Order::fortran;
  std::int64_t all = 1;
  for (const auto v : sizes) all *= v;
  // Visit every cell of the whole array in storage order; keep those inside the box.
  for (std::int64_t cell = 0; cell < all; ++cell) {
    std::int64_t rest = cell;
    bool inside = true;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t d = order == Order::fortran ? k : n - 1 - k;
      const std::int64_t c = rest % sizes[d];
      rest /= sizes[d];
      inside = inside && c >= starts[d] && c < starts[d] + subsizes[d];
    }
    if (inside) s.map.add(in.map, cell * in.map.extent());
  }
  s.map = Map::sized(s.map, 0, all * in.map.extent());
  s.text = std::string("subarray(") + (order == Order::c ? "C" : "F") + show(sizes) + show(subsizes) +
           show(starts) + in.text + ")";
  expect_ok(subarray(sizes, subsizes, starts, order, *in.layout, s.layout), s.text);
  return s;
}

}  // namespace

Sample random_sample(Prng& prng, int depth) {
  if (depth <= 0 || prng.below(8) == 0) {
    const auto basic = static_cast<Basic>(prng.below(kBasics));
    return {LayoutRef{&basic_layout(basic)}, Map::of(basic), row_of(basic).name};
  }
  if (prng.below(4) == 0) return make_struct(prng, depth);
  Sample in = random_sample(prng, depth - 1);
  switch (prng.below(5)) {
    case 0: return make_vector(prng, in);
    case 1: return make_indexed(prng, in);
    case 2: return make_subarray(prng, in);
    case 3: {
      Sample s;
      const std::int64_t lb = pick(prng, -8, 8), extent = pick(prng, -8, 40);
      s.map = Map::sized(in.map, lb, extent);
      s.text = "resized(" + show({lb, extent}) + in.text + ")";
      expect_ok(resized(*in.layout, lb, extent, s.layout), s.text);
      return s;
    }
    default: {
      Sample s;
      const std::int64_t count = pick(prng, 0, 4);
      s.map.add_row(in.map, count, 0);
      s.text = "contiguous(" + show({count}) + in.text + ")";
      expect_ok(contiguous(count, *in.layout, s.layout), s.text);
      return s;
    }
  }
}

}  // namespace herald::type
