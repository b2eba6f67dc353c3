// SPDX-License-Identifier: BSD-3-Clause
#include "engine/machine.hpp"

#include <fcntl.h>

#include <charconv>
#include <cstdio>

#include "base/fd.hpp"
#include "engine/clock.hpp"
#include "engine/processors.hpp"

namespace herald::engine {
namespace {

// Two processes of one machine find the same, but for the time between two readings.
constexpr std::int64_t kSameStartNs = 10'000'000;

// The first 64 bits of the name that the kernel gave itself.
std::uint64_t read_boot() noexcept {
  std::FILE* const file = open_file("/proc/sys/kernel/random/boot_id", O_RDONLY);
  if (file == nullptr) return 0;
  std::uint64_t boot = 0;
  int digits = 0;
  for (int c = std::fgetc(file); c != EOF && digits < 16; c = std::fgetc(file)) {
    const char one = static_cast<char>(c);
    unsigned digit = 0;
    if (std::from_chars(&one, &one + 1, digit, 16).ec != std::errc{}) continue;
    boot = boot << 4 | digit;
    ++digits;
  }
  (void)std::fclose(file);
  return digits == 16 ? boot : 0;
}

template <class Number>
void add_number(std::string& line, Number number) {
  char text[24];
  if (!line.empty()) line += ' ';
  line.append(text, std::to_chars(text, text + sizeof text, number, 16).ptr);
}

template <class Number>
bool take_number(const char*& at, const char* end, Number& number) noexcept {
  const auto [next, error] = std::from_chars(at, end, number, 16);
  if (error != std::errc{}) return false;
  at = next != end ? next + 1 : next;
  return next == end || *next == ' ';
}

}  // namespace

Machine read_own_machine() noexcept {
  return {read_boot(), (read_clock(CLOCK_REALTIME) - read_clock()).ns, read_affinity()};
}

std::string write_machine(const Machine& machine) {
  std::size_t words = machine.cpus.size();
  while (words != 0 && machine.cpus[words - 1] == 0) --words;
  std::string line;
  add_number(line, machine.boot);
  add_number(line, machine.started_ns);
  for (std::size_t i = 0; i < words; ++i) add_number(line, machine.cpus[i]);
  return line;
}

bool read_machine(const std::string& line, Machine& machine) noexcept {
  machine = {};
  const char* at = line.data();
  const char* const end = at + line.size();
  if (!take_number(at, end, machine.boot) || !take_number(at, end, machine.started_ns)) return false;
  for (std::size_t i = 0; at != end; ++i)
    if (i == machine.cpus.size() || !take_number(at, end, machine.cpus[i])) return false;
  return true;
}

bool is_same_machine(const Machine& a, const Machine& b) noexcept {
  const std::int64_t apart = a.started_ns - b.started_ns;
  return a.boot != 0 && a.boot == b.boot && apart < kSameStartNs && apart > -kSameStartNs;
}

}  // namespace herald::engine
