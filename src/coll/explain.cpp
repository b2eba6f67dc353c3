// SPDX-License-Identifier: BSD-3-Clause
#include "coll/explain.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace herald::coll {
namespace {

struct Row {
  const Algorithm* algorithm = nullptr;
  double ns = 0;
  model::Split split;
  bool predicted = false;
};

std::vector<Row> rows_of(Op op, std::uint64_t bytes, const Shape& shape, const Cluster& cluster,
                         const model::Parameters* measured) {
  std::vector<Row> rows;
  if (measured != nullptr && shape.ranks > 1) {
    for (const auto& [algorithm, prediction] : Predictor(*measured).candidates(op, bytes, shape, cluster))
      rows.push_back({algorithm, prediction.ns, prediction.split, true});
    return rows;
  }
  for (const Algorithm* row : algorithms())
    if (row->op == op && row->fits(shape) && row->estimate(bytes, shape) < kNeverNs)
      rows.push_back({row, row->estimate(bytes, shape), {}, false});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ns < b.ns; });
  return rows;
}

std::string padded(std::string text, std::size_t width, bool right) {
  const std::size_t missing = width - std::min(width, text.size());
  return right ? std::string(missing, ' ') + text : text + std::string(missing, ' ');
}

std::string percent(double share) {
  char letters[32];
  (void)std::snprintf(letters, sizeof letters, "%.0f %%", 100 * share);
  return letters;
}

constexpr std::size_t kTime = 11;

std::string heading(std::size_t wide) {
  std::string line = "  " + padded("", wide, false);
  for (const char* title : {"time", "overhead", "wire", "contention", "copying", "more"})
    line += padded(title, kTime, true);
  return line + "\n";
}

std::string line_of(const Row& row, const Algorithm& chosen, std::size_t wide, double best_ns) {
  std::string line = row.algorithm == &chosen ? "> " : "  ";
  line += padded(row.algorithm->name, wide, false) + padded(time_text(row.ns), kTime, true);
  if (row.predicted)
    for (const double part : {row.split.overhead, row.split.wire, row.split.contention, row.split.copying})
      line += padded(time_text(part), kTime, true);
  if (best_ns > 0 && row.ns > best_ns) line += padded("+" + percent(row.ns / best_ns - 1), kTime, true);
  return line + "\n";
}

}  // namespace

std::string time_text(double ns) {
  char letters[32];
  if (ns < 1e3)
    (void)std::snprintf(letters, sizeof letters, "%.0f ns", ns);
  else if (ns < 1e6)
    (void)std::snprintf(letters, sizeof letters, "%.1f us", ns / 1e3);
  else if (ns < 1e9)
    (void)std::snprintf(letters, sizeof letters, "%.1f ms", ns / 1e6);
  else
    (void)std::snprintf(letters, sizeof letters, "%.1f s", ns / 1e9);
  return letters;
}

std::string explain_choice(const Algorithm& chosen, std::uint64_t bytes, const Shape& shape,
                           const Cluster& cluster, const model::Parameters* measured) {
  const std::vector<Row> rows = rows_of(chosen.op, bytes, shape, cluster, measured);
  std::size_t wide = 0;
  for (const Row& row : rows) wide = std::max(wide, std::string_view(row.algorithm->name).size());
  std::string text =
      std::string("herald: ") + name_of(chosen.op) + ", " + std::to_string(bytes) + " bytes, " +
      std::to_string(shape.ranks) + " ranks on " + std::to_string(shape.hosts) +
      (shape.hosts == 1 ? " host" : " hosts") + ": " + chosen.name + ", " +
      (measured != nullptr ? "predicted from measured parameters\n" : "estimated without measurement\n");
  if (measured != nullptr) text += heading(wide);
  for (const Row& row : rows) text += line_of(row, chosen, wide, rows.front().ns);
  return text;
}

}  // namespace herald::coll
