// SPDX-License-Identifier: BSD-3-Clause
#include "base/knobs.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace herald {
namespace {

// A row whose name is a word of C++ has one more underscore in the table.
constexpr const char* name_of(const char* member) {
  return std::string_view(member) == "if_" ? "if" : member;
}

constexpr KnobRow kRows[] = {
#define HERALD_KNOB_INT(name, scope, dflt, lo, hi, unit, help) \
  {name_of(#name), KnobScope::scope, false, dflt, lo, hi, "", "", "", unit, help},
#define HERALD_KNOB_TEXT(name, scope, dflt, choices, help) \
  {name_of(#name), KnobScope::scope, true, 0, 0, 0, dflt, choices, "", "", help},
#define HERALD_KNOB_LIST(name, scope, words, help) \
  {name_of(#name), KnobScope::scope, true, 0, 0, 0, "", "", words, "", help},
#include "base/knobs.def"
#undef HERALD_KNOB_INT
#undef HERALD_KNOB_TEXT
#undef HERALD_KNOB_LIST
};

// Names under HERALD_ that are not knobs: variables of the launcher and of the compiler wrappers, and the
// seed of randomised tests.
constexpr const char* kReserved[] = {"JOB_KEY",     "JOB_ID",   "MPIEXEC_PID", "RANK_PID",
                                     "PARENT_PORT", "SPAWN_FD", "CC",          "CXX",
                                     "FC",          "MODULES",  "SEED"};

std::int64_t* int_of(Knobs& knobs, std::size_t index) {
  std::size_t at = 0;
#define HERALD_KNOB_INT(name, scope, dflt, lo, hi, unit, help) \
  if (at++ == index) return &knobs.name;
#define HERALD_KNOB_TEXT(name, scope, dflt, choices, help) ++at;
#define HERALD_KNOB_LIST(name, scope, words, help) ++at;
#include "base/knobs.def"
#undef HERALD_KNOB_INT
#undef HERALD_KNOB_TEXT
#undef HERALD_KNOB_LIST
  return nullptr;
}

std::string* text_of(Knobs& knobs, std::size_t index) {
  std::size_t at = 0;
#define HERALD_KNOB_INT(name, scope, dflt, lo, hi, unit, help) ++at;
#define HERALD_KNOB_TEXT(name, scope, dflt, choices, help) \
  if (at++ == index) return &knobs.name;
#define HERALD_KNOB_LIST(name, scope, words, help) \
  if (at++ == index) return &knobs.name;
#include "base/knobs.def"
#undef HERALD_KNOB_INT
#undef HERALD_KNOB_TEXT
#undef HERALD_KNOB_LIST
  return nullptr;
}

bool same_name(const char* knob, const std::string& upper) {
  const std::size_t n = std::strlen(knob);
  if (n != upper.size()) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (std::toupper(static_cast<unsigned char>(knob[i])) != upper[i]) return false;
  return true;
}

bool parse_int(const std::string& text, std::int64_t& out) {
  if (text.empty()) return false;
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || end == text.c_str()) return false;
  std::int64_t scale = 1;
  if (*end == 'k' || *end == 'K')
    scale = 1024, ++end;
  else if (*end == 'm' || *end == 'M')
    scale = 1024 * 1024, ++end;
  if (*end != '\0' || __builtin_mul_overflow(value, scale, &out)) return false;
  return true;
}

bool is_choice(std::string_view choices, std::string_view value) {
  if (choices.empty()) return true;
  const std::string all = "|" + std::string(choices) + "|";
  return all.find("|" + std::string(value) + "|") != std::string::npos;
}

// Cuts the first item off `rest`.
std::string_view next_item(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view item = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return item;
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string keys_of(std::string_view words) {
  std::string keys;
  while (!words.empty()) {
    const std::string_view item = next_item(words, ';');
    keys += (keys.empty() ? "" : "|") + std::string(item.substr(0, item.find('=')));
  }
  return keys;
}

// The words that row.words permits for a key, empty if it takes none; nothing if the key is not there.
std::optional<std::string_view> choices_of(std::string_view words, std::string_view key) {
  while (!words.empty()) {
    const std::string_view item = next_item(words, ';');
    if (item == key) return "";
    if (item.substr(0, item.find('=')) == key) return item.substr(key.size() + 1);
  }
  return {};
}

// The error in a list of key=word or key, or nothing.
std::string check_list(std::string_view words, std::string_view list) {
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view item = next_item(rest, ',');
    const std::string_view key = item.substr(0, item.find('='));
    const auto found = choices_of(words, key);
    if (!found) return "names " + quoted(key) + ", which is none of " + keys_of(words);
    const std::string_view choices = *found;
    if (choices.empty() && item == key) continue;
    if (choices.empty()) return "gives " + quoted(key) + " a value, which it does not take";
    if (key.size() == item.size()) return "must say " + std::string(key) + "=" + std::string(choices);
    const std::string_view word = item.substr(key.size() + 1);
    if (word.empty() || !is_choice(choices, word))
      return "gives " + std::string(key) + " the word " + quoted(word) + ", which is none of " +
             std::string(choices);
    if (list_value(rest, key).data() != nullptr) return "names " + quoted(key) + " twice";
  }
  return {};
}

}  // namespace

std::span<const KnobRow> knob_rows() noexcept { return kRows; }

std::int64_t knob_int(const Knobs& knobs, std::size_t index) noexcept {
  return *int_of(const_cast<Knobs&>(knobs), index);
}

const std::string& knob_text(const Knobs& knobs, std::size_t index) noexcept {
  return *text_of(const_cast<Knobs&>(knobs), index);
}

std::string set_knob(Knobs& knobs, std::size_t index, const std::string& value) {
  const KnobRow& row = kRows[index];
  if (row.is_text) {
    if (!is_choice(row.choices, value)) return std::string("must be one of ") + row.choices;
    if (*row.words != '\0')
      if (std::string error = check_list(row.words, value); !error.empty()) return error;
    *text_of(knobs, index) = value;
    return {};
  }
  std::int64_t number = 0;
  if (!parse_int(value, number) || number < row.smallest || number > row.largest)
    return "must be a whole number from " + std::to_string(row.smallest) + " to " +
           std::to_string(row.largest) + " (" + row.unit + ")";
  *int_of(knobs, index) = number;
  return {};
}

Knobs read_knobs(char** environment, std::vector<std::string>& complaints) {
  Knobs knobs;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "HERALD_", 7) != 0) continue;
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    const std::string name(*entry + 7, static_cast<std::size_t>(equals - *entry - 7));
    bool known = false;
    for (const char* reserved : kReserved) known = known || name == reserved;
    for (std::size_t i = 0; i < std::size(kRows) && !known; ++i) {
      if (!same_name(kRows[i].name, name)) continue;
      known = true;
      const std::string why = set_knob(knobs, i, equals + 1);
      if (!why.empty())
        complaints.push_back("HERALD_" + name + "=" + (equals + 1) + " is ignored: it " + why);
    }
    if (!known)
      complaints.push_back("HERALD_" + name + " is not a setting of Herald; `herald info` lists them");
  }
  // Casts are UDP: without it each would wait for multicast in vain, and then go to every member alone.
  if (!knobs.path.empty() && !list_has(knobs.path, "udp")) knobs.lanes = "off";
  return knobs;
}

bool list_has(const std::string& list, const char* word) noexcept {
  const std::size_t n = std::strlen(word);
  for (std::size_t at = 0; at < list.size();) {
    std::size_t end = list.find(',', at);
    if (end == std::string::npos) end = list.size();
    if (end - at == n && list.compare(at, n, word) == 0) return true;
    at = end + 1;
  }
  return false;
}

std::string_view list_value(std::string_view list, std::string_view key) noexcept {
  while (!list.empty()) {
    const std::string_view item = next_item(list, ',');
    if (item.size() > key.size() && item[key.size()] == '=' && item.starts_with(key))
      return item.substr(key.size() + 1);
  }
  return {};
}

}  // namespace herald
