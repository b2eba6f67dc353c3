// SPDX-License-Identifier: BSD-3-Clause
// Counting: elements in bytes and bytes in elements, down the tree that keeps the kinds.
#include "type/node.hpp"
#include "type/number.hpp"
#include "type/pack.hpp"

namespace herald::type {
namespace {

std::int64_t elements_of(const Part& part) noexcept {
  return part.node == nullptr ? part.count : part.count * part.node->elements;
}

std::int64_t bytes_of(const Node& node, const Part& part) noexcept {
  const bool last = &part + 1 == node.parts.get() + node.count;
  return (last ? node.bytes : (&part)[1].begin) - part.begin;
}

std::int64_t elements_before(const Node& node, std::int64_t bytes) noexcept;

std::int64_t in_run(Basic basic, std::int64_t bytes) noexcept {
  const std::int64_t size = row_of(basic).size;
  return bytes % size == 0 ? bytes / size : -1;
}

std::int64_t in_turns(const Node& child, std::int64_t bytes) noexcept {
  const std::int64_t rest = elements_before(child, bytes % child.bytes);
  return rest < 0 ? -1 : bytes / child.bytes * child.elements + rest;
}

// Elements in the first `bytes` bytes of a node; -1 if they end inside one.
std::int64_t elements_before(const Node& node, std::int64_t bytes) noexcept {
  if (bytes == 0) return 0;
  switch (node.kind) {
    case Node::Kind::leaf: return in_run(node.basic, bytes);
    case Node::Kind::loop: return in_turns(*node.child, bytes);
    case Node::Kind::parts: break;
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < node.count && bytes > 0; ++i) {
    const Part& part = node.parts[i];
    const std::int64_t length = bytes_of(node, part);
    if (length <= bytes) {
      sum += elements_of(part);
    } else {
      const std::int64_t rest =
          part.node == nullptr ? in_run(part.basic, bytes) : in_turns(*part.node, bytes);
      return rest < 0 ? -1 : sum + rest;
    }
    bytes -= length;
  }
  return sum;
}

// Bytes of the first `elements` elements of a node.
std::int64_t bytes_before(const Node& node, std::int64_t elements) noexcept {
  if (elements == 0) return 0;
  switch (node.kind) {
    case Node::Kind::leaf: return elements * row_of(node.basic).size;
    case Node::Kind::loop: {
      const std::int64_t each = node.child->elements;
      return elements / each * node.child->bytes + bytes_before(*node.child, elements % each);
    }
    case Node::Kind::parts: break;
  }
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < node.count && elements > 0; ++i) {
    const Part& part = node.parts[i];
    const std::int64_t here = elements_of(part);
    if (here <= elements) {
      sum += bytes_of(node, part);
    } else if (part.node == nullptr) {
      sum += elements * row_of(part.basic).size;
    } else {
      const std::int64_t each = part.node->elements;
      sum += elements / each * part.node->bytes + bytes_before(*part.node, elements % each);
    }
    elements -= here;
  }
  return sum;
}

}  // namespace

std::int64_t elements_in(const Layout& layout, std::uint64_t bytes) noexcept {
  if (layout.size() == 0) return bytes == 0 ? 0 : -1;
  const auto size = static_cast<std::uint64_t>(layout.size());
  const std::int64_t rest = elements_before(layout.elements_tree(), static_cast<std::int64_t>(bytes % size));
  return rest < 0 ? -1 : static_cast<std::int64_t>(bytes / size) * layout.elements() + rest;
}

std::int64_t items_in(const Layout& layout, std::uint64_t bytes) noexcept {
  if (layout.size() == 0) return bytes == 0 ? 0 : -1;
  const auto size = static_cast<std::uint64_t>(layout.size());
  return bytes % size == 0 ? static_cast<std::int64_t>(bytes / size) : -1;
}

std::int64_t bytes_of_elements(const Layout& layout, std::int64_t elements) noexcept {
  if (elements == 0 || layout.size() == 0) return 0;
  const Checked bytes = Checked{elements / layout.elements()} * layout.size() +
                        bytes_before(layout.elements_tree(), elements % layout.elements());
  return bytes.ok() ? bytes.value() : -1;
}

}  // namespace herald::type
