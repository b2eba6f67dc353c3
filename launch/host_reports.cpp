// SPDX-License-Identifier: BSD-3-Clause
#include "host_reports.hpp"

#include <optional>

#include "pmi_jobs.hpp"
#include "text.hpp"

namespace herald::launch {

void HostReports::tell(const StartedRank& started) {
  upward_ += cat("cmd=started rank=", started.rank, " pid=", started.pid, " host=", started.host,
                 " path=", started.path, "\n");
}

void HostReports::tell(const ToldRank& rank) {
  upward_ += rank.view.empty() ? cat("cmd=no_init line=", rank.without_init, "\n")
                               : cat("cmd=waits line=", rank.view, "\n");
}

void HostReports::begin(std::size_t hosts) {
  answers_ = hosts;
  told_.clear();
}

bool HostReports::on_line_from_host(std::string_view line) {
  const std::string_view command = pmi_field(line, "cmd").value_or("");
  const bool is_report = command == "started" || command == "waits" || command == "no_init";
  if (is_report && has_upstream_) {
    upward_ += cat(line, "\n");
  } else if (command == "started") {
    const auto number = [line](const char* key) {
      return static_cast<int>(to_int(pmi_field(line, key).value_or("")).value_or(-1));
    };
    started_.push_back({number("rank"), number("pid"), std::string(pmi_field(line, "host").value_or("")),
                        std::string(pmi_field(line, "path", true).value_or(""))});
  } else if (is_report) {
    const std::string text(pmi_field(line, "line", true).value_or(""));
    told_.push_back(command == "waits" ? ToldRank{text, {}} : ToldRank{{}, text});
  } else if (command == "waits_end") {
    if (answers_ > 0 && --answers_ == 0 && has_upstream_) tell_end();
  } else {
    return false;
  }
  return true;
}

bool HostReports::on_line_from_upstream(std::string_view line) {
  if (pmi_field(line, "cmd").value_or("") != "show_waits") return false;
  asked_ = pmi_field(line, "stacks").has_value();
  return true;
}

}  // namespace herald::launch
