// SPDX-License-Identifier: BSD-3-Clause
// tools/watch/remote.hpp: ranks of a job on hosts that this host's mpiexec has reached over ssh. The links of
// mpiexec tell hosts and remote shell; `herald top --feed` there answers each line with its ranks.
#pragma once
#include <string>
#include <vector>

#include "watch/rank_view.hpp"

namespace herald::watch {

struct RemoteHost {
  std::string name;
  std::vector<std::string> shell;  // the remote shell and its host
  std::string folder;              // of the commands there
};
std::vector<RemoteHost> remote_hosts(const std::string& job);
// Jobs that this host's mpiexec runs on other hosts.
std::vector<std::string> linked_jobs();

// A connection to one host.
class Feed {
 public:
  // `levels`: of the tree of links, which the host follows in turn.
  Feed(const RemoteHost& host, const std::string& job, int levels);
  ~Feed();
  Feed(Feed&& other) noexcept;
  Feed& operator=(Feed&& other) noexcept;
  const std::string& host() const { return host_; }
  bool is_open() const { return from_ >= 0; }

  void request();
  // The answer, within so many milliseconds; false: none came.
  bool take(int milliseconds, std::vector<RankView>& views);

 private:
  void close_all();
  std::string host_;
  int pid_ = -1, to_ = -1, from_ = -1;
  std::string text_;
};

}  // namespace herald::watch
