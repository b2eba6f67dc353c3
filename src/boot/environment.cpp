// SPDX-License-Identifier: BSD-3-Clause
#include "boot/environment.hpp"

#include <charconv>

namespace herald::boot {

const char* find_variable(char** environment, std::string_view name) noexcept {
  if (environment == nullptr) return nullptr;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    std::string_view text{*entry};
    if (text.size() > name.size() && text[name.size()] == '=' && text.substr(0, name.size()) == name)
      return *entry + name.size() + 1;
  }
  return nullptr;
}

std::optional<int> parse_int(std::string_view text, int lowest, int highest) noexcept {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < lowest || value > highest) return std::nullopt;
  return value;
}

std::optional<int> int_variable(char** environment, const char* name, int lowest, int highest,
                                std::string& why) {
  const char* text = find_variable(environment, name);
  if (text == nullptr) return std::nullopt;
  auto value = parse_int(text, lowest, highest);
  if (!value)
    why = std::string{name} + "=" + in_quotes(text) + " is not a number from " + std::to_string(lowest) +
          " to " + std::to_string(highest);
  return value;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out = "\"";
  for (char c : text.substr(0, kLongest)) out += (c >= ' ' && c <= '~') ? c : '?';
  return out + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace herald::boot
