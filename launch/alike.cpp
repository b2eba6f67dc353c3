// SPDX-License-Identifier: BSD-3-Clause
#include "alike.hpp"

#include <algorithm>

#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::string_view kStart = "herald: rank ", kOn = " on ", kEnd = ": aborting the job\n";

}  // namespace

std::string ranks_text(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] <= ranks[end - 1] + 1) ++end;
    text += cat(text.empty() ? "" : ", ", ranks[i]);
    if (ranks[end - 1] > ranks[i]) text += cat("-", ranks[end - 1]);
    i = end;
  }
  return cat(ranks.size() == 1 ? "rank " : "ranks ", text);
}

std::string AlikeLines::take(std::string_view text, std::int64_t now) {
  std::string rest;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    if (!keep(line, now)) rest += line;
    text.remove_prefix(end);
  }
  return rest;
}

bool AlikeLines::keep(std::string_view line, std::int64_t now) {
  if (!line.starts_with(kStart) || !line.ends_with(kEnd)) return false;
  line.remove_prefix(kStart.size());
  const std::size_t on = line.find(kOn), colon = line.find(": ", on);
  const auto rank = to_int(line.substr(0, std::min(on, line.size())));
  if (!rank || on == std::string_view::npos || colon == std::string_view::npos) return false;
  const std::string_view host = line.substr(on + kOn.size(), colon - on - kOn.size());
  const std::string_view words = line.substr(colon);
  for (Entry& entry : entries_) {
    if (entry.host != host || entry.words != words) continue;
    entry.ranks.push_back(static_cast<int>(*rank));
    return true;
  }
  entries_.push_back({std::string(host), std::string(words), {static_cast<int>(*rank)}, now});
  return true;
}

std::string AlikeLines::release(std::int64_t now, bool all) {
  std::string text;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (!all && entry.at + kHold > now) return false;
    text += cat("herald: ", ranks_text(entry.ranks), kOn, entry.host, entry.words);
    return true;
  });
  return text;
}

std::optional<std::int64_t> AlikeLines::next_deadline() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().at + kHold;
}

}  // namespace herald::launch
