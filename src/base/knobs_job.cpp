// SPDX-License-Identifier: BSD-3-Clause
// base/knobs_job.cpp: knobs that must be equal on all ranks of a job, and how a difference is reported.
#include <algorithm>

#include "base/knobs.hpp"

namespace herald {
namespace {

constexpr std::size_t kMostRanges = 4;  // of ranks in a message

// "rank 3", "ranks 1, 4-7".
std::string ranks_text(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (ranges++ == kMostRanges) return text + " and others";
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  return lines;
}

std::string_view name_in(std::string_view line) { return line.substr(0, line.find('=')); }

std::string value_in(std::string_view line) {
  return "\"" + std::string(line.substr(std::min(name_in(line).size() + 1, line.size()))) + "\"";
}

std::string variable(std::string_view name) {
  std::string text = "HERALD_";
  for (const char c : name) text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

bool same_names(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::string_view x, std::string_view y) { return name_in(x) == name_in(y); });
}

}  // namespace

std::string job_knobs(const Knobs& knobs) {
  std::string text;
  const auto rows = knob_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].scope != KnobScope::job) continue;
    std::string value = rows[i].is_text ? knob_text(knobs, i) : std::to_string(knob_int(knobs, i));
    std::replace(value.begin(), value.end(), '\n', ' ');
    text += std::string(rows[i].name) + "=" + value + "\n";
  }
  return text;
}

std::string find_disagreement(std::span<const std::string> texts) {
  if (texts.empty()) return {};
  const std::vector<std::string_view> first = lines_of(texts[0]);
  std::vector<std::vector<std::string_view>> all(texts.size());
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    all[rank] = texts[rank].empty() ? first : lines_of(texts[rank]);
    if (!same_names(first, all[rank]))
      return "ranks 0 and " + std::to_string(rank) +
             " do not have the same settings: all ranks must load the same library";
  }
  all[0] = first;
  std::string why;
  for (std::size_t row = 0; row < first.size(); ++row) {
    std::vector<std::size_t> equal, other;
    std::string_view value;  // of the first rank that differs from rank 0
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const std::string_view line = all[rank][row];
      if (line == first[row]) equal.push_back(rank);
      if (line == first[row] || (!other.empty() && line != value)) continue;
      value = line;
      other.push_back(rank);
    }
    if (other.empty()) continue;
    why += (why.empty() ? "" : "; ") + variable(name_in(value)) + " must be equal on all ranks: it is " +
           value_in(first[row]) + " on " + ranks_text(equal) + " and " + value_in(value) + " on " +
           ranks_text(other);
  }
  return why;
}

}  // namespace herald
