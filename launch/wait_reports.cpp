// SPDX-License-Identifier: BSD-3-Clause
#include "wait_reports.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "debugger.hpp"
#include "job.hpp"
#include "text.hpp"
#include "watch/read_ranks.hpp"
#include "watch/view_json.hpp"

namespace herald::launch {
namespace {

constexpr Millis kAnswerTime = 2000;       // for hosts that say what their ranks wait for
constexpr Millis kStackTime = 5000;        // for the debugger that prints the stack of one rank
constexpr Millis kMostStackTime = 30'000;  // for all ranks of a host
constexpr Millis kOwnStackTime = 500;      // for ranks that print their own stack
constexpr std::size_t kMostLine = kPmiLineMax - 64;

// A rank with very many threads shows those that fit.
std::string line_of(watch::RankView view) {
  std::string line = watch::to_line({view});
  while (line.size() > kMostLine && !view.waits.empty()) {
    view.waits.pop_back();
    line = watch::to_line({view});
  }
  return line;
}

}  // namespace

std::vector<watch::RankView> WaitReports::own_views() const {
  std::set<int> own;
  for (int rank = 0; rank < plan_.size; ++rank) own.insert(plan_.number_of(rank));
  std::vector<watch::RankView> views = watch::read_ranks(plan_.job_id);
  std::erase_if(views, [&](const watch::RankView& view) { return own.count(view.rank) == 0; });
  return views;
}

std::vector<std::string> WaitReports::without_init(const std::vector<watch::RankView>& views) const {
  std::vector<std::string> out;
  for (int rank = 0; rank < plan_.size; ++rank) {
    const auto is_it = [&](const watch::RankView& view) { return view.rank == plan_.number_of(rank); };
    if (std::none_of(views.begin(), views.end(), is_it) && children_.is_alive(rank) &&
        !pmi_.initialized(rank))
      out.push_back(children_.describe(rank) + ": has not called MPI_Init");
  }
  return out;
}

void WaitReports::ask_hosts(bool stacks) {
  pmi_.reports().begin(static_cast<std::size_t>(children_.alive()));
  for (int host = 0; host < plan_.size; ++host)
    if (children_.is_alive(host)) pmi_.reply(host, HostReports::question(stacks));
}

void WaitReports::ask(Millis now, Millis least, Then then) {
  finish();
  least_ = least;
  then_ = std::move(then);
  if (plan_.hosts.empty()) {
    std::vector<watch::RankView> views = own_views();
    const std::vector<std::string> others = without_init(views);
    return say(std::move(views), others);
  }
  const bool stacks = least == 0 && plan_.debug.stack_traces;
  ask_hosts(stacks);
  due_ = now + (stacks ? kMostStackTime : kAnswerTime);
}

void WaitReports::answer() {
  const std::optional<bool> stacks = pmi_.reports().take_question();
  if (!stacks) return;
  if (!plan_.hosts.empty()) return ask_hosts(*stacks);
  const std::vector<watch::RankView> views = own_views();
  for (const watch::RankView& view : views) pmi_.reports().tell({line_of(view), {}});
  for (const std::string& rank : without_init(views)) pmi_.reports().tell({{}, rank});
  if (*stacks) report_stacks();
  pmi_.reports().tell_end();
}

void WaitReports::on_time(Millis now) {
  if (due_ && (*due_ <= now || pmi_.reports().is_complete())) finish();
}

void WaitReports::finish() {
  if (!std::exchange(due_, {})) return;
  std::vector<watch::RankView> views;
  std::vector<std::string> others;
  for (const ToldRank& told : pmi_.reports().take_told()) {
    std::vector<watch::RankView> one;
    if (!told.without_init.empty())
      others.push_back(told.without_init);
    else if (watch::from_line(told.view, one))
      views.insert(views.end(), one.begin(), one.end());
  }
  if (!pmi_.reports().is_complete())
    others.push_back(cat(plan_.links.ranks - static_cast<int>(views.size() + others.size()),
                         " ranks on hosts that do not answer"));
  say(std::move(views), others);
}

// `others`: ranks of which nothing is known.
void WaitReports::say(std::vector<watch::RankView> views, const std::vector<std::string>& others) {
  bool wanted = least_ == 0;
  for (const watch::RankView& view : views)
    for (const ShownWait& wait : view.waits)
      wanted = wanted || view.read_ns - wait.since_ns >= least_ * 1'000'000;
  Millis stacks = 0;
  if (wanted) {
    for (const std::string& line : watch::job_text(std::move(views))) report(line);
    for (const std::string& rank : others) report(rank);
    if (least_ == 0 && plan_.debug.stack_traces)
      stacks = plan_.hosts.empty() ? report_stacks() : kOwnStackTime;
  }
  if (const Then then = std::exchange(then_, {})) then(stacks);
}

// By a debugger, or else by the ranks themselves, which takes the time that is returned.
Millis WaitReports::report_stacks() const {
  Millis left = kMostStackTime, answers = 0;
  for (int rank = 0; rank < plan_.size; ++rank) {
    if (!children_.is_alive(rank)) continue;
    const Millis begin = clock_now();
    const auto lines = left > 0 ? stacks_of(children_.pid(rank), static_cast<int>(std::min(left, kStackTime)))
                                : std::vector<std::string>{};
    left -= clock_now() - begin;
    if (!lines.empty()) output_.report(cat("mpiexec: ", "stack of ", children_.describe(rank), ":"));
    for (const std::string& line : lines) output_.report("  " + line);
    if (!lines.empty()) continue;
    if (children_.signal_if_caught(rank, stack_signal()))
      answers = kOwnStackTime;
    else
      output_.report(cat("mpiexec: ", "no stack of ", children_.describe(rank),
                         ": gdb is not installed or not allowed to attach, and it has not called MPI_Init"));
  }
  return answers;
}

}  // namespace herald::launch
