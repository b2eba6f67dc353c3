// SPDX-License-Identifier: BSD-3-Clause
// tools/replay/what_if.cpp: "rate=10gbit,hosts=32" as changes, and parameters after a change of the network.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "coll_query.hpp"
#include "commands.hpp"
#include "replay/replay.hpp"

namespace herald::tools {
namespace {

struct Unit {
  const char* name;
  double factor;
};
constexpr Unit kRates[] = {{"gbit", 1000}, {"mbit", 1}};
constexpr Unit kTimes[] = {{"us", 1e3}, {"ns", 1}, {"ms", 1e6}};

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& example) {
  throw CLI::ValidationError("--with", fmt::format("{}={}: write {}", key, value, example));
}

bool read_number(const std::string& text, double& out) {
  try {
    std::size_t used = 0;
    out = std::stod(text, &used);
    return used == text.size() && std::isfinite(out) && out > 0;
  } catch (...) {
    return false;
  }
}

// "x10" or "/2".
bool read_factor(const std::string& text, double& out) {
  if (text.size() < 2 || (text[0] != 'x' && text[0] != '/') || !read_number(text.substr(1), out))
    return false;
  if (text[0] == '/') out = 1 / out;
  return true;
}

template <std::size_t N>
bool read_unit(const std::string& text, const Unit (&units)[N], double& out) {
  for (const Unit& unit : units)
    if (text.ends_with(unit.name) &&
        read_number(text.substr(0, text.size() - std::string(unit.name).size()), out)) {
      out *= unit.factor;
      return true;
    }
  return false;
}

coll::Op find_op(const std::string& key) {
  for (int i = 0; i < coll::kOps; ++i)
    if (key == name_of(static_cast<coll::Op>(i))) return static_cast<coll::Op>(i);
  throw CLI::ValidationError(
      "--with", fmt::format("'{}' is not known: rate, latency, cpu, hosts, buffer, coll, or a collective: {}",
                            key, all_ops()));
}

void read_hosts(const std::string& value, WhatIf& out) {
  double number = 0;
  if (!read_number(value, number) || number != std::floor(number) || number > 1 << 20)
    refuse("hosts", value, "a number of hosts: hosts=32");
  out.hosts = static_cast<int>(number);
}

void read_pair(const std::string& key, const std::string& value, WhatIf& out) {
  if (key == "rate") {
    if (!read_factor(value, out.rate_times) && !read_unit(value, kRates, out.rate_mbit))
      refuse(key, value, "rate=10gbit, rate=100mbit, rate=x10 or rate=/2");
  } else if (key == "latency") {
    if (!read_factor(value, out.latency_times) && !read_unit(value, kTimes, out.latency_ns))
      refuse(key, value, "latency=5us, latency=x2 or latency=/2");
  } else if (key == "cpu") {
    if (!read_factor(value, out.processors)) refuse(key, value, "cpu=x2: processors twice as fast");
  } else if (key == "hosts") {
    read_hosts(value, out);
  } else if (key == "buffer") {
    out.buffer_bytes = static_cast<double>(parse_size(value));
  } else if (key == "coll") {
    if (value != "auto") refuse(key, value, "coll=auto: the algorithms of the shortest predicted times");
    out.all_auto = true;
  } else {
    const coll::Op op = find_op(key);
    if (value != "auto" && coll::find_algorithm(op, value) == nullptr)
      throw CLI::ValidationError(
          "--with",
          fmt::format("{} has no algorithm '{}': herald explain {} 64k -n 8 lists them", key, value, key));
    out.algorithms[op] = value;
  }
}

// A host takes so long for a further byte, however fast its link is.
double host_byte_ns(const model::PathParameters& path) {
  constexpr double kLong = 256 << 10;
  const double send = path.send_overhead.slope_at(kLong);
  const double receive = path.recv_overhead.slope_at(kLong) + path.user_recv.slope_at(kLong);
  return std::max({0.05, send, receive});
}

// The cost beyond that of an empty message, `times` as long, but no less than `least` for each byte.
model::Function rescaled(const model::Function& function, double times, double least) {
  model::Function out;
  const double start = function.at(0);
  for (const model::Knot& knot : function.knots()) {
    const double wire = knot.ns - start;
    const double floor = std::min(wire, least * knot.bytes);
    out.add({knot.bytes, start + (times < 1 ? std::max(wire * times, floor) : wire * times),
             knot.spread_ns * times});
  }
  return out;
}

model::Function moved(const model::Function& function, double by) {
  model::Function out;
  for (const model::Knot& knot : function.knots())
    out.add({knot.bytes, std::max(0.0, knot.ns + by), knot.spread_ns});
  return out;
}

}  // namespace

WhatIf parse_what_if(const std::string& text) {
  WhatIf out;
  for (const std::string& pair : CLI::detail::split(text, ',')) {
    if (pair.empty() && text.empty()) break;
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CLI::ValidationError("--with",
                                 fmt::format("'{}' is no key=value: write rate=10gbit,hosts=32", pair));
    read_pair(pair.substr(0, equals), pair.substr(equals + 1), out);
  }
  return out;
}

model::Parameters changed(const model::Parameters& base, const WhatIf& change) {
  constexpr double kLong = 256 << 10, kFrame = 1538.0 / 1380.0;
  model::Parameters out = base;
  double times = 1 / change.rate_times;
  const double byte_ns = base.of(model::Path::udp).recv_gap.slope_at(kLong);
  if (change.rate_mbit > 0 && byte_ns > 0) times = 8e3 / change.rate_mbit * kFrame / byte_ns;
  for (const model::Path which : {model::Path::udp, model::Path::tcp, model::Path::mcast}) {
    model::PathParameters& path = out.of(which);
    const double least = host_byte_ns(base.of(which));
    for (model::Function* each : {&path.send_gap, &path.latency, &path.recv_gap})
      *each = rescaled(*each, times, least);
    const double start = path.latency.at(0);
    const double wanted = change.latency_ns >= 0 ? change.latency_ns : start * change.latency_times;
    path.latency = moved(path.latency, wanted - start);
    if (change.processors == 1) continue;
    for (model::Function* each : {&path.send_overhead, &path.recv_overhead, &path.user_recv})
      *each = rescaled(moved(*each, each->at(0) / change.processors - each->at(0)), 1 / change.processors, 0);
  }
  if (change.buffer_bytes >= 0) out.switch_bytes = change.buffer_bytes;
  return out;
}

}  // namespace herald::tools
