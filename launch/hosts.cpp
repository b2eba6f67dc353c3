// SPDX-License-Identifier: BSD-3-Clause
// launch/hosts.cpp: see hosts.hpp.
#include "hosts.hpp"

#include <algorithm>

#include "spec.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

void add(HostList& list, const std::string& name, std::int64_t slots) {
  for (Host& host : list.hosts) {
    if (host.name == name) {
      host.slots = std::max<std::int64_t>(host.slots, 1) + std::max<std::int64_t>(slots, 1);
      return;
    }
  }
  list.hosts.push_back({name, slots});
}

std::int64_t slots_of(const std::string& text, const std::string& where) {
  const auto value = to_int(text);
  if (!value || *value < 1 || *value > kMostRanks)
    throw UsageError(cat(where, ": '", text, "' is not a number of slots"));
  return *value;
}

std::vector<std::string> split_outside_brackets(std::string text) {
  int depth = 0;
  for (char& c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth == 0 && c == ',') c = ' ';
  }
  return split(text, " ");
}

// node[1-3,7] is node1, node2, node3 and node7; a first number with zeros sets the width.
std::vector<std::string> expand(const std::string& word, const std::string& where) {
  const std::size_t open = word.find('['), close = word.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return {word};
  std::vector<std::string> out;
  for (const std::string& range : split(word.substr(open + 1, close - open - 1), ",")) {
    const std::size_t dash = range.find('-');
    const std::string low = range.substr(0, dash),
                      high = dash == std::string::npos ? low : range.substr(dash + 1);
    const auto first = to_int(low), last = to_int(high);
    if (!first || !last || *first < 0 || *last < *first || *last - *first > kMostRanks)
      throw UsageError(cat(where, ": '", range, "' in '", word, "' is not a range of numbers"));
    for (std::int64_t i = *first; i <= *last; ++i) {
      std::string number = cat(i);
      if (number.size() < low.size()) number.insert(0, low.size() - number.size(), '0');
      for (const std::string& rest : expand(word.substr(close + 1), where))
        out.push_back(word.substr(0, open) + number + rest);
    }
  }
  return out;
}

// name, name:N; an IPv6 address has more than one colon and no count.
bool add_word(HostList& list, const std::string& word, std::int64_t slots, const std::string& where) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || word.find(':', colon + 1) != std::string::npos) {
    add(list, word, slots);
    return false;
  }
  if (colon == 0) throw UsageError(cat(where, ": '", word, "' names no host"));
  const std::string count = word.substr(colon + 1);
  add(list, word.substr(0, colon), count == "*" || count == "auto" ? slots : slots_of(count, where));
  return true;
}

}  // namespace

std::int64_t HostList::slots() const {
  std::int64_t sum = 0;
  for (const Host& host : hosts) sum += std::max<std::int64_t>(host.slots, 1);
  return sum;
}

std::string HostList::text() const {
  std::vector<std::string> parts;
  for (const Host& host : hosts) parts.push_back(host.slots ? cat(host.name, ":", host.slots) : host.name);
  return join(parts, ",");
}

std::string HostList::names() const {
  std::vector<std::string> parts;
  for (const Host& host : hosts) parts.push_back(host.name);
  return join(parts, ",");
}

HostList parse_host_list(const std::string& text) {
  HostList list;
  const std::string where = cat("--host ", text);
  for (const std::string& word : split_outside_brackets(text))
    for (const std::string& name : expand(word, where)) add_word(list, name, 0, where);
  if (list.hosts.empty()) throw UsageError(cat("--host '", text, "': no host is named"));
  return list;
}

HostList parse_host_file(const std::string& text, const std::string& file) {
  HostList list;
  list.file = file;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const auto words = split(line, " \t\r");
    if (words.empty()) continue;
    const std::string where = cat("host file ", file, ", line ", number);
    std::int64_t slots = 0;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      const std::string key = words[i].substr(0, equals);
      if (equals == std::string::npos || (key != "slots" && key != "cpu" && key != "count")) continue;
      list.slots_counts = true;
      slots = slots_of(words[i].substr(equals + 1), where);
    }
    for (const std::string& name : expand(words[0], where))
      list.colon_counts |= add_word(list, name, slots, where);
  }
  if (list.hosts.empty()) throw UsageError(cat("host file ", file, ": no host is named in it"));
  return list;
}

bool all_here(const HostList& list, const std::function<bool(const std::string&)>& is_here) {
  return std::all_of(list.hosts.begin(), list.hosts.end(),
                     [&](const Host& host) { return is_here(host.name); });
}

}  // namespace herald::launch
