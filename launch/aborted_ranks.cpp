// SPDX-License-Identifier: BSD-3-Clause
#include "aborted_ranks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "base/aborted_ranks.hpp"
#include "text.hpp"

namespace herald::launch {

AbortedRanks::~AbortedRanks() {
  if (list_ >= 0) close(list_);
}

void AbortedRanks::take(std::int64_t now_ms, std::int64_t grace_ms) {
  for (const RankAbort& abort : pmi_.take_rank_aborts()) {
    if (status_ == 0 && plan_.upstream < 0) {
      const int all = plan_.hosts.empty() ? plan_.size : plan_.links.ranks;
      const auto count = static_cast<int>(abort.ranks.size());
      status_ = abort.status;
      summary_ = cat("rank ", abort.by, " called MPI_Abort with code ", abort.code, " on a communicator of ",
                     count, count == 1 ? " rank" : " ranks", "; the other ", all - count, " went on");
      if (abort.status != abort.code) summary_ += cat("; the exit status is ", abort.status);
    }
    if (!plan_.hosts.empty()) continue;  // the hosts end their ranks
    list(abort);
    for (int rank = 0; rank < plan_.size; ++rank)
      if (std::find(abort.ranks.begin(), abort.ranks.end(), plan_.number_of(rank)) != abort.ranks.end())
        end(rank);
    if (!kill_at_) kill_at_ = now_ms + grace_ms;
  }
}

// Before the ranks end: the others look into the list when they notice it.
void AbortedRanks::list(const RankAbort& abort) {
  if (list_ < 0) {
    list_ = open(aborted_ranks_file(plan_.job_id).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (list_ >= 0) (void)flock(list_, LOCK_EX | LOCK_NB);
  }
  std::string text;
  for (const int rank : abort.ranks) text += cat(rank, "\n");
  if (list_ >= 0) (void)!write(list_, text.data(), text.size());
}

void AbortedRanks::end(int rank) {
  if (!ended_.insert(rank).second) return;
  pmi_.leave(rank);
  children_.signal_group(rank, SIGTERM);
  children_.signal_group(rank, SIGCONT);
}

void AbortedRanks::on_time(std::int64_t now_ms) {
  if (!kill_at_ || *kill_at_ > now_ms) return;
  kill_at_.reset();
  for (const int rank : ended_) children_.signal_group(rank, SIGKILL);
}

}  // namespace herald::launch
