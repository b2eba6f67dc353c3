// SPDX-License-Identifier: BSD-3-Clause
// launch/link.hpp: the two ends of the connection to another host. mpiexec starts a link for each host, as it
// starts a rank: with pipes and a PMI socket. The link executes the remote shell, which executes the proxy;
// all channels go through the shell's standard input and output, so no port is opened.
//
//   mpiexec --pipes, PMI--> link --ssh--> proxy --pipes, PMI--> mpiexec's Job of that host --> ranks
//
// The proxy ends its ranks when the connection ends, or nothing comes for kSilence. The link ends with the
// exit code of the host's job, or with 1 and the shell's own words.
#pragma once
#include <string>
#include <vector>

namespace herald::launch {

inline constexpr const char* kLinkOption = "--herald-link";
inline constexpr const char* kProxyOption = "--herald-proxy";

// `words`: the host's name, then the command that runs the proxy there.
int run_link(const std::vector<std::string>& words);
int run_proxy();

}  // namespace herald::launch
