// SPDX-License-Identifier: BSD-3-Clause
// launch/fields.hpp: plans as bytes between hosts. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace herald::launch {

// Writes or reads fields one after the other, each as LENGTH:BYTES.
class FieldWriter {
 public:
  void field(const std::string& value) { text_ += cat(value.size(), ":", value); }
  template <class Number>
  void number(Number value) {
    field(cat(static_cast<long long>(value)));
  }
  void list(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) field(value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text) {}
  bool ok() const { return ok_; }
  std::string field() {
    const std::size_t colon = text_.find(':');
    const auto length = colon == std::string_view::npos ? std::nullopt : to_int(text_.substr(0, colon));
    if (!length || *length < 0 || static_cast<std::size_t>(*length) > text_.size() - colon - 1) {
      ok_ = false;
      text_ = {};
      return {};
    }
    std::string value(text_.substr(colon + 1, static_cast<std::size_t>(*length)));
    text_.remove_prefix(colon + 1 + value.size());
    return value;
  }
  template <class Number>
  void number(Number& out) {
    const auto value = to_int(field());
    ok_ = ok_ && value;
    out = static_cast<Number>(value.value_or(0));
  }
  std::size_t length() {
    std::size_t out = 0;
    number(out);
    if (out > text_.size()) ok_ = false;  // each element has a byte at least
    return ok_ ? out : 0;
  }
  void list(std::vector<std::string>& out) {
    const std::size_t count = length();
    for (std::size_t i = 0; i < count && ok_; ++i) out.push_back(field());
  }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace herald::launch
