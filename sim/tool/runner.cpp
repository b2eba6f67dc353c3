// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/runner.cpp: see runner.hpp.
#include "sim/tool/runner.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "sim/job/scenario.hpp"
#include "sim/tool/timeline.hpp"

namespace herald::sim {
namespace {

// The seed that this thread runs, for the message of a crash.
thread_local std::uint64_t current_seed = 0;
thread_local const char* current_scenario = "mix";

void on_crash(int signal) {
  char text[160];
  const int length =
      std::snprintf(text, sizeof text, "\nsignal %d; replay: herald-sim --seed %llu --scenario %s -v\n",
                    signal, static_cast<unsigned long long>(current_seed), current_scenario);
  if (length > 0) [[maybe_unused]]
    const auto written = ::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Totals {
  std::uint64_t runs = 0, failed = 0, messages = 0, bytes = 0;
  std::uint64_t datagrams = 0, events = 0, lost = 0, dropped = 0, resent = 0, idle_turns = 0;
  std::uint64_t most_buffered = 0;
  double virtual_seconds = 0, longest = 0;
  std::uint64_t longest_seed = 0;
  std::map<std::string, std::uint64_t> by_scenario;
  std::vector<std::uint64_t> failed_seeds;
};

class Runner {
 public:
  explicit Runner(const Task& task) : task_(task), next_(task.first) {}
  std::uint64_t run();

 private:
  using Clock = std::chrono::steady_clock;
  void work();
  bool take(std::uint64_t& seed);
  void run_one(const Task::Item& item);
  void note(const Task::Item& item, const Setup& setup, const Result& result);
  void print(double seconds) const;

  const Task& task_;
  std::atomic<std::uint64_t> next_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex lock_;  // guards the members below
  Totals totals_;
};

bool Runner::take(std::uint64_t& seed) {
  seed = next_.fetch_add(1);
  {
    const std::lock_guard guard(lock_);
    if (totals_.failed >= task_.most_failures) return false;
  }
  if (!task_.kept.empty()) return (seed -= task_.first) < task_.kept.size();
  if (task_.minutes > 0)
    return std::chrono::duration<double>(Clock::now() - begin_).count() < task_.minutes * 60;
  return seed <= task_.last;
}

void Runner::work() {
  for (std::uint64_t number = 0; take(number);) {
    const Task::Item item = task_.kept.empty() ? Task::Item{task_.scenario, number} : task_.kept[number];
    current_scenario = item.scenario.c_str();
    current_seed = item.seed;
    run_one(item);
  }
}

void Runner::run_one(const Task::Item& item) {
  Setup setup;
  make_setup(item.scenario, item.seed, setup);
  Timeline timeline(stdout);
  if (task_.verbose)
    std::printf(
        "seed %llu: scenario %s, program %s, %d hosts, %u links, %.0f Mbit/s, %zu messages, %.0f bytes\n",
        static_cast<unsigned long long>(item.seed), setup.scenario.c_str(), setup.script.name.c_str(),
        setup.net.hosts, setup.net.links, static_cast<double>(setup.net.shape.bits_per_second) / 1e6,
        setup.script.sends.size(), static_cast<double>(setup.script.total_bytes()));
  Result result = run_job(setup, task_.verbose ? &timeline : nullptr);
  if (task_.twice && run_job(setup).history != result.history)
    result.wrong.push_back("the second run of the seed has another history");
  note(item, setup, result);
}

void Runner::note(const Task::Item& item, const Setup& setup, const Result& result) {
  const std::lock_guard guard(lock_);
  ++totals_.runs;
  ++totals_.by_scenario[setup.scenario];
  totals_.messages += setup.script.sends.size();
  totals_.bytes += setup.script.total_bytes();
  totals_.datagrams += result.net.sent;
  totals_.events += result.net.events;
  totals_.lost += result.net.lost + result.net.cut_off + result.net.spoiled;
  totals_.dropped += result.net.port_full + result.net.nic_full + result.net.socket_full;
  totals_.resent += result.mesh.resent;
  totals_.idle_turns += result.idle_turns;
  totals_.most_buffered = std::max(totals_.most_buffered, result.most_buffered);
  const double seconds = static_cast<double>(result.finished.ns) / 1e9;
  totals_.virtual_seconds += seconds;
  if (seconds > totals_.longest) {
    totals_.longest = seconds;
    totals_.longest_seed = setup.seed;
  }
  if (task_.verbose)
    std::printf("done at %.6f s; %llu datagrams, %llu sent again, history %016llx\n", seconds,
                static_cast<unsigned long long>(result.net.sent),
                static_cast<unsigned long long>(result.mesh.resent),
                static_cast<unsigned long long>(result.history));
  if (result.good()) return;
  ++totals_.failed;
  totals_.failed_seeds.push_back(setup.seed);
  std::fprintf(stderr, "seed %llu FAILED (%s, %s)\n", static_cast<unsigned long long>(setup.seed),
               setup.scenario.c_str(), setup.script.name.c_str());
  for (const std::string& each : result.wrong) std::fprintf(stderr, "  %s\n", each.c_str());
  std::fprintf(stderr, "  replay: herald-sim --seed %llu --scenario %s -v\n",
               static_cast<unsigned long long>(setup.seed), item.scenario.c_str());
}

void Runner::print(double seconds) const {
  const Totals& t = totals_;
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  if (!task_.json) {
    std::printf(
        "%llu seeds, %llu failed; %llu messages, %.1f MB, %llu datagrams (%llu lost, %llu dropped, %llu "
        "sent again), %.1f s of virtual time in %.1f s; longest %.3f s (seed %llu)\n",
        number(t.runs), number(t.failed), number(t.messages), static_cast<double>(t.bytes) / 1e6,
        number(t.datagrams), number(t.lost), number(t.dropped), number(t.resent), t.virtual_seconds, seconds,
        t.longest, number(t.longest_seed));
    return;
  }
  std::printf(
      "{\"seeds\": %llu, \"failed\": %llu, \"messages\": %llu, \"bytes\": %llu, \"datagrams\": %llu, "
      "\"events\": %llu, \"lost\": %llu, \"dropped\": %llu, \"resent\": %llu, \"idle_turns\": %llu, "
      "\"most_buffered\": %llu, \"virtual_seconds\": %.3f, \"longest_seconds\": %.3f, \"longest_seed\": "
      "%llu, "
      "\"seconds\": %.3f, \"scenarios\": {",
      number(t.runs), number(t.failed), number(t.messages), number(t.bytes), number(t.datagrams),
      number(t.events), number(t.lost), number(t.dropped), number(t.resent), number(t.idle_turns),
      number(t.most_buffered), t.virtual_seconds, t.longest, number(t.longest_seed), seconds);
  const char* comma = "";
  for (const auto& [name, count] : t.by_scenario) {
    std::printf("%s\"%s\": %llu", comma, name.c_str(), number(count));
    comma = ", ";
  }
  std::printf("}, \"failed_seeds\": [");
  comma = "";
  for (const std::uint64_t seed : t.failed_seeds) {
    std::printf("%s%llu", comma, number(seed));
    comma = ", ";
  }
  std::printf("]}\n");
}

std::uint64_t Runner::run() {
  std::vector<std::thread> others;
  for (unsigned i = 1; i < task_.threads; ++i) others.emplace_back([this] { work(); });
  work();
  for (std::thread& each : others) each.join();
  print(std::chrono::duration<double>(Clock::now() - begin_).count());
  return totals_.failed;
}

}  // namespace

bool read_kept(const std::string& file, std::vector<Task::Item>& kept, std::string& why) {
  std::ifstream in(file);
  if (!in) {
    why = file + " cannot be opened";
    return false;
  }
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line.erase(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    Task::Item item;
    if (!(words >> item.scenario)) continue;
    Setup setup;
    std::string rest;
    if (!(words >> item.seed) || words >> rest || !make_setup(item.scenario, item.seed, setup)) {
      why = file + ":" + std::to_string(number) + " is not a scenario and a seed";
      return false;
    }
    kept.push_back(item);
  }
  return true;
}

std::uint64_t run_seeds(const Task& task) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS}) std::signal(signal, on_crash);
  return Runner(task).run();
}

}  // namespace herald::sim
