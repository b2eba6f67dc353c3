// SPDX-License-Identifier: BSD-3-Clause
// `herald plans report DIR`: the remarks of the pass herald-plans as one page, deepest loops first. Reads the
// files *.opt.yaml that clang -fsave-optimization-record leaves beside the objects.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "commands.hpp"

namespace herald::tools {
namespace {

struct Remark {
  std::string kind, name, file, line, function, text;
  int depth = 0;

  auto order() const { return std::tuple(-depth, file, std::atoi(line.c_str()), text); }
  bool operator<(const Remark& other) const { return order() < other.order(); }
};

// The value behind `key` in a line of YAML, without quotes.
std::string value_of(std::string_view line, std::string_view key, bool in_map = false) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return "";
  line.remove_prefix(at + key.size());
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  std::string text;
  if (!line.empty() && line.front() == '\'') {
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '\'' && (i + 1 == line.size() || line[i + 1] != '\'')) break;
      if (line[i] == '\'') ++i;
      text += line[i];
    }
    return text;
  }
  return std::string(in_map ? line.substr(0, line.find_first_of(",}")) : line);
}

int depth_in(const std::string& text) {
  const std::size_t at = text.find("depth ");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 6);
}

void read_file(const std::filesystem::path& path, std::set<Remark>& found) {
  std::ifstream file(path);
  std::string line;
  Remark remark;
  bool ours = false;
  while (std::getline(file, line)) {
    if (line.starts_with("--- !")) {
      remark = {};
      remark.kind = line.substr(5);
      ours = false;
    } else if (line.starts_with("Pass:")) {
      ours = value_of(line, "Pass:") == "herald-plans";
    } else if (line.starts_with("Name:")) {
      remark.name = value_of(line, "Name:");
    } else if (line.starts_with("DebugLoc:")) {
      remark.file = value_of(line, "File:", true);
      remark.line = value_of(line, "Line:", true);
    } else if (line.starts_with("Function:")) {
      remark.function = value_of(line, "Function:");
    } else if (line.starts_with("  - String:")) {
      remark.text += value_of(line, "String:");
    } else if (line == "..." && ours) {
      remark.depth = depth_in(remark.text);
      found.insert(remark);
    }
  }
}

// Written by the compiler, or with LTO by the linker: a.opt.yaml, a.opt.ld.yaml, a-opt.ld.yaml.thin.1.yaml.
bool is_record(const std::string& name) {
  return name.ends_with(".opt.yaml") || name.find("opt.ld.yaml") != std::string::npos;
}

void report(const std::string& folder) {
  std::set<Remark> found;
  std::size_t files = 0;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (is_record(entry->path().filename().string())) {
      ++files;
      read_file(entry->path(), found);
    }
  if (error) {
    fmt::print(stderr, "herald plans report: {}: {}\n", folder, error.message());
    throw CLI::RuntimeError(1);
  }
  if (files == 0) {
    fmt::print(stderr,
               "herald plans report: no file *.opt.yaml below {}; compile with mpicc --plans -g "
               "-fsave-optimization-record\n",
               folder);
    throw CLI::RuntimeError(1);
  }
  const auto count = [&](std::string_view name) {
    return std::count_if(found.begin(), found.end(), [&](const Remark& one) { return one.name == name; });
  };
  const auto missed =
      std::count_if(found.begin(), found.end(), [](const Remark& one) { return one.kind == "Missed"; });
  fmt::print("{} prepared, {} converted, {} made nonblocking, {} not, in {} files\n", count("Prepared"),
             count("Converted"), count("Split"), missed, files);
  for (const Remark& one : found)
    fmt::print("{:<9} {}:{} in {}: {}\n",
               one.kind == "Missed"      ? "not"
               : one.name == "Prepared"  ? "prepared"
               : one.name == "Converted" ? "converted"
               : one.name == "Split"     ? "split"
                                         : "note",
               one.file, one.line, one.function, one.text);
}

}  // namespace

void add_plans(CLI::App& program) {
  CLI::App* const plans = program.add_subcommand("plans", "calls that mpicc --plans prepared or converted");
  plans->require_subcommand(1);
  CLI::App* const command =
      plans->add_subcommand("report", "all remarks below a folder, deepest loops first");
  const auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "folder with *.opt.yaml (-fsave-optimization-record)")->required();
  command->callback([folder] { report(*folder); });
}

}  // namespace herald::tools
