// SPDX-License-Identifier: BSD-3-Clause
// external32: every element big-endian, in the standard's size, without gaps. Only two kinds of number change
// their size: long (4 bytes outside) and wchar_t (2 bytes outside); long double becomes IEEE binary128.
#include <algorithm>
#include <bit>
#include <cstring>

#include "type/number.hpp"
#include "type/pack.hpp"
#include "type/walk.hpp"

namespace herald::type {
namespace {

constexpr std::size_t kLongDoubleData = __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(long double);

enum class Change : std::uint8_t { none, narrow_signed, narrow_unsigned, extended };

// How one number of a kind is written; a complex element is two numbers.
struct Form {
  int inside, outside;  // bytes
  int numbers;          // in an element
  Change change;
};

Form form_of(Basic basic) noexcept {
  const BasicRow& row = row_of(basic);
  Form form{row.size, row.external, 1, Change::none};
  if (row.klass == Class::complex) form = {row.size / 2, row.external / 2, 2, Change::none};
  if (row.repr == Repr::fx || row.repr == Repr::cx) {
    form.change = Change::extended;
  } else if (form.inside != form.outside) {
    form.change = row.repr == Repr::uword ? Change::narrow_unsigned : Change::narrow_signed;
  }
  return form;
}

// Host order to big-endian or back.
void reverse_copy(char* to, const char* from, int bytes) noexcept {
  if constexpr (std::endian::native == std::endian::big) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else {
    std::reverse_copy(from, from + bytes, to);
  }
}

template <class Word>
void swap_words(char* to, const char* from, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * static_cast<std::int64_t>(sizeof word), sizeof word);
    if constexpr (std::endian::native == std::endian::little) {
      if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
      if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
      if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
    }
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof word), &word, sizeof word);
  }
}

void swap_numbers(char* to, const char* from, int bytes, std::int64_t count) noexcept {
  switch (bytes) {
    case 1: std::memcpy(to, from, static_cast<std::size_t>(count)); return;
    case 2: swap_words<std::uint16_t>(to, from, count); return;
    case 4: swap_words<std::uint32_t>(to, from, count); return;
    case 8: swap_words<std::uint64_t>(to, from, count); return;
    default:
      for (std::int64_t i = 0; i < count; ++i) reverse_copy(to + i * bytes, from + i * bytes, bytes);
  }
}

std::int64_t load(const char* from, int bytes, bool is_signed) noexcept {
  if (bytes == 8) {
    std::int64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  if (bytes == 4) {
    std::int32_t value;
    std::memcpy(&value, from, sizeof value);
    return is_signed ? value : static_cast<std::int64_t>(static_cast<std::uint32_t>(value));
  }
  std::int16_t value;
  std::memcpy(&value, from, sizeof value);
  return is_signed ? value : static_cast<std::int64_t>(static_cast<std::uint16_t>(value));
}

void store(char* to, int bytes, std::int64_t value) noexcept {
  const auto word32 = static_cast<std::uint32_t>(value);
  const auto word16 = static_cast<std::uint16_t>(value);
  switch (bytes) {
    case 8: std::memcpy(to, &value, 8); break;
    case 4: std::memcpy(to, &word32, 4); break;
    default: std::memcpy(to, &word16, 2);
  }
}

// A wide character is not negative, so 16 bits outside are read without a sign.
bool outside_signed(const Form& form) noexcept {
  return form.change == Change::narrow_signed && form.outside != 2;
}

struct ExternalPack {
  char* to;
  bool lost = false;

  void visit(Basic basic, Address at, std::int64_t count) noexcept {
    const Form form = form_of(basic);
    const char* from = reinterpret_cast<const char*>(at);
    const std::int64_t numbers = count * form.numbers;
    if (form.change == Change::none) {
      swap_numbers(to, from, form.inside, numbers);
      to += numbers * form.outside;
      return;
    }
    for (std::int64_t i = 0; i < numbers; ++i, from += form.inside, to += form.outside) {
      char bytes[16];
      if (form.change == Change::extended) {
        long double value;
        std::memcpy(&value, from, sizeof value);
        const Quad quad = static_cast<Quad>(value);
        std::memcpy(bytes, &quad, sizeof quad);
      } else {
        const std::int64_t value = load(from, form.inside, form.change == Change::narrow_signed);
        store(bytes, form.outside, value);
        lost = lost || load(bytes, form.outside, outside_signed(form)) != value;
      }
      reverse_copy(to, bytes, form.outside);
    }
  }
};

struct ExternalUnpack {
  const char* from;

  void visit(Basic basic, Address at, std::int64_t count) noexcept {
    const Form form = form_of(basic);
    char* to = reinterpret_cast<char*>(at);
    const std::int64_t numbers = count * form.numbers;
    if (form.change == Change::none) {
      swap_numbers(to, from, form.inside, numbers);
      from += numbers * form.outside;
      return;
    }
    for (std::int64_t i = 0; i < numbers; ++i, to += form.inside, from += form.outside) {
      char bytes[16];
      reverse_copy(bytes, from, form.outside);
      if (form.change == Change::extended) {
        Quad quad;
        std::memcpy(&quad, bytes, sizeof quad);
        const long double value = static_cast<long double>(quad);
        std::memset(to, 0, sizeof value);  // the padding of x87 numbers too
        std::memcpy(to, &value, kLongDoubleData);
      } else {
        store(to, form.inside, load(bytes, form.outside, outside_signed(form)));
      }
    }
  }
};

template <class Visitor>
void visit_node(const Node& node, Address base, Visitor& visitor) noexcept;

template <class Visitor>
void visit_turns(const Node& child, Address base, std::int64_t stride, std::int64_t count,
                 Visitor& visitor) noexcept {
  for (std::int64_t i = 0; i < count; ++i, base += static_cast<Address>(stride))
    visit_node(child, base, visitor);
}

template <class Visitor>
void visit_node(const Node& node, Address base, Visitor& visitor) noexcept {
  base += static_cast<Address>(node.offset);
  switch (node.kind) {
    case Node::Kind::leaf:
      if (node.count != 0) visitor.visit(node.basic, base, node.count);
      return;
    case Node::Kind::loop: visit_turns(*node.child, base, node.stride, node.count, visitor); return;
    case Node::Kind::parts: break;
  }
  for (std::int64_t i = 0; i < node.count; ++i) {
    const Part& part = node.parts[i];
    const Address at = base + static_cast<Address>(part.offset);
    if (part.node == nullptr) {
      visitor.visit(part.basic, at, part.count);
    } else {
      visit_turns(*part.node, at, part.stride, part.count, visitor);
    }
  }
}

}  // namespace

std::int64_t external32_size(const Layout& layout, std::int64_t count) noexcept {
  const Checked size = Checked{layout.elements_tree().external} * count;
  return size.ok() ? size.value() : -1;
}

Status pack_external32(const Layout& layout, const void* user, std::int64_t count, void* packed) noexcept {
  ExternalPack visitor{static_cast<char*>(packed)};
  visit_turns(layout.elements_tree(), reinterpret_cast<Address>(user), layout.extent(), count, visitor);
  return visitor.lost ? Status::truncated : Status::ok;
}

void unpack_external32(const Layout& layout, void* user, std::int64_t count, const void* packed) noexcept {
  ExternalUnpack visitor{static_cast<const char*>(packed)};
  visit_turns(layout.elements_tree(), reinterpret_cast<Address>(user), layout.extent(), count, visitor);
}

}  // namespace herald::type
