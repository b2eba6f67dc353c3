// SPDX-License-Identifier: BSD-3-Clause
// tools/knobs_man.cpp: the manual page of the knobs, written from their table, so that it cannot be out of
// date.
#include <fmt/format.h>

#include <cctype>
#include <string>

#include "base/knobs.hpp"
#include "build_facts.hpp"
#include "commands.hpp"

namespace herald::tools {
namespace {

// Roff takes a leading dot or quote, a backslash and a hyphen for its own.
std::string roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string entry(const KnobRow& row) {
  std::string text = fmt::format(".TP\n.B {}\n{}.\n", variable_of(row), roff(row.help));
  if (row.is_text) {
    if (*row.choices != '\0') text += fmt::format("One of {}.\n", roff(row.choices));
    text += *row.fallback_text == '\0' ? "Default: empty.\n"
                                       : fmt::format("Default: {}.\n", roff(row.fallback_text));
  } else {
    text +=
        fmt::format("A whole number from {} to {}, in {}. Default: {}.\n", roff(std::to_string(row.smallest)),
                    row.largest, row.unit, roff(std::to_string(row.fallback)));
  }
  return text + fmt::format("MPI_T control variable:\n.IR herald_{} .\n", row.name);
}

}  // namespace

std::string variable_of(const KnobRow& row) {
  std::string name = "HERALD_";
  for (const char* c = row.name; *c != '\0'; ++c)
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  return name;
}

std::string knobs_manual() {
  std::string page = fmt::format(
      ".\\\" SPDX-License-Identifier: BSD-3-Clause\n"
      ".\\\" made by `herald info --man` from the table of knobs: do not edit\n"
      ".TH HERALD-KNOBS 7 \"\" \"Herald {}\" \"Herald MPI\"\n"
      ".SH NAME\nherald-knobs \\- settings of the Herald MPI library\n"
      ".SH DESCRIPTION\n"
      "Herald needs no settings. These change what it decides by itself.\n"
      "Each is an environment variable, read once when MPI starts, and also a read-only MPI_T control "
      "variable.\n"
      "Whole numbers may end in k (1024) or M (1048576).\n"
      "A bad value is reported and the default stands; an unknown name that begins with HERALD_ is reported "
      "too.\n"
      ".SH SETTINGS\n",
      kVersion);
  for (const KnobRow& row : knob_rows()) page += entry(row);
  return page + ".SH SEE ALSO\n.BR herald (1),\n.BR mpiexec (1),\n.BR mpicc (1)\n";
}

}  // namespace herald::tools
