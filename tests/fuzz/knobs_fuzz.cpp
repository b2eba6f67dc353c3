// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: some environment crashes every MPI program at its start, or yields a value outside the
// range that the table promises.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/knobs.hpp"

// The input is a sequence of environment entries, each ended by a zero byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> entries(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == 0)
      entries.emplace_back();
    else
      entries.back().push_back(static_cast<char>(data[i]));
  }
  std::vector<char*> environment;
  for (std::string& entry : entries) environment.push_back(entry.data());
  environment.push_back(nullptr);
  std::vector<std::string> complaints;
  const herald::Knobs knobs = herald::read_knobs(environment.data(), complaints);
  const auto rows = herald::knob_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_text) continue;
    const std::int64_t value = herald::knob_int(knobs, i);
    if (value < rows[i].smallest || value > rows[i].largest) std::abort();
  }
  const std::string texts[] = {herald::job_knobs({}), herald::job_knobs(knobs)};
  if (herald::find_disagreement(texts).empty() != (texts[0] == texts[1])) std::abort();
  return 0;
}
