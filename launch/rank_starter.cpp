// SPDX-License-Identifier: BSD-3-Clause
#include "rank_starter.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "debugger.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

struct Fd {  // closes a descriptor that was not released
  int fd = -1;
  ~Fd() {
    if (fd >= 0) close(fd);
  }
  int release() { return std::exchange(fd, -1); }
};

bool open_pipe(Fd& reader, Fd& writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reader.fd = ends[0];
  writer.fd = ends[1];
  return true;
}

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

const char* hint(int error) {
  switch (error) {
    case EAGAIN: return "; the limit of processes is reached (ulimit -u, or the cgroup's pids.max)";
    case EMFILE: return "; the limit of open files is reached (ulimit -n)";
    case ENFILE: return "; the machine's limit of open files is reached (sysctl fs.file-max)";
    case ENOMEM: return "; memory is short";
    case E2BIG: return "; the environment and the arguments are too long together";
    default: return "";
  }
}

// The code of a shell for a program that it cannot run.
int code_of(int error) {
  if (error == ENOENT || error == ENOTDIR) return 127;
  return error == EACCES || error == ENOEXEC || error == ETXTBSY ? 126 : 1;
}

}  // namespace

void raise_file_limit(const JobPlan& plan, Inherited& inherited) {
  if (getrlimit(RLIMIT_NOFILE, &inherited.files) != 0) return;
  rlimit more = inherited.files;
  more.rlim_cur = more.rlim_max;
  inherited.limit_raised = more.rlim_cur != inherited.files.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0;
  const rlim_t per_rank = plan.stdin_to == StdinTo::all ? 4 : 3;
  const rlim_t need = per_rank * static_cast<rlim_t>(plan.size) + 32;
  if (more.rlim_max != RLIM_INFINITY && need > more.rlim_max)
    throw std::runtime_error(cat("-n ", plan.size, " on one machine needs ", need,
                                 " open files; the limit is ", more.rlim_max,
                                 " (raise it with ulimit -Hn, or start fewer processes)"));
}

RankStarter::RankStarter(JobPlan& plan, const Inherited& inherited, Job job)
    : plan_(plan), inherited_(inherited), job_(job), null_(open("/dev/null", O_RDWR | O_CLOEXEC)) {
  pmi_as_ = fcntl(null_, F_DUPFD_CLOEXEC, 3);  // reserves the number of the ranks' PMI socket
  if (null_ < 0 || pmi_as_ < 0)
    throw std::runtime_error(cat("cannot open /dev/null: ", std::strerror(errno)));
  for (AppPlan& app : plan_.apps) {
    app.env.push_back(cat("PMI_FD=", pmi_as_));
    app.env.push_back(cat("PMI_SIZE=", plan_.world_size()));
    app.env.push_back(cat("MPI_LOCALNRANKS=", plan_.size));
    app.env.push_back(cat("HERALD_JOB_ID=", plan_.job_id));
    app.env.push_back(cat("HERALD_JOB_KEY=", plan_.job_key));
    // The library makes the output of C programs line-buffered; Python has a buffer of its own.
    if (!env_value(app.env, "PYTHONUNBUFFERED")) app.env.emplace_back("PYTHONUNBUFFERED=1");
  }
}

RankStarter::~RankStarter() {
  for (int fd : input_of_rank_)
    if (fd > 0 && fd != null_) close(fd);
  close(null_);
  close(pmi_as_);
}

// One rank inherits standard input, unless that is a terminal, which only the foreground process group may
// read. In that case, and for --stdin all, mpiexec copies it.
int RankStarter::open_input() {
  input_of_rank_.assign(static_cast<std::size_t>(plan_.size), null_);
  if (plan_.stdin_to == StdinTo::none) return 0;
  if (plan_.stdin_to == StdinTo::rank && (!isatty(0) || plan_.stdin_rank == plan_.debug.terminal_rank)) {
    input_of_rank_[static_cast<std::size_t>(plan_.stdin_rank)] = 0;
    return 0;
  }
  std::vector<InputRelay::Target> targets;
  for (int rank = 0; rank < plan_.size; ++rank) {
    if (plan_.stdin_to == StdinTo::rank && rank != plan_.stdin_rank) continue;
    Fd reader, writer;
    if (!open_pipe(reader, writer)) return fail(rank, "open a pipe", errno);
    set_nonblocking(writer.fd);
    input_of_rank_[static_cast<std::size_t>(rank)] = reader.release();
    targets.push_back({rank, writer.release()});
  }
  Poller& poller = job_.poller;
  job_.input =
      std::make_unique<InputRelay>(std::move(targets), [&poller](int fd, bool write, bool on, int rank) {
        if (!on)
          poller.unwatch(fd);
        else if (write)
          poller.watch(fd, EPOLLOUT, Tag::input_target, rank);
        else
          poller.watch(fd, EPOLLIN, Tag::input_source);
      });
  return 0;
}

int RankStarter::start_all() {
  int code = open_input();
  int rank = 0;
  for (std::size_t a = 0; a < plan_.apps.size() && code == 0; ++a) {
    AppPlan& app = plan_.apps[a];
    std::vector<char*> argv{const_cast<char*>("/bin/sh"), app.path.data()};  // [1] on: the shell's script
    for (std::size_t i = 0; i < app.argv.size(); ++i) argv.push_back(app.argv[i].data());
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& entry : app.env) envp.push_back(entry.data());
    for (int i = 0; i < app.count && code == 0; ++i, ++rank) code = start_rank(rank, app, argv, envp);
  }
  return code;
}

int RankStarter::start_rank(int rank, const AppPlan& app, std::vector<char*>& argv,
                            std::vector<char*>& envp) {
  Fd out, out_child, err, err_child, pmi, pmi_child;
  if (!open_pipe(out, out_child) || !open_pipe(err, err_child)) return fail(rank, "open a pipe", errno);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return fail(rank, "open a socket pair", errno);
  pmi.fd = pair[0];
  pmi_child.fd = pair[1];

  std::vector<std::string> own{cat("PMI_RANK=", plan_.number_of(rank)), cat("MPI_LOCALRANKID=", rank)};
  if (plan_.pretended_hosts) own.push_back(cat("HERALD_HOST=pretended-", rank % plan_.pretended_hosts));
  if (plan_.pretended_per_host) own.push_back(cat("HERALD_HOST=pretended-", rank / plan_.pretended_per_host));
  const std::size_t keep = envp.size();
  for (std::string& entry : own) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::vector<char*> shell(argv.begin(), argv.begin() + 2);  // /bin/sh script arguments...
  shell.insert(shell.end(), argv.begin() + 3, argv.end());

  if (!redirect(plan_.output.out_pattern, rank, out_child.fd) ||
      !redirect(plan_.output.err_pattern, rank, err_child.fd))
    return 1;
  Start start;
  start.path = app.path.c_str();
  start.argv = argv.data() + 2;
  start.shell_argv = shell.data();
  start.envp = envp.data();
  start.wdir = app.wdir.empty() ? nullptr : app.wdir.c_str();
  start.in = input_of_rank_[static_cast<std::size_t>(rank)];
  start.out = out_child.fd;
  start.err = plan_.output.merge_streams ? out_child.fd : err_child.fd;
  start.pmi = pmi_child.fd;
  start.pmi_as = pmi_as_;
  std::vector<char*> under;
  if (const auto found = plan_.debug.under.find(rank); found != plan_.debug.under.end()) {
    for (const std::string& word : found->second) under.push_back(const_cast<char*>(word.c_str()));
    start.path = found->second[0].c_str();
    under.push_back(argv[1]);
    under.insert(under.end(), argv.begin() + 3, argv.end());
    start.argv = start.shell_argv = under.data();
  }
  if (rank == plan_.debug.terminal_rank) {
    start.in = 0;
    start.out = 1;
    start.err = 2;
  }
  if (!plan_.bind.empty()) start.cpus = &plan_.bind[static_cast<std::size_t>(rank) % plan_.bind.size()];
  const Started started = start_process(start, inherited_);
  envp.resize(keep);
  if (started.pid < 0) return fail(rank, started.stage, started.error);
  if (rank == plan_.debug.terminal_rank) lend_terminal(started.pid);
  set_nonblocking(pmi.fd);
  set_nonblocking(out.fd);
  set_nonblocking(err.fd);
  job_.children.add(rank, started.pid);
  job_.pmi.add(rank, pmi.release());
  job_.output.add(rank, out.release(), err.release());
  if (plan_.verbose)
    job_.output.report(cat("mpiexec: ", job_.children.describe(rank), ": ", join(app.argv, " ")));
  return 0;
}

// Puts the rank's file in the place of the pipe, which then ends at once.
bool RankStarter::redirect(const std::string& pattern, int rank, int& fd) {
  if (pattern.empty()) return true;
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || (next != 'r' && next != 'h')) {
      name += pattern[i];
      continue;
    }
    name += next == 'r' ? cat(plan_.number_of(rank)) : plan_.host;
    ++i;
  }
  std::error_code ignored;  // open() says why
  if (pattern.find(kRankFolder) != std::string::npos)
    std::filesystem::create_directories(std::filesystem::path(name).parent_path(), ignored);
  const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) {
    job_.output.report(cat("mpiexec: cannot write ", name, ": ", std::strerror(errno)));
    return false;
  }
  close(std::exchange(fd, file));
  return true;
}

int RankStarter::fail(int rank, const char* what, int error) {
  std::size_t app = 0;
  for (int ranks = plan_.apps[0].count; ranks <= rank; ranks += plan_.apps[app].count) ++app;
  job_.output.report(cat("mpiexec: cannot start rank ", plan_.number_of(rank), " of ", plan_.world_size(),
                         " (", plan_.apps[app].argv[0], "): cannot ", what, ": ", std::strerror(error),
                         hint(error)));
  return code_of(error);
}

}  // namespace herald::launch
