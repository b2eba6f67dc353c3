// SPDX-License-Identifier: BSD-3-Clause
#include "type/node.hpp"

#include <algorithm>
#include <new>

namespace herald::type {
namespace {

NodeRef copy_at(const Node& node, std::int64_t offset) noexcept {
  Node* copy = new (std::nothrow) Node;
  if (copy == nullptr) return {};
  copy->kind = node.kind;
  copy->basic = node.basic;
  copy->depth = node.depth;
  copy->offset = offset;
  copy->count = node.count;
  copy->stride = node.stride;
  copy->bytes = node.bytes;
  copy->elements = node.elements;
  copy->external = node.external;
  copy->child = node.child;
  return NodeRef::adopt(copy);
}

std::int64_t run_bytes(const Part& part) noexcept { return part.count * row_of(part.basic).size; }

NodeRef bare_loop(const NodeRef& child, std::int64_t count, std::int64_t stride,
                  std::int64_t offset) noexcept {
  Node* loop = new (std::nothrow) Node;
  if (loop == nullptr) return {};
  loop->kind = Node::Kind::loop;
  loop->depth = child->depth + 1;
  loop->offset = offset;
  loop->count = count;
  loop->stride = stride;
  loop->bytes = count * child->bytes;
  loop->elements = count * child->elements;
  loop->external = count * child->external;
  loop->child = child;
  return NodeRef::adopt(loop);
}

NodeRef shifted(const NodeRef& node, std::int64_t offset) noexcept {
  if (offset == 0) return node;
  if (node->kind != Node::Kind::parts) return copy_at(*node, node->offset + offset);
  return bare_loop(node, 1, 0, offset);
}

}  // namespace

Node::~Node() {
  if (parts == nullptr) return;
  for (std::int64_t i = 0; i < count; ++i) {
    if (parts[i].node != nullptr) parts[i].node->release();
  }
}

NodeRef empty_node() noexcept {
  static Node node;
  node.immortal = true;
  return NodeRef{&node};
}

NodeRef make_leaf(Basic basic, std::int64_t offset, std::int64_t count) noexcept {
  Node* leaf = new (std::nothrow) Node;
  if (leaf == nullptr) return {};
  leaf->basic = basic;
  leaf->offset = offset;
  leaf->count = count;
  leaf->bytes = count * row_of(basic).size;
  leaf->elements = count;
  leaf->external = count * row_of(basic).external;
  return NodeRef::adopt(leaf);
}

NodeRef make_loop(const NodeRef& child, std::int64_t count, std::int64_t stride,
                  std::int64_t offset) noexcept {
  if (count == 0 || child->bytes == 0) return empty_node();
  if (count == 1) return shifted(child, offset);
  if (child->kind == Node::Kind::leaf && stride == child->bytes) {
    return make_leaf(child->basic, child->offset + offset, count * child->count);
  }
  if (child->kind == Node::Kind::loop) {
    const std::int64_t inner = child->count;
    if (inner == 1) return bare_loop(child->child, count, stride, child->offset + offset);
    // inner * child->stride may overflow where the loop itself does not.
    std::int64_t span = 0;
    if (!__builtin_mul_overflow(inner, child->stride, &span) && span == stride) {
      return bare_loop(child->child, count * inner, child->stride, child->offset + offset);
    }
  }
  return bare_loop(child, count, stride, offset);
}

PartList::~PartList() {
  for (std::size_t i = 0; i < length_; ++i) {
    if (parts_[i].node != nullptr) parts_[i].node->release();
  }
}

bool PartList::reserve(std::size_t capacity) noexcept {
  parts_.reset(new (std::nothrow) Part[capacity]);
  return parts_ != nullptr;
}

void PartList::add(const NodeRef& node, std::int64_t count, std::int64_t stride,
                   std::int64_t offset) noexcept {
  if (count == 0 || node->bytes == 0) return;
  Part part{offset, count, stride, bytes_, node.get(), Basic::none};
  bytes_ += count * node->bytes;
  elements_ += count * node->elements;
  external_ += count * node->external;
  depth_ = std::max(depth_, node->depth);
  if (node->kind == Node::Kind::leaf && (count == 1 || stride == node->bytes)) {
    part.node = nullptr;
    part.offset += node->offset;
    part.basic = as_bytes_ ? Basic::byte : node->basic;
    part.count = as_bytes_ ? count * node->bytes : count * node->count;
    part.stride = 0;
    if (length_ != 0) {
      Part& last = parts_[length_ - 1];
      if (last.node == nullptr && last.basic == part.basic && last.offset + run_bytes(last) == part.offset) {
        last.count += part.count;
        return;
      }
    }
  } else {
    if (count == 1) part.stride = 0;  // so that regular lists are recognised
    node->retain();
  }
  parts_[length_++] = part;
}

// All parts equal and evenly spaced.
bool PartList::regular() const noexcept {
  const Part& a = parts_[0];
  std::int64_t step = 0;
  if (__builtin_sub_overflow(parts_[1].offset, a.offset, &step)) return false;
  for (std::size_t i = 1; i < length_; ++i) {
    const Part& b = parts_[i];
    if (b.node != a.node || b.basic != a.basic || b.count != a.count || b.stride != a.stride) return false;
    std::int64_t here = 0;
    if (__builtin_sub_overflow(b.offset, parts_[i - 1].offset, &here) || here != step) return false;
  }
  return true;
}

NodeRef PartList::finish() noexcept {
  if (length_ == 0) return empty_node();
  if (length_ == 1 || regular()) {
    const Part& a = parts_[0];
    NodeRef one = a.node == nullptr ? make_leaf(a.basic, a.offset, a.count)
                                    : make_loop(NodeRef{a.node}, a.count, a.stride, a.offset);
    if (!one || length_ == 1) return one;
    return make_loop(one, static_cast<std::int64_t>(length_), parts_[1].offset - a.offset, 0);
  }
  Node* node = new (std::nothrow) Node;
  if (node == nullptr) return {};
  node->kind = Node::Kind::parts;
  node->depth = depth_ + 1;
  node->count = static_cast<std::int64_t>(length_);
  node->bytes = bytes_;
  node->elements = elements_;
  node->external = external_;
  node->parts = std::move(parts_);
  length_ = 0;
  return NodeRef::adopt(node);
}

}  // namespace herald::type
