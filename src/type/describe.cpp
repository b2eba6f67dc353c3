// SPDX-License-Identifier: BSD-3-Clause
#include "type/describe.hpp"

#include <cstring>
#include <unordered_map>

#include "type/build.hpp"
#include "type/node.hpp"
#include "wire/le.hpp"

namespace herald::type {
namespace {

using wire::Le;

struct DescriptionHead {
  Le<std::int64_t> lb, extent;
  Le<std::uint32_t> nodes;
};

// A run of elements, or a loop over an earlier node.
struct DescribedPart {
  Le<std::int64_t> offset, count, stride;
  Le<std::uint32_t> child;  // 0: a run of `basic`; else 1 + the number of the node
  std::uint8_t basic;
};
static_assert(sizeof(DescriptionHead) == 20 && sizeof(DescribedPart) == 29 && alignof(DescribedPart) == 1);

template <class T>
void append(std::vector<std::byte>& out, const T& value) noexcept {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) noexcept : out_(out) {}
  std::uint32_t nodes() const noexcept { return nodes_; }

  // Returns 1 + the number of the node.
  std::uint32_t add(const Node& node) noexcept {
    if (const auto known = numbers_.find(&node); known != numbers_.end()) return known->second;
    std::vector<DescribedPart> parts;
    switch (node.kind) {
      case Node::Kind::leaf: parts.push_back(run(node.offset, node.count, node.basic)); break;
      case Node::Kind::loop:
        parts.push_back({node.offset, node.count, node.stride, add(*node.child), 0});
        break;
      case Node::Kind::parts:
        for (std::int64_t i = 0; i < node.count; ++i) {
          const Part& part = node.parts[static_cast<std::size_t>(i)];
          parts.push_back(part.node == nullptr
                              ? run(part.offset, part.count, part.basic)
                              : DescribedPart{part.offset, part.count, part.stride, add(*part.node), 0});
        }
        break;
    }
    append(out_, Le<std::uint32_t>(static_cast<std::uint32_t>(parts.size())));
    for (const DescribedPart& part : parts) append(out_, part);
    return numbers_[&node] = ++nodes_;
  }

 private:
  static DescribedPart run(std::int64_t offset, std::int64_t count, Basic basic) noexcept {
    return {offset, count, 0, 0, static_cast<std::uint8_t>(basic)};
  }
  std::vector<std::byte>& out_;
  std::unordered_map<const Node*, std::uint32_t> numbers_;
  std::uint32_t nodes_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <class T>
  bool take(T& value) noexcept {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return true;
  }
  bool has(std::size_t parts) const noexcept { return rest_.size() / sizeof(DescribedPart) >= parts; }
  bool ended() const noexcept { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

Status make_part(const DescribedPart& part, const std::vector<LayoutRef>& nodes, LayoutRef& out) noexcept {
  const std::uint32_t child = part.child;
  if (child == 0) {
    if (part.basic == 0 || part.basic >= kBasics) return Status::bad_argument;
    return contiguous(part.count, basic_layout(static_cast<Basic>(part.basic)), out);
  }
  if (child > nodes.size()) return Status::bad_argument;
  return hvector(part.count, 1, part.stride, *nodes[child - 1], out);
}

Status read_node(Reader& reader, std::vector<LayoutRef>& nodes) noexcept {
  Le<std::uint32_t> length;
  if (!reader.take(length) || !reader.has(length)) return Status::bad_argument;
  std::vector<std::int64_t> blocks(length, 1), displacements;
  std::vector<LayoutRef> items(length);
  std::vector<const Layout*> pointers;
  for (LayoutRef& item : items) {
    DescribedPart part{};
    if (!reader.take(part)) return Status::bad_argument;
    if (const Status status = make_part(part, nodes, item); status != Status::ok) return status;
    displacements.push_back(part.offset);
    pointers.push_back(item.get());
  }
  LayoutRef made;
  if (const Status status = structure(blocks, displacements, pointers, made); status != Status::ok)
    return status;
  nodes.push_back(std::move(made));
  return Status::ok;
}

}  // namespace

std::vector<std::byte> describe(const Layout& layout) noexcept {
  std::vector<std::byte> out(sizeof(DescriptionHead));
  Writer writer(out);
  (void)writer.add(layout.elements_tree());
  const DescriptionHead head{layout.lb(), layout.extent(), writer.nodes()};
  std::memcpy(out.data(), &head, sizeof head);
  return out;
}

Status from_description(std::span<const std::byte> bytes, LayoutRef& out) noexcept {
  Reader reader(bytes);
  DescriptionHead head;
  if (!reader.take(head)) return Status::bad_argument;
  std::vector<LayoutRef> nodes;
  for (std::uint32_t i = 0; i < head.nodes; ++i)
    if (const Status status = read_node(reader, nodes); status != Status::ok) return status;
  if (nodes.empty() || !reader.ended()) return Status::bad_argument;
  return resized(*nodes.back(), head.lb, head.extent, out);
}

}  // namespace herald::type
