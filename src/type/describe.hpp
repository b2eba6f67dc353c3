// SPDX-License-Identifier: BSD-3-Clause
// type/describe.hpp: a layout as bytes, so that another process can make the same one.
// The bytes list the nodes of the tree of elements, children first; a node that occurs often is listed once.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "type/layout.hpp"

namespace herald::type {

std::vector<std::byte> describe(const Layout& layout) noexcept;

// The layout has the bounds, the bytes and the element kinds of the described one; pairs become their two
// elements. bad_argument: these bytes are no description.
Status from_description(std::span<const std::byte> bytes, LayoutRef& out) noexcept;

}  // namespace herald::type
