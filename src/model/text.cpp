// SPDX-License-Identifier: BSD-3-Clause
#include "model/text.hpp"

#include <charconv>
#include <cmath>

namespace herald::model {
namespace {

constexpr double kMostNs = 1e12, kMostBytes = 1e12;

std::string number(double value) {
  char letters[32];  // not printf: the program may have set a locale with decimal commas
  const auto [end, error] =
      std::to_chars(letters, letters + sizeof letters, value, std::chars_format::general, 9);
  return error == std::errc{} ? std::string(letters, end) : "0";
}

std::string function_text(const Function& function) {
  std::string text;
  for (const Knot& knot : function.knots())
    text += " " + number(knot.bytes) + ":" + number(knot.ns) + ":" + number(knot.spread_ns);
  return text;
}

std::string_view take_word(std::string_view& line, char end = ' ') {
  const std::size_t at = line.find(end);
  const std::string_view word = line.substr(0, at);
  line.remove_prefix(at == std::string_view::npos ? line.size() : at + 1);
  return word;
}

bool parse_number(std::string_view word, double most, double& out) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return false;
  if (!std::isfinite(value) || value < 0 || value > most) return false;
  out = value;
  return true;
}

bool parse_function(std::string_view words, Function& out) {
  Function function;
  while (!words.empty()) {
    std::string_view knot = take_word(words);
    const std::string_view bytes = take_word(knot, ':'), ns = take_word(knot, ':');
    Knot parsed;
    if (!parse_number(bytes, kMostBytes, parsed.bytes) || !parse_number(ns, kMostNs, parsed.ns) ||
        !parse_number(knot, kMostNs, parsed.spread_ns) || !function.add(parsed))
      return false;
  }
  if (function.empty()) return false;
  out = function;
  return true;
}

// Reads line by line; knows which part of the parameters a line belongs to.
class Reader {
 public:
  explicit Reader(Measured& out) : out_(out) {}

  // False: the line is not understood.
  bool read(std::string_view line) {
    const std::string_view key = take_word(line);
    if (key == "cluster") return take_text(line, out_.cluster);
    if (key == "kernel") return take_text(line, out_.kernel);
    if (key == "link_mbit") return parse_number(line, 1e9, out_.link_mbit);
    if (key == "hosts") {
      while (!line.empty()) out_.hosts.emplace_back(take_word(line));
      return !out_.hosts.empty();
    }
    if (key == "host") return line.empty() && (in_host_ = true, path_ = nullptr, true);
    if (key == "path") return begin_path(line);
    if (key == "tried") return read_tried(line);
    bool good = false;
    const auto read_function = [&](const char* name, Function& function) {
      if (key == name) good = parse_function(line, function);
    };
    const auto read_number = [&](const char* name, double& value) {
      if (key == name) good = parse_number(line, kMostNs, value);
    };
    if (path_ != nullptr) {
      for_each_path_function(*path_, read_function);
      for_each_path_number(*path_, read_number);
    } else if (in_host_) {
      for_each_host_function(out_.parameters, read_function);
      for_each_host_number(out_.parameters, read_number);
    }
    return good;
  }

 private:
  static bool take_text(std::string_view line, std::string& out) {
    out = line;
    return !line.empty() && line.size() < 256;
  }
  bool read_tried(std::string_view line) {
    Tried tried;
    const auto read_word = [&](std::string& word) {
      word = take_word(line);
      return !word.empty() && word.size() < 64;
    };
    const auto read_count = [&](int most, int& count) {
      double value = 0;
      if (!parse_number(take_word(line), most, value)) return false;
      count = static_cast<int>(value);
      return count > 0 && count == value;
    };
    if (!read_word(tried.collective) || !read_count(1 << 24, tried.ranks) ||
        !read_count(1 << 24, tried.hosts) || !read_count(64, tried.bits) || !read_word(tried.algorithm) ||
        !line.empty() || out_.tried.size() == kMostTried)
      return false;
    out_.tried.push_back(std::move(tried));
    return true;
  }
  bool begin_path(std::string_view name) {
    path_ = nullptr;
    for (std::size_t i = 0; i < kPaths; ++i)
      if (name == name_of(static_cast<Path>(i))) path_ = &out_.parameters.path[i];
    return path_ != nullptr;
  }

  Measured& out_;
  PathParameters* path_ = nullptr;
  bool in_host_ = false;
};

// Values without which no prediction makes sense.
const char* missing_part(const Measured& measured) {
  if (measured.cluster.empty() || measured.hosts.empty() || measured.kernel.empty())
    return "it does not say on which hosts it was measured";
  const Parameters& p = measured.parameters;
  for (const Path path : {Path::shm, Path::direct, Path::udp, Path::mcast})
    if (p.of(path).send_overhead.empty() || p.of(path).latency.empty() || p.of(path).packet_bytes < 1)
      return "the parameters of a path are missing";
  if (p.of(Path::udp).send_gap.empty() || p.of(Path::udp).recv_gap.empty()) return "there are no gaps";
  if (p.copy_in_cache.empty() || p.reduce[0].empty() || p.reduce[1].empty() || p.cores < 1)
    return "the parameters of a host are missing";
  return p.interference > 1 ? "interference_share is above 1" : nullptr;
}

}  // namespace

std::string to_text(const Measured& measured) {
  std::string text =
      "herald-model " + std::to_string(kTextVersion) + "\ncluster " + measured.cluster + "\nhosts";
  for (const std::string& host : measured.hosts) text += " " + host;
  text += "\nkernel " + measured.kernel + "\nlink_mbit " + number(measured.link_mbit) + "\nhost\n";
  const auto write_function = [&](const char* name, const Function& function) {
    if (!function.empty()) text += name + function_text(function) + "\n";
  };
  const auto write_number = [&](const char* name, double value) {
    text += std::string(name) + " " + number(value) + "\n";
  };
  for_each_host_function(measured.parameters, write_function);
  for_each_host_number(measured.parameters, write_number);
  for (std::size_t i = 0; i < kPaths; ++i) {
    text += std::string("path ") + name_of(static_cast<Path>(i)) + "\n";
    for_each_path_function(measured.parameters.path[i], write_function);
    for_each_path_number(measured.parameters.path[i], write_number);
  }
  for (const Tried& each : measured.tried)
    text += "tried " + each.collective + " " + std::to_string(each.ranks) + " " + std::to_string(each.hosts) +
            " " + std::to_string(each.bits) + " " + each.algorithm + "\n";
  return text + "end\n";
}

bool from_text(std::string_view text, Measured& out, std::string& why) {
  const std::string first = "herald-model " + std::to_string(kTextVersion);
  if (text.size() > kMostText) return why = "it is too long", false;
  const std::string_view head = take_word(text, '\n');
  if (head != first) {
    why = head.starts_with("herald-model ") ? "it is of another version: measure again"
                                            : "it is not a file of measured parameters";
    return false;
  }
  Measured measured;
  Reader reader(measured);
  int number = 1;
  for (bool ended = false; !ended;) {
    if (text.empty()) return why = "its end is missing", false;
    const std::string_view line = take_word(text, '\n');
    ++number;
    ended = line == "end";
    if (!ended && !reader.read(line)) {
      why = "line " + std::to_string(number) + " is damaged: " + std::string(line.substr(0, 60));
      return false;
    }
  }
  if (!text.empty()) return why = "there is something after its end", false;
  if (const char* missing = missing_part(measured)) return why = missing, false;
  out = std::move(measured);
  return true;
}

}  // namespace herald::model
