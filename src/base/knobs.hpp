// SPDX-License-Identifier: BSD-3-Clause
// base/knobs.hpp: settings. Read once from a given environment, checked, then frozen.
// In:  an array of "NAME=value" strings.
// Out: Knobs; one line of complaint for each unknown HERALD_ name or bad value (the default then stands).
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/tuning.hpp"

namespace herald {

struct Knobs {
#define HERALD_KNOB_INT(name, scope, dflt, lo, hi, unit, help) std::int64_t name = dflt;
#define HERALD_KNOB_TEXT(name, scope, dflt, choices, help) std::string name = dflt;
#define HERALD_KNOB_LIST(name, scope, words, help) std::string name;
#include "base/knobs.def"
#undef HERALD_KNOB_INT
#undef HERALD_KNOB_TEXT
#undef HERALD_KNOB_LIST
  Tuning tuning;
};

enum class KnobScope : std::uint8_t { rank, job };  // job: equal on all ranks

struct KnobRow {
  const char* name;  // lower case, without prefix
  KnobScope scope;
  bool is_text;
  std::int64_t fallback, smallest, largest;  // integers
  const char* fallback_text;                 // text
  const char* choices;
  const char* words;  // not empty: a list of key=word, "key=a|b;key=c|d"
  const char* unit;
  const char* help;
};

std::span<const KnobRow> knob_rows() noexcept;

// The value of row `index` in `knobs`.
std::int64_t knob_int(const Knobs& knobs, std::size_t index) noexcept;
const std::string& knob_text(const Knobs& knobs, std::size_t index) noexcept;

// Sets row `index` from text, checked as from the environment. Returns the error ("must be ..."), or nothing.
std::string set_knob(Knobs& knobs, std::size_t index, const std::string& value);

// `environment` ends with a null pointer, as `environ` does.
Knobs read_knobs(char** environment, std::vector<std::string>& complaints);

// True if `list` ("a,b,c") holds `word`.
bool list_has(const std::string& list, const char* word) noexcept;
// The word of `key` in a list "key=word,..."; empty if the key is not there.
std::string_view list_value(std::string_view list, std::string_view key) noexcept;

// Rows of scope job as text, one "name=value" a line: all ranks must have the same.
std::string job_knobs(const Knobs& knobs);
// `texts`: job_knobs() of each rank; empty: equal to that of rank 0. Returns a sentence that names the knobs,
// the ranks and their values, or nothing.
std::string find_disagreement(std::span<const std::string> texts);

}  // namespace herald
