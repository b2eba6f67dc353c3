// SPDX-License-Identifier: BSD-3-Clause
// tools/report/compare.cpp: two measured clusters side by side.
#include <fmt/format.h>

#include <cmath>

#include "coll/explain.hpp"
#include "coll/predict.hpp"
#include "report/report.hpp"

namespace herald::tools {
namespace {

using coll::Op;

std::string change_of(double a, double b) {
  if (a <= 0) return b <= 0 ? "" : "new";
  const double percent = 100 * (b / a - 1);
  return std::abs(percent) < 0.5 ? "=" : fmt::format("{:+.0f} %", percent);
}

std::string row(const std::string& what, const std::string& a, const std::string& b,
                const std::string& change) {
  return fmt::format("{:<34}{:>16}{:>16}{:>10}\n", what, a, b, change);
}

std::string times_row(const std::string& what, double a, double b) {
  return row(what, coll::time_text(a), coll::time_text(b), change_of(a, b));
}

std::string size_text(double bytes) {
  return bytes >= 1024 ? fmt::format("{:g} KiB", bytes / 1024) : fmt::format("{:g} B", bytes);
}

std::string path_rows(const model::PathParameters& a, const model::PathParameters& b, const char* name) {
  std::string text;
  std::vector<std::pair<const char*, const model::Function*>> first, second;
  model::for_each_path_function(a,
                                [&](const char* n, const model::Function& f) { first.emplace_back(n, &f); });
  model::for_each_path_function(b,
                                [&](const char* n, const model::Function& f) { second.emplace_back(n, &f); });
  for (std::size_t i = 0; i < first.size(); ++i)
    for (const double bytes : {8.0, 65536.0})
      if (!first[i].second->empty() || !second[i].second->empty())
        text += times_row(fmt::format("{} {} of {}", name, first[i].first, size_text(bytes)),
                          first[i].second->at(bytes), second[i].second->at(bytes));
  return text;
}

std::string number_rows(const model::Parameters& a, const model::Parameters& b) {
  std::vector<double> values;
  std::string text;
  model::for_each_host_number(a, [&](const char*, double value) { values.push_back(value); });
  std::size_t i = 0;
  model::for_each_host_number(b, [&](const char* name, double value) {
    text += row(name, fmt::format("{:.6g}", values[i]), fmt::format("{:.6g}", value),
                change_of(values[i], value));
    ++i;
  });
  return text;
}

}  // namespace

std::string compare_text(const model::Measured& a, const model::Measured& b) {
  std::string text = row("", a.cluster, b.cluster, "change");
  text += row("hosts", std::to_string(a.hosts.size()), std::to_string(b.hosts.size()), "");
  text += row("link, Mbit/s", fmt::format("{:g}", a.link_mbit), fmt::format("{:g}", b.link_mbit),
              change_of(a.link_mbit, b.link_mbit));
  if (a.kernel != b.kernel) text += row("kernel", a.kernel, b.kernel, "");
  text += path_rows(a.parameters.of(model::Path::udp), b.parameters.of(model::Path::udp), "udp");
  text += path_rows(a.parameters.of(model::Path::shm), b.parameters.of(model::Path::shm), "shm");
  text += number_rows(a.parameters, b.parameters);
  const int hosts = static_cast<int>(std::max<std::size_t>(2, std::min(a.hosts.size(), b.hosts.size())));
  coll::Shape shape = coll::shape_of(hosts, hosts, true);
  shape.leaders_lane = shape.lane = hosts > 2;
  const coll::Cluster cluster = coll::cluster_of(shape);
  text += fmt::format("\npredicted on {} hosts\n", hosts);
  for (const Op op : {Op::bcast, Op::gather, Op::allgather, Op::alltoall, Op::reduce, Op::allreduce})
    for (const std::uint64_t bytes : {std::uint64_t{1024}, std::uint64_t{1} << 20}) {
      const auto time = [&](const model::Measured& of) {
        coll::Predictor predictor(of.parameters);
        return predictor.predict(predictor.choose_cheapest(op, bytes, shape, cluster), bytes, shape, cluster)
            .ns;
      };
      text += times_row(fmt::format("{} of {}", name_of(op), size_text(static_cast<double>(bytes))), time(a),
                        time(b));
    }
  return text;
}

}  // namespace herald::tools
