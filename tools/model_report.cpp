// SPDX-License-Identifier: BSD-3-Clause
// tools/model_report.cpp: `herald model report` and `herald model compare` (docs/model.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>

#include "base/replace_file.hpp"
#include "coll_query.hpp"
#include "report/report.hpp"

namespace herald::tools {
namespace {

struct Report {
  std::string from, to = "herald-model.html", times;
};

struct Compare {
  std::string a, b;
};

void report(const Report& options) {
  model::Measured measured;
  if (!load_model(options.from, measured))
    fail("model", "this host was not measured: run herald model measure, or name a file with --from");
  std::vector<MeasuredTime> times;
  std::string why;
  if (!options.times.empty()) {
    std::ifstream file(options.times);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) fail("model", options.times + " cannot be read");
    if (!parse_measured_times(text.str(), times, why)) fail("model", options.times + ": " + why);
  }
  if (!replace_file(options.to, report_page(measured, times), why)) fail("model", why);
  fmt::print("{}\n", options.to);
}

void compare(const Compare& options) {
  model::Measured a, b;
  (void)load_model(options.a, a);  // a named file is read or the command ends
  (void)load_model(options.b, b);
  fmt::print("{}", compare_text(a, b));
}

}  // namespace

void add_model_report(CLI::App& model) {
  CLI::App* const page = model.add_subcommand("report", "a page with parameters, predictions and choices");
  auto report_options = std::make_shared<Report>();
  page->add_option("--from", report_options->from,
                   "file of herald model measure; default: that of this host");
  page->add_option("-o,--output", report_options->to, "the page")->capture_default_str();
  page->add_option("--measured", report_options->times, "times that herald-measure --check printed, as dots");
  page->callback([report_options] { report(*report_options); });
  CLI::App* const two = model.add_subcommand("compare", "two measured clusters side by side");
  auto compare_options = std::make_shared<Compare>();
  two->add_option("A", compare_options->a, "file of herald model measure")->required();
  two->add_option("B", compare_options->b, "another one")->required();
  two->callback([compare_options] { compare(*compare_options); });
}

}  // namespace herald::tools
