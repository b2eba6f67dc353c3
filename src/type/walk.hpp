// SPDX-License-Identifier: BSD-3-Clause
// type/walk.hpp: visits the bytes [begin, end) of a node, in order, as runs.
// The sink has `bool run(address, bytes)` and `bool strided(address, stride, bytes, count)`, which is `count`
// runs of `bytes` each; false stops the walk. Addresses are integers, so that MPI_BOTTOM needs no null
// arithmetic.
#pragma once
#include <algorithm>
#include <cstdint>

#include "type/node.hpp"

namespace herald::type {

using Address = std::uintptr_t;

template <class Sink>
bool walk(const Node& node, Address base, std::int64_t begin, std::int64_t end, Sink& sink) noexcept;

// The bytes [begin, end) of iterations of `child`, `stride` apart.
template <class Sink>
bool walk_turns(const Node& child, Address base, std::int64_t stride, std::int64_t begin, std::int64_t end,
                Sink& sink) noexcept {
  const std::int64_t size = child.bytes;
  std::int64_t left = end - begin;
  std::int64_t inside = begin;
  if (begin >= size) {
    const std::int64_t turn = begin / size;
    inside = begin - turn * size;
    base += static_cast<Address>(turn) * static_cast<Address>(stride);
  }
  if (child.kind != Node::Kind::leaf) {
    while (left > 0) {
      const std::int64_t length = std::min(size - inside, left);
      if (!walk(child, base, inside, inside + length, sink)) return false;
      left -= length;
      inside = 0;
      base += static_cast<Address>(stride);
    }
    return true;
  }
  base += static_cast<Address>(child.offset);
  if (inside != 0) {
    const std::int64_t length = std::min(size - inside, left);
    if (!sink.run(base + static_cast<Address>(inside), length)) return false;
    left -= length;
    base += static_cast<Address>(stride);
  }
  const std::int64_t whole = left / size;
  if (whole > 0) {
    if (!sink.strided(base, stride, size, whole)) return false;
    left -= whole * size;
    base += static_cast<Address>(whole) * static_cast<Address>(stride);
  }
  return left <= 0 || sink.run(base, left);
}

template <class Sink>
bool walk_parts(const Node& node, Address base, std::int64_t begin, std::int64_t end, Sink& sink) noexcept {
  const Part* part = node.parts.get();
  const Part* last = part + node.count;
  if (begin != 0) {
    part = std::upper_bound(part, last, begin,
                            [](std::int64_t value, const Part& p) noexcept { return value < p.begin; }) -
           1;
  }
  for (; part != last && part->begin < end; ++part) {
    const std::int64_t stop = part + 1 == last ? node.bytes : part[1].begin;
    const std::int64_t from = std::max(begin, part->begin) - part->begin;
    const std::int64_t to = std::min(end, stop) - part->begin;
    const Address at = base + static_cast<Address>(part->offset);
    const bool more = part->node == nullptr ? sink.run(at + static_cast<Address>(from), to - from)
                                            : walk_turns(*part->node, at, part->stride, from, to, sink);
    if (!more) return false;
  }
  return true;
}

template <class Sink>
bool walk(const Node& node, Address base, std::int64_t begin, std::int64_t end, Sink& sink) noexcept {
  switch (node.kind) {
    case Node::Kind::leaf:
      return sink.run(base + static_cast<Address>(node.offset) + static_cast<Address>(begin), end - begin);
    case Node::Kind::loop:
      return walk_turns(*node.child, base + static_cast<Address>(node.offset), node.stride, begin, end, sink);
    case Node::Kind::parts: return walk_parts(node, base, begin, end, sink);
  }
  return false;
}

}  // namespace herald::type
