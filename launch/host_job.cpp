// SPDX-License-Identifier: BSD-3-Clause
#include "host_job.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>

#include "host_plan.hpp"
#include "job.hpp"
#include "make_plan.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;

bool read_bytes(int fd, std::size_t count, std::string& out) {
  char buffer[65536];
  while (count > 0) {
    const ssize_t n = read(fd, buffer, std::min(count, sizeof buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out.append(buffer, static_cast<std::size_t>(n));
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

// "plan LENGTH\n" or "tree LENGTH\n" and so many bytes.
bool read_message(int fd, std::string& kind, std::string& text) {
  std::string head;
  while (head.empty() || head.back() != '\n')
    if (head.size() > 40 || !read_bytes(fd, 1, head)) return false;
  kind = head.substr(0, 5);
  if (kind != "plan " && kind != "tree ") return false;
  const auto length = to_int(std::string_view(head).substr(5, head.size() - 6));
  return length && *length > 0 && *length < kMostBytes &&
         read_bytes(fd, static_cast<std::size_t>(*length), text);
}

int complain(const HostPlan& plan, const std::string& text, int code) {
  std::fputs(cat("mpiexec: host ", plan.host, ": ", text, "\n").c_str(), stderr);
  return code;
}

}  // namespace

int run_host_job(int upstream) {
  HostPlan part;
  TreePlan tree;
  std::string kind, text;
  // Otherwise mpiexec has gone, or is of another version.
  if (!read_message(upstream, kind, text) || !(kind == "tree " ? decode(text, tree) : decode(text, part)))
    return 1;
  try {
    if (!tree.links.empty()) {
      part.host = tree.links[0].host;
      Environment env;
      for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) env.emplace_back(*entry);
      return Job(plan_tree(tree, upstream, env)).run();
    }
    std::vector<std::string> notes;
    Job job(plan_part(part, upstream, notes));
    for (const std::string& note : notes) complain(part, note, 0);
    return job.run();
  } catch (const StartError& error) {
    return complain(part, error.message, error.code);
  } catch (const std::exception& error) {
    return complain(part, error.what(), 1);
  }
}

}  // namespace herald::launch
