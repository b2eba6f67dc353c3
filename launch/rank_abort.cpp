// SPDX-License-Identifier: BSD-3-Clause
#include "rank_abort.hpp"

#include "pmi_jobs.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::int64_t kRankLimit = 1 << 24;

// "8-40:8" or "50".
bool append_range(std::string_view text, std::vector<int>& out) {
  const std::size_t dash = text.find('-'), colon = text.find(':');
  const auto first = to_int(text.substr(0, dash));
  auto last = first;
  std::optional<std::int64_t> stride = 1;
  if (dash != std::string_view::npos) {
    last = to_int(text.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1));
    if (colon != std::string_view::npos) stride = to_int(text.substr(colon + 1));
  }
  if (!first || !last || !stride || *first < 0 || *last < *first || *last >= kRankLimit || *stride < 1)
    return false;
  for (std::int64_t rank = *first; rank <= *last; rank += *stride) out.push_back(static_cast<int>(rank));
  return true;
}

}  // namespace

std::optional<RankAbort> parse_rank_abort(std::string_view line) {
  const auto number = [line](const char* key, int otherwise) {
    return static_cast<int>(to_int(pmi_field(line, key).value_or("")).value_or(otherwise));
  };
  RankAbort abort;
  abort.by = number("by", 0);
  abort.status = number("exitcode", 1);
  abort.code = number("given", abort.status);
  for (const std::string& range : split(pmi_field(line, "ranks").value_or(""), ","))
    if (!append_range(range, abort.ranks)) return std::nullopt;
  if (abort.ranks.empty()) return std::nullopt;
  return abort;
}

}  // namespace herald::launch
