// SPDX-License-Identifier: BSD-3-Clause
// tools/report/data.cpp: the data that the page of `herald model report` shows.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "coll/explain.hpp"
#include "coll/predict.hpp"
#include "model/baselines.hpp"
#include "report/report.hpp"
#include "report_html.hpp"

namespace herald::tools {
namespace {

using Json = nlohmann::ordered_json;
using coll::Op;

constexpr Op kOps[] = {Op::bcast,    Op::gather, Op::scatter,  Op::allgather,
                       Op::alltoall, Op::reduce, Op::allreduce};
constexpr std::uint64_t kSizes[] = {64, 256, 1024, 4096, 16384, 65536, 262144, 1048576};

coll::Shape shape_of_hosts(int hosts) {
  coll::Shape shape = coll::shape_of(hosts, hosts, true);
  shape.leaders_lane = shape.lane = hosts > 2;
  return shape;
}

// Those that were measured, and more.
std::vector<int> host_counts(const model::Measured& measured) {
  std::vector<int> counts = {2, 4, 8, 16, 64, static_cast<int>(measured.hosts.size())};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  counts.erase(counts.begin(), std::lower_bound(counts.begin(), counts.end(), 2));
  return counts;
}

Json functions_of(const model::Measured& measured) {
  Json all = Json::array();
  const auto add = [&](const std::string& where) {
    return [&all, where](const char* name, const model::Function& function) {
      if (function.empty()) return;
      Json knots = Json::array();
      for (const model::Knot& knot : function.knots()) knots.push_back({knot.bytes, knot.ns, knot.spread_ns});
      all.push_back({{"title", where + " " + name}, {"knots", knots}});
    };
  };
  for (const model::Path path : {model::Path::udp, model::Path::mcast, model::Path::shm, model::Path::direct})
    model::for_each_path_function(measured.parameters.of(path), add(name_of(path)));
  model::for_each_host_function(measured.parameters, add("host"));
  return all;
}

Json numbers_of(const model::Measured& measured) {
  Json all = Json::array();
  model::for_each_host_number(measured.parameters, [&](const char* name, double value) {
    all.push_back({name, fmt::format("{:.6g}", value)});
  });
  model::for_each_path_number(measured.parameters.of(model::Path::udp), [&](const char* name, double value) {
    all.push_back({std::string("udp ") + name, fmt::format("{:.6g}", value)});
  });
  return all;
}

// Predictors of the three models and of the ends of the interval.
struct Predictors {
  explicit Predictors(const model::Parameters& measured)
      : low_parameters(shifted(measured, -1)),
        high_parameters(shifted(measured, 1)),
        logp_parameters(model::logp_parameters(measured)),
        postal_parameters(model::postal_parameters(measured)),
        middle(measured),
        low(low_parameters),
        high(high_parameters),
        logp(logp_parameters),
        postal(postal_parameters) {}
  model::Parameters low_parameters, high_parameters, logp_parameters, postal_parameters;
  coll::Predictor middle, low, high, logp, postal;
};

void add_predictions(const model::Measured& measured, Json& page) {
  Predictors with(measured.parameters);
  page["curves"] = page["regions"] = page["baselines"] = Json::array();
  const std::vector<int> counts = host_counts(measured);
  for (const Op op : kOps) {
    Json by_hosts = Json::array(), winners = Json::array();
    for (const int hosts : counts) {
      const coll::Shape shape = shape_of_hosts(hosts);
      const coll::Cluster cluster = coll::cluster_of(shape);
      Json rows = Json::array(), names = Json::array();
      for (const std::uint64_t bytes : kSizes) {
        const coll::Algorithm& winner = with.middle.choose_cheapest(op, bytes, shape, cluster);
        const double ns = with.middle.predict(winner, bytes, shape, cluster).ns;
        const double low = with.low.predict(winner, bytes, shape, cluster).ns,
                     high = with.high.predict(winner, bytes, shape, cluster).ns;
        rows.push_back({bytes, ns, std::min(low, ns), std::max(high, ns)});
        names.push_back(winner.name);
      }
      by_hosts.push_back({{"n", hosts}, {"rows", rows}});
      winners.push_back(names);
    }
    page["curves"].push_back({{"op", name_of(op)}, {"hosts", by_hosts}});
    page["regions"].push_back(
        {{"op", name_of(op)}, {"sizes", kSizes}, {"hosts", counts}, {"winners", winners}});
  }
  const int hosts = std::max(3, static_cast<int>(measured.hosts.size()));
  const coll::Shape shape = shape_of_hosts(hosts);
  const coll::Cluster cluster = coll::cluster_of(shape);
  for (const auto& [op, name] : {std::pair{Op::bcast, "binomial"},
                                 {Op::bcast, "chain"},
                                 {Op::gather, "linear"},
                                 {Op::alltoall, "linear"},
                                 {Op::reduce, "binomial"},
                                 {Op::allreduce, "ring"}}) {
    const coll::Algorithm& algorithm = *coll::find_algorithm(op, name);
    Json rows = Json::array();
    for (const std::uint64_t bytes : kSizes) {
      const auto time = [&](coll::Predictor& by) { return by.predict(algorithm, bytes, shape, cluster).ns; };
      rows.push_back({bytes, time(with.middle), time(with.logp), time(with.postal)});
    }
    page["baselines"].push_back({{"op", name_of(op)}, {"algorithm", name}, {"hosts", hosts}, {"rows", rows}});
  }
}

// The bottleneck of short and of long collectives, in two sentences.
std::string bottleneck_of(const model::Measured& measured) {
  const coll::Shape shape = shape_of_hosts(std::max(2, static_cast<int>(measured.hosts.size())));
  const coll::Cluster cluster = coll::cluster_of(shape);
  coll::Predictor predictor(measured.parameters);
  const auto largest = [&](std::uint64_t bytes, double& share) {
    const coll::Algorithm& winner = predictor.choose_cheapest(Op::allreduce, bytes, shape, cluster);
    const model::Split split = predictor.predict(winner, bytes, shape, cluster).split;
    const std::pair<double, const char*> parts[] = {
        {split.overhead, "the processors, which send and receive messages"},
        {split.wire, "the links"},
        {split.contention, "contention: hosts wait for ports and processors that serve others"},
        {split.copying, "copies and reductions in memory"}};
    const auto& most = *std::max_element(std::begin(parts), std::end(parts));
    share = most.first / std::max(1.0, split.total());
    return most.second;
  };
  double short_share = 0, long_share = 0;
  const char* const few = largest(1024, short_share);
  const char* const many = largest(1 << 20, long_share);
  const model::PathParameters& udp = measured.parameters.of(model::Path::udp);
  const double rate = 8e3 / std::max(1e-6, udp.recv_gap.slope_at(65536));
  return fmt::format(
      "An allreduce of 1 MiB on {} hosts is limited by {} ({:.0f} % of its time), one of 1 KiB by {} "
      "({:.0f} %). A host receives {:.0f} Mbit/s; a message of one byte takes {}.",
      shape.hosts, many, 100 * long_share, few, 100 * short_share, rate,
      coll::time_text(udp.send_overhead.at(1) + udp.latency.at(1) + udp.recv_overhead.at(1) +
                      udp.user_recv.at(1)));
}

bool parse_line(const std::string& line, MeasuredTime& out) {
  std::istringstream words(line);
  std::string call, hosts_word, unit, measured_word, us_word;
  if (!(words >> call >> out.hosts >> hosts_word >> out.bytes >> unit >> measured_word >> out.ns >> us_word))
    return false;
  const std::size_t equals = call.find('=');
  if (equals == std::string::npos || hosts_word != "hosts" || unit != "B" || measured_word != "measured" ||
      us_word != "us" || out.hosts < 1 || out.bytes < 0 || out.ns <= 0)
    return false;
  out.op = call.substr(0, equals);
  out.algorithm = call.substr(equals + 1);
  out.ns *= 1e3;
  return true;
}

}  // namespace

bool parse_measured_times(const std::string& text, std::vector<MeasuredTime>& out, std::string& why) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    MeasuredTime time;
    if (!parse_line(line, time)) {
      why = fmt::format("line {} is not one of herald-measure --check: {}", number, line.substr(0, 60));
      return false;
    }
    out.push_back(time);
  }
  return true;
}

std::string report_page(const model::Measured& measured, const std::vector<MeasuredTime>& times) {
  Json page = {
      {"cluster", measured.cluster},
      {"hosts", measured.hosts},
      {"facts", fmt::format("{} host{}, links of {:g} Mbit/s, kernel {}", measured.hosts.size(),
                            measured.hosts.size() == 1 ? "" : "s", measured.link_mbit, measured.kernel)},
      {"bottleneck", bottleneck_of(measured)},
      {"functions", functions_of(measured)},
      {"numbers", numbers_of(measured)},
      {"measured", Json::array()}};
  if (measured.link_mbit <= 0)
    page["facts"] = fmt::format("{} hosts, links whose rate the kernel does not know, kernel {}",
                                measured.hosts.size(), measured.kernel);
  for (const MeasuredTime& time : times)
    page["measured"].push_back({time.op, time.algorithm, time.hosts, time.bytes, time.ns});
  add_predictions(measured, page);
  std::string data = page.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = data.find("</", at)) != std::string::npos; at += 3)
    data.replace(at, 2, "<\\/");  // a name cannot end the script
  std::string html = kReportHtml;
  constexpr std::string_view kMark = "null/*DATA*/";
  return html.replace(html.find(kMark), kMark.size(), data);
}

}  // namespace herald::tools
