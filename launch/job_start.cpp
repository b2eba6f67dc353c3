// SPDX-License-Identifier: BSD-3-Clause
// launch/job_start.cpp: prepares signals, streams and limits, and starts all ranks.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "job.hpp"
#include "text.hpp"

namespace herald::launch {
namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int kOtherSignals[] = {SIGCHLD, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

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

}  // namespace

void Job::raise_file_limit() {
  if (getrlimit(RLIMIT_NOFILE, &inherited_.files) != 0) return;
  rlimit more = inherited_.files;
  more.rlim_cur = more.rlim_max;
  inherited_.limit_raised =
      more.rlim_cur != inherited_.files.rlim_cur && setrlimit(RLIMIT_NOFILE, &more) == 0;
  const rlim_t per_rank = plan_.stdin_to == StdinTo::all ? 4 : 3;
  const rlim_t need = per_rank * static_cast<rlim_t>(plan_.size) + 32;
  if (more.rlim_max != RLIM_INFINITY && need > more.rlim_max)
    throw std::runtime_error(cat("-n ", plan_.size, " on one machine needs ", need,
                                 " open files; the limit is ", more.rlim_max,
                                 " (raise it with ulimit -Hn, or start fewer processes)"));
}

void Job::block_signals() {
  struct sigaction old {};
  sigaction(SIGPIPE, nullptr, &old);
  inherited_.sigpipe_ignored = old.sa_handler == SIG_IGN;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);  // if mpiexec inherited it as ignored, the kernel would reap the ranks
  sigset_t mask;
  sigemptyset(&mask);
  for (int number : kOtherSignals) sigaddset(&mask, number);
  for (int number : kEndingSignals) {
    sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_IGN)
      sigaddset(&mask, number);  // ignored by nohup, and in background jobs of scripts
  }
  sigprocmask(SIG_BLOCK, &mask, &inherited_.mask);
  signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) throw std::runtime_error(cat("signalfd: ", std::strerror(errno)));
  watch(signals_, EPOLLIN, Tag::signals, 0, 0);
}

void Job::open_streams() {
  struct stat out {
  }, err{};
  sinks_.push_back(std::make_unique<Sink>(1));
  const bool same = fstat(1, &out) == 0 && fstat(2, &err) == 0 && out.st_dev == err.st_dev &&
                    out.st_ino == err.st_ino && out.st_rdev == err.st_rdev;
  if (!same) sinks_.push_back(std::make_unique<Sink>(2));
  for (std::size_t which = 0; which < 2; ++which) {
    Stream& stream = streams_[which];
    stream.sink = sinks_[std::min(which, sinks_.size() - 1)].get();
    stream.mux = std::make_unique<OutputMux>(plan_.size, plan_.label, !stream.sink->is_file());
  }
}

// One rank inherits standard input, unless that is a terminal, which only the foreground process group may
// read. In that case, and for --stdin all, mpiexec copies it.
bool Job::open_input(std::vector<int>& input_of_rank) {
  input_of_rank.assign(ranks_.size(), null_);
  if (plan_.stdin_to == StdinTo::none) return true;
  if (plan_.stdin_to == StdinTo::rank && !isatty(0)) {
    input_of_rank[static_cast<std::size_t>(plan_.stdin_rank)] = 0;
    return true;
  }
  std::vector<InputRelay::Target> targets;
  for (int rank = 0; rank < plan_.size; ++rank) {
    if (plan_.stdin_to == StdinTo::rank && rank != plan_.stdin_rank) continue;
    Fd reader, writer;
    if (!open_pipe(reader, writer)) return start_failed(rank, "open a pipe", errno);
    set_nonblocking(writer.fd);
    input_of_rank[static_cast<std::size_t>(rank)] = reader.release();
    targets.push_back({rank, writer.release()});
  }
  input_ = std::make_unique<InputRelay>(std::move(targets), [this](int fd, bool write, bool on, int rank) {
    if (!on)
      unwatch(fd);
    else if (write)
      watch(fd, EPOLLOUT, Tag::input_target, rank, 0);
    else
      watch(fd, EPOLLIN, Tag::input_source, 0, 0);
  });
  return true;
}

bool Job::start_all() {
  std::vector<int> input;
  if (!open_input(input)) return false;
  int rank = 0;
  bool good = true;
  for (std::size_t a = 0; a < plan_.apps.size() && good; ++a) {
    AppPlan& app = plan_.apps[a];
    std::vector<char*> argv{const_cast<char*>("/bin/sh"), app.path.data()};  // [1] on: the shell's script
    for (std::size_t i = 0; i < app.argv.size(); ++i) argv.push_back(app.argv[i].data());
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& entry : app.env) envp.push_back(entry.data());
    for (int i = 0; i < app.count && good; ++i, ++rank) {
      ranks_[static_cast<std::size_t>(rank)].app = static_cast<int>(a);
      good = start_rank(rank, app, argv, envp, input[static_cast<std::size_t>(rank)]);
    }
  }
  for (int fd : input)
    if (fd > 0 && fd != null_) close(fd);
  return good;
}

bool Job::start_rank(int rank, const AppPlan& app, std::vector<char*>& argv, std::vector<char*>& envp,
                     int input) {
  Fd out, out_child, err, err_child, pmi, pmi_child;
  if (!open_pipe(out, out_child) || !open_pipe(err, err_child))
    return start_failed(rank, "open a pipe", errno);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return start_failed(rank, "open a socket pair", errno);
  pmi.fd = pair[0];
  pmi_child.fd = pair[1];

  std::vector<std::string> own{cat("PMI_RANK=", rank), cat("MPI_LOCALRANKID=", rank)};
  if (plan_.pretended_hosts) own.push_back(cat("HERALD_HOST=pretended-", rank % plan_.pretended_hosts));
  if (plan_.pretended_per_host) own.push_back(cat("HERALD_HOST=pretended-", rank / plan_.pretended_per_host));
  const std::size_t keep = envp.size();
  for (std::string& entry : own) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::vector<char*> shell(argv.begin(), argv.begin() + 2);  // /bin/sh script arguments...
  shell.insert(shell.end(), argv.begin() + 3, argv.end());

  Start start;
  start.path = app.path.c_str();
  start.argv = argv.data() + 2;
  start.shell_argv = shell.data();
  start.envp = envp.data();
  start.wdir = app.wdir.empty() ? nullptr : app.wdir.c_str();
  start.in = input;
  start.out = out_child.fd;
  start.err = err_child.fd;
  start.pmi = pmi_child.fd;
  start.pmi_as = pmi_as_;
  if (!plan_.bind.empty()) start.cpus = &plan_.bind[static_cast<std::size_t>(rank) % plan_.bind.size()];
  const Started started = start_process(start, inherited_);
  envp.resize(keep);
  if (started.pid < 0) {
    if (!code_ && (started.error == ENOENT || started.error == ENOTDIR)) code_ = 127;
    if (!code_ && (started.error == EACCES || started.error == ENOEXEC || started.error == ETXTBSY))
      code_ = 126;
    return start_failed(rank, started.stage, started.error);
  }

  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  state.pid = started.pid;
  state.alive = true;
  ++alive_;
  state.pmi = pmi.release();
  state.out = {out.release(), err.release()};
  set_nonblocking(state.pmi);
  watch(state.pmi, EPOLLIN, Tag::pmi, rank, 0);
  for (int which = 0; which < 2; ++which) {
    const auto at = static_cast<std::size_t>(which);
    set_nonblocking(state.out[at]);
    watch(state.out[at], EPOLLIN, Tag::output, rank, which);
    state.watched[at] = true;
    ++open_outputs_;
  }
  if (plan_.verbose) report(cat("rank ", rank, " is pid ", state.pid, ": ", join(app.argv, " ")));
  return true;
}

bool Job::start_failed(int rank, const char* what, int error) {
  const auto app = static_cast<std::size_t>(ranks_[static_cast<std::size_t>(rank)].app);
  report(cat("cannot start rank ", rank, " of ", plan_.size, " (", plan_.apps[app].argv[0], "): cannot ",
             what, ": ", std::strerror(error), hint(error)));
  if (!code_) code_ = 1;
  return false;
}

}  // namespace herald::launch
