// SPDX-License-Identifier: BSD-3-Clause
// base/knobs.hpp: settings. Read once from a given environment, checked, then frozen.
// In:  an array of "NAME=value" strings.
// Out: Knobs; one line of complaint for each unknown HERALD_ name or bad value (the default then stands).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace herald {

struct Knobs {
#define HERALD_KNOB_INT(name, dflt, lo, hi, unit, help) std::int64_t name = dflt;
#define HERALD_KNOB_TEXT(name, dflt, choices, help) std::string name = dflt;
#include "base/knobs.def"
#undef HERALD_KNOB_INT
#undef HERALD_KNOB_TEXT
};

struct KnobRow {
  const char* name;  // lower case, without prefix
  bool is_text;
  std::int64_t fallback, smallest, largest;  // integers
  const char* fallback_text;                 // text
  const char* choices;
  const char* unit;
  const char* help;
};

std::span<const KnobRow> knob_rows() noexcept;

// The value of row `index` as it stands in `knobs`.
std::int64_t knob_int(const Knobs& knobs, std::size_t index) noexcept;
const std::string& knob_text(const Knobs& knobs, std::size_t index) noexcept;

// Sets row `index` from text, checked as from the environment. Returns what is wrong with it ("must be ..."),
// or nothing.
std::string set_knob(Knobs& knobs, std::size_t index, const std::string& value);

// `environment` ends with a null pointer, as `environ` does.
Knobs read_knobs(char** environment, std::vector<std::string>& complaints);

// True if `list` ("a,b,c") holds `word`.
bool list_has(const std::string& list, const char* word) noexcept;

}  // namespace herald
