// SPDX-License-Identifier: BSD-3-Clause
// type/build.hpp: the constructors of the MPI standard, in 64-bit form.
// Each sets `out` only if it returns Status::ok. bad_argument: a negative count, spans of unequal length, a
// value out of its range, or a size or address beyond 64 bits; unsupported: nested more than kMaxDepth deep.
// Displacements and strides of the h-forms are in bytes, of the others in extents of the item.
#pragma once
#include <cstdint>
#include <span>

#include "type/layout.hpp"

namespace herald::type {

constexpr int kMaxDepth = 1024;  // bounds the recursion over a layout

using Ints = std::span<const std::int64_t>;

Status contiguous(std::int64_t count, const Layout& item, LayoutRef& out) noexcept;
Status vector(std::int64_t count, std::int64_t block, std::int64_t stride, const Layout& item,
              LayoutRef& out) noexcept;
Status hvector(std::int64_t count, std::int64_t block, std::int64_t stride, const Layout& item,
               LayoutRef& out) noexcept;
Status indexed(Ints blocks, Ints displacements, const Layout& item, LayoutRef& out) noexcept;
Status hindexed(Ints blocks, Ints displacements, const Layout& item, LayoutRef& out) noexcept;
Status indexed_block(std::int64_t block, Ints displacements, const Layout& item, LayoutRef& out) noexcept;
Status hindexed_block(std::int64_t block, Ints displacements, const Layout& item, LayoutRef& out) noexcept;
Status structure(Ints blocks, Ints displacements, std::span<const Layout* const> items,
                 LayoutRef& out) noexcept;
Status resized(const Layout& item, std::int64_t lb, std::int64_t extent, LayoutRef& out) noexcept;

enum class Order : std::uint8_t { c, fortran };
Status subarray(Ints sizes, Ints subsizes, Ints starts, Order order, const Layout& item,
                LayoutRef& out) noexcept;

enum class Distribution : std::uint8_t { none, block, cyclic };
constexpr std::int64_t kDefaultDarg = -1;
// The part of a global array that belongs to `rank` of `ranks` processes laid out as the grid `procs`
// (row-major, whatever the order of the array).
struct Darray {
  std::int64_t ranks = 0, rank = 0;
  Ints sizes;
  std::span<const Distribution> distributions;
  Ints dargs;  // block size, or kDefaultDarg
  Ints procs;
  Order order = Order::c;
};
Status darray(const Darray& shape, const Layout& item, LayoutRef& out) noexcept;

}  // namespace herald::type
