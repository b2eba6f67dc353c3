// SPDX-License-Identifier: BSD-3-Clause
#include "io/hints.hpp"

#include <charconv>
#include <climits>
#include <cstdio>

namespace herald::io {
namespace {

struct ChoiceRow {
  const char* key;
  Choice Hints::*place;
};
constexpr ChoiceRow kChoices[] = {{"romio_cb_read", &Hints::cb_read},
                                  {"romio_cb_write", &Hints::cb_write},
                                  {"romio_ds_read", &Hints::ds_read},
                                  {"romio_ds_write", &Hints::ds_write}};

struct NumberRow {
  const char* key;
  std::int64_t Hints::*place;
  std::int64_t least;
};
constexpr NumberRow kNumbers[] = {{"cb_nodes", &Hints::cb_nodes, 1},
                                  {"cb_buffer_size", &Hints::cb_buffer_size, 1},
                                  {"ind_rd_buffer_size", &Hints::ind_rd_buffer_size, 1},
                                  {"ind_wr_buffer_size", &Hints::ind_wr_buffer_size, 1},
                                  {"striping_unit", &Hints::striping_unit, 1},
                                  {"striping_factor", &Hints::striping_factor, 1}};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

constexpr const char* kChoiceNames[] = {"automatic", "enable", "disable"};

bool read_number(const std::string& text, std::int64_t least, std::int64_t& out, int base = 10) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > kMostBytes)
    return false;
  out = value;
  return true;
}

bool read_choice(const std::string& text, Choice& out) noexcept {
  for (int i = 0; i < 3; ++i)
    if (text == kChoiceNames[i]) {
      out = static_cast<Choice>(i);
      return true;
    }
  return false;
}

}  // namespace

bool Hints::set(const std::string& key, const std::string& value) noexcept {
  for (const ChoiceRow& row : kChoices)
    if (key == row.key) return read_choice(value, this->*row.place);
  for (const NumberRow& row : kNumbers)
    if (key == row.key) return read_number(value, row.least, this->*row.place);
  if (key == "romio_no_indep_rw") {
    no_indep_rw = value == "true";
    return true;
  }
  if (key == "collective_buffering") {
    if (value != "true" && value != "false") return false;
    cb_read = cb_write = value == "true" ? Choice::automatic : Choice::disable;
    return true;
  }
  if (key == "file_perm") return read_number(value, 0, file_perm, 8);
  if (key == "cb_config_list") cb_config_list = value;
  if (key == "access_style") access_style = value;
  return key == "cb_config_list" || key == "access_style";
}

std::vector<std::pair<std::string, std::string>> Hints::list() const noexcept {
  std::vector<std::pair<std::string, std::string>> out;
  for (const ChoiceRow& row : kChoices)
    out.emplace_back(row.key, kChoiceNames[static_cast<int>(this->*row.place)]);
  for (const NumberRow& row : kNumbers)
    if (this->*row.place != 0) out.emplace_back(row.key, std::to_string(this->*row.place));
  out.emplace_back("romio_no_indep_rw", no_indep_rw ? "true" : "false");
  out.emplace_back("cb_config_list", cb_config_list);
  if (!access_style.empty()) out.emplace_back("access_style", access_style);
  if (file_perm != 0) {
    char text[24];
    std::snprintf(text, sizeof text, "%llo", static_cast<unsigned long long>(file_perm));
    out.emplace_back("file_perm", text);
  }
  return out;
}

int aggregators_on(const std::string& list, const std::string& host) noexcept {
  int found = 1;
  bool named = false;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string entry = list.substr(at, end - at);
    const std::size_t colon = entry.find(':');
    const std::string name = entry.substr(0, colon);
    std::int64_t count = 1;
    if (colon != std::string::npos && entry.substr(colon + 1) == "*")
      count = INT_MAX;
    else if (colon != std::string::npos && !read_number(entry.substr(colon + 1), 0, count))
      count = 1;
    if (name == host || (name == "*" && !named))
      found = static_cast<int>(std::min<std::int64_t>(count, INT_MAX));
    named = named || name == host;
    at = end + 1;
  }
  return found;
}

}  // namespace herald::io
