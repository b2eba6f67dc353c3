// SPDX-License-Identifier: BSD-3-Clause
// tools/model.cpp: `herald model measure` and `herald model predict` (docs/model.md). Measuring is the MPI
// program herald-measure (tools/measure/): under a launcher it is executed, otherwise started with mpiexec.
#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "coll/explain.hpp"
#include "coll_query.hpp"
#include "commands.hpp"
#include "report/report.hpp"
#include "start.hpp"

namespace herald::tools {
namespace {

struct Measure {
  std::string hosts, folder;
  bool quiet = false, show = false;
};

struct Predict {
  std::string op, size = "0", ranks = "16", from, algorithm;
  double rate_mbit = 0;
};

void measure(const Measure& options) {
  std::vector<std::string> words;
  if (!under_launcher()) {
    if (options.hosts.empty())
      throw CLI::ValidationError("--host", "name the hosts, as in --host node1,node2, or use a launcher");
    // Two ranks on each host, so that shared memory is measured too.
    std::string hosts;
    for (const std::string& host : CLI::detail::split(options.hosts, ','))
      hosts += (hosts.empty() ? "" : ",") + host + (host.find(':') == std::string::npos ? ":2" : "");
    words = {(own_prefix() / "bin/mpiexec").string(), "--host", hosts};
  }
  words.push_back((own_prefix() / "libexec/herald/herald-measure").string());
  if (!under_launcher() && ::isatty(STDERR_FILENO) != 0) words.emplace_back("--bar");
  if (options.quiet) words.emplace_back("--quiet");
  if (!options.folder.empty()) words.insert(words.end(), {"--to", options.folder});
  if (options.show) {
    fmt::print("{}\n", fmt::join(words, " "));
    return;
  }
  become("model measure", words);
}

// A plain number is a number of hosts with one rank each.
coll::Shape shape_of(const std::string& ranks) {
  return parse_shape(ranks.find('x') == std::string::npos ? ranks + "x1" : ranks, 0, true);
}

void predict(const Predict& query) {
  const coll::Op op = parse_op(query.op);
  const std::uint64_t bytes = parse_size(query.size);
  const coll::Shape shape = shape_of(query.ranks);
  const coll::Cluster cluster = coll::cluster_of(shape);
  model::Measured measured;
  const bool found = query.rate_mbit == 0 && load_model(query.from, measured);
  if (!found) {
    const double mbit = query.rate_mbit > 0 ? query.rate_mbit : 1000;
    measured.parameters = model::default_parameters(mbit * 1e6, std::thread::hardware_concurrency());
    fmt::print("not measured: usual hosts with links of {:g} Mbit/s\n", mbit);
  } else {
    fmt::print("cluster {}, measured on {} hosts\n", measured.cluster, measured.hosts.size());
  }
  const model::Parameters low = shifted(measured.parameters, -1), high = shifted(measured.parameters, 1);
  const coll::Algorithm* algorithm = nullptr;
  if (!query.algorithm.empty()) {
    algorithm = coll::find_algorithm(op, query.algorithm);
    if (algorithm == nullptr || !algorithm->fits(shape))
      throw CLI::ValidationError("--algorithm",
                                 fmt::format("'{}' does not fit: herald explain {} {} -n {} lists those "
                                             "that do",
                                             query.algorithm, query.op, query.size, query.ranks));
  } else {
    algorithm = &coll::Predictor(measured.parameters).choose_cheapest(op, bytes, shape, cluster);
  }
  const auto time = [&](const model::Parameters& with) {
    return coll::Predictor(with).predict(*algorithm, bytes, shape, cluster);
  };
  const model::Prediction middle = time(measured.parameters);
  const double least = std::min(time(low).ns, middle.ns), most = std::max(time(high).ns, middle.ns);
  fmt::print("{} of {} bytes on {} hosts with {} rank{} each, by {}: {} (between {} and {})\n", name_of(op),
             bytes, shape.hosts, shape.largest_host, shape.largest_host == 1 ? "" : "s", algorithm->name,
             coll::time_text(middle.ns), coll::time_text(least), coll::time_text(most));
  fmt::print("overhead {}, wire {}, contention {}, copying {}\n", coll::time_text(middle.split.overhead),
             coll::time_text(middle.split.wire), coll::time_text(middle.split.contention),
             coll::time_text(middle.split.copying));
}

}  // namespace

// After add_model_memory, which adds the command `model` itself.
void add_model(CLI::App& program) {
  CLI::App* const model = program.get_subcommand("model");
  model->description("the cost model of a cluster: measure, predict, report, compare, memory");
  CLI::App* const first = model->add_subcommand("measure", "measure this cluster; later jobs choose by it");
  auto options = std::make_shared<Measure>();
  first->add_option("--host", options->hosts, "hosts, comma separated; not under a launcher");
  first->add_option("--to", options->folder, "folder of the files; default: ~/.cache/herald");
  first->add_flag("-q,--quiet", options->quiet, "print errors only");
  first->add_flag("--show", options->show, "print the command without running it");
  first->callback([options] { measure(*options); });
  CLI::App* const second = model->add_subcommand("predict", "the time of a collective, with an interval");
  auto query = std::make_shared<Predict>();
  second->add_option("op", query->op, "the collective: " + all_ops())->required();
  second->add_option("size", query->size, "bytes: 8, 64k, 1M ...");
  second->add_option("-n,--ranks", query->ranks, "hosts; 8x4: 8 hosts with 4 ranks each")
      ->capture_default_str();
  second->add_option("--algorithm", query->algorithm, "of the collective; default: the cheapest");
  second->add_option("--from", query->from, "file of herald model measure; default: that of this host");
  second->add_option("--rate", query->rate_mbit, "of usual hosts instead, in Mbit/s")
      ->check(CLI::Range(1.0, 1e7));
  second->callback([query] { predict(*query); });
  add_model_report(*model);
  add_model_replay(*model);
}

}  // namespace herald::tools
