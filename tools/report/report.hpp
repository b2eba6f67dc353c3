// SPDX-License-Identifier: BSD-3-Clause
// tools/report/report.hpp: the model of a cluster as a page, and two of them side by side.
#pragma once
#include <string>
#include <vector>

#include "model/text.hpp"

namespace CLI {
class App;
}

namespace herald::tools {

// `herald model report` and `compare`.
void add_model_report(CLI::App& model);

// A measured time: a line of `herald-measure --check`.
struct MeasuredTime {
  std::string op, algorithm;
  int hosts = 0;
  double bytes = 0, ns = 0;
};
// False: a line is not understood, and `why` says which.
bool parse_measured_times(const std::string& text, std::vector<MeasuredTime>& out, std::string& why);

// One page without external loads: cluster, parameters, predictions, the algorithms that win.
std::string report_page(const model::Measured& measured, const std::vector<MeasuredTime>& times);

// The parameters and predictions of two clusters as a table, with the change in percent.
std::string compare_text(const model::Measured& a, const model::Measured& b);

}  // namespace herald::tools
