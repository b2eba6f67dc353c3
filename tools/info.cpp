// SPDX-License-Identifier: BSD-3-Clause
// tools/info.cpp: `herald info`: prints version, build and the value of every knob. It needs no MPI library:
// it is built with the same table of knobs.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "build_facts.hpp"
#include "commands.hpp"

extern char** environ;

namespace herald::tools {
namespace {

namespace fs = std::filesystem;

std::string value_of(const Knobs& knobs, std::size_t index) {
  const KnobRow& row = knob_rows()[index];
  if (!row.is_text) return fmt::format("{} {}", knob_int(knobs, index), row.unit);
  const std::string& text = knob_text(knobs, index);
  return text.empty() ? "(empty)" : text;
}

std::string allowed(const KnobRow& row) {
  if (!row.is_text) return fmt::format("{} to {}", row.smallest, row.largest);
  if (*row.words == '\0') return *row.choices == '\0' ? "text" : row.choices;
  std::string lines = "comma separated:\n      ";
  for (const char* c = row.words; *c != '\0'; ++c) lines += *c == ';' ? "\n      " : std::string(1, *c);
  return lines + "\n    ";
}

void print_installation() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path prefix = self.parent_path().parent_path();
  fs::path library = prefix / "lib" / "libmpi_abi.so.1";
  if (!fs::exists(library, error)) library = prefix / kLibrarySubdir / "libmpi_abi.so.1";
  const bool found = fs::exists(library, error);
  fmt::print("herald {}\n", kVersion);
  fmt::print("  built    {}, {}, {}{}{}\n", kBuildType, kCompiler, kTarget,
             *kSanitizers == '\0' ? "" : ", sanitizers ", kSanitizers);
  fmt::print("  prefix   {}\n", prefix.string());
  fmt::print("  library  {}\n",
             found ? library.string() : "not found next to this program: " + library.string());
}

void print_knobs() {
  std::vector<std::string> warnings;
  const Knobs knobs = read_knobs(environ, warnings);
  const Knobs standard;
  fmt::print("\nsettings, by environment variable (* differs from the default); see herald-knobs(7)\n");
  const auto rows = knob_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string value = value_of(knobs, i);
    const std::string fallback = value_of(standard, i);
    fmt::print("{} {:<20} {}\n", value == fallback ? ' ' : '*', variable_of(rows[i]), value);
    fmt::print("    {}\n    {}; default {}{}\n", rows[i].help, allowed(rows[i]), fallback,
               rows[i].scope == KnobScope::job ? "; equal on all ranks" : "");
  }
  std::fflush(stdout);
  for (const std::string& warning : warnings) fmt::print(stderr, "herald: {}\n", warning);
}

}  // namespace

void add_info(CLI::App& program) {
  CLI::App* info = program.add_subcommand("info", "version, build, and the value of every setting");
  const auto manual = std::make_shared<bool>(false);
  info->add_flag("--man", *manual, "print the manual page herald-knobs(7) instead, as roff");
  info->callback([manual] {
    if (*manual) {
      fmt::print("{}", knobs_manual());
      return;
    }
    print_installation();
    print_knobs();
  });
}

}  // namespace herald::tools
