// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmi1.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/aborted_ranks.hpp"
#include "boot/environment.hpp"
#include "boot/last_output.hpp"
#include "boot/pmi1_connect.hpp"
#include "boot/pmi1_text.hpp"
#include "boot/ways.hpp"

namespace herald::boot {

namespace {

// A launcher answers immediately; only a fence waits for other ranks. So a timeout detects a dead socket at
// the start. Later only the end of the connection counts: a launcher may be suspended for a while.
constexpr int kAnswerMs = 30'000;
constexpr int kReadMs = 100;  // how long an abort waits for the launcher to read earlier output
constexpr int kEndMs =
    5000;  // our mpiexec ends the ranks that an abort names, this one too, within this time
constexpr int kForever = LineChannel::kForever;
// Some servers read a whole command into 1024 bytes, whatever maximum length they announce.
constexpr std::size_t kLongestCommand = 1023;

}  // namespace

Status Pmi1::refuse(Status status, std::string why) {
  error_ = std::move(why);
  return status;
}

// Sends one command and reads one answer into reply_. An answer with another name than `expected` is an
// error; the caller checks rc.
Status Pmi1::request(std::string_view line, std::string_view expected, int timeout_ms) {
  if (Status status = channel_.write_line(line, error_); status != Status::ok) return status;
  if (Status status = channel_.read_line(reply_, timeout_ms, error_); status != Status::ok) return status;
  if (field(reply_, "cmd") == expected) return Status::ok;
  return refuse(Status::engine_broken, "the PMI connection answered " + in_quotes(line) + " with " +
                                           in_quotes(reply_) + " instead of cmd=" + std::string{expected});
}

Status Pmi1::introduce(int id) {
  Status status = request("cmd=initack pmiid=" + std::to_string(id), "initack", kAnswerMs);
  if (status != Status::ok) return status;
  // Three commands follow without a request: size, rank, debug.
  for (int i = 0; i < 3; ++i) {
    status = channel_.read_line(reply_, kAnswerMs, error_);
    if (status != Status::ok) return status;
    if (field(reply_, "cmd") != "set")
      return refuse(Status::engine_broken, "the launcher sent " + in_quotes(reply_) + " instead of cmd=set");
    if (auto size = field(reply_, "size")) size_ = parse_int(*size, 1, INT_MAX).value_or(-1);
    if (auto rank = field(reply_, "rank")) rank_ = parse_int(*rank, 0, INT_MAX).value_or(-1);
  }
  if (size_ < 1 || rank_ < 0 || rank_ >= size_)
    return refuse(Status::engine_broken,
                  "the launcher gave this process no rank below its number of processes");
  return Status::ok;
}

Status Pmi1::ask_limits() {
  if (Status status = request("cmd=get_maxes", "maxes", kAnswerMs); status != Status::ok) return status;
  auto key = parse_int(field(reply_, "keylen_max").value_or(""), 1, INT_MAX);
  auto value = parse_int(field(reply_, "vallen_max").value_or(""), 1, INT_MAX);
  // Both lengths include the terminating zero byte.
  if (!key || !value || *key < 32 || *value < static_cast<int>(kShortestPiece) + 1)
    return refuse(Status::engine_broken, "the launcher's limits are too small: " + in_quotes(reply_));
  longest_key_ = static_cast<std::size_t>(*key) - 1;

  if (Status status = request("cmd=get_my_kvsname", "my_kvsname", kAnswerMs); status != Status::ok)
    return status;
  kvs_ = field(reply_, "kvsname").value_or("");
  std::size_t frame = std::string_view{"cmd=put kvsname= key= value=\n"}.size() + kvs_.size() + longest_key_;
  if (kvs_.empty() || frame + kShortestPiece > kLongestCommand)
    return refuse(Status::engine_broken,
                  "the launcher's name for its store cannot be used: " + in_quotes(reply_));
  longest_value_ = std::min(static_cast<std::size_t>(*value) - 1, kLongestCommand - frame);
  return Status::ok;
}

Status Pmi1::start(char** environment) {
  Status status = request("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", kAnswerMs);
  if (status != Status::ok) return status;
  if (field(reply_, "rc").value_or("0") != "0")
    return refuse(Status::engine_broken, "the launcher does not speak PMI version 1: " + in_quotes(reply_));

  if (status = ask_limits(); status != Status::ok) return status;
  const char* job_id = find_variable(environment, "HERALD_JOB_ID");
  if (job_id != nullptr && kvs_ == std::string{"kvs_"} + job_id) job_id_ = job_id;

  if (status = request("cmd=get_appnum", "appnum", kAnswerMs); status != Status::ok) return status;
  app_number_ = parse_int(field(reply_, "appnum").value_or(""), 0, INT_MAX).value_or(-1);
  if (status = request("cmd=get_universe_size", "universe_size", kAnswerMs); status != Status::ok)
    return status;
  universe_size_ = parse_int(field(reply_, "size").value_or(""), 1, INT_MAX).value_or(-1);

  status = find_local_ranks(environment);
  if (status == Status::ok) serving_ = true;
  return status;
}

// The host map of the launcher; without it, the number of local ranks, assumed to be consecutive; without
// that, this process only.
Status Pmi1::find_local_ranks(char** environment) {
  std::string mapping;
  Status status = get_raw("PMI_process_mapping", mapping);
  if (status != Status::ok && status != Status::not_found) return status;
  local_ranks_ = ranks_on_my_host(mapping, rank_, size_);
  if (!local_ranks_.empty()) return Status::ok;

  std::string ignored;
  int mine = int_variable(environment, "MPI_LOCALRANKID", 0, rank_, ignored).value_or(-1);
  int count = int_variable(environment, "MPI_LOCALNRANKS", 1, size_, ignored).value_or(-1);
  if (int_variable(environment, "SLURM_STEP_NUM_NODES", 1, INT_MAX, ignored) == 1) count = size_;
  int first = count == size_ ? 0 : rank_ - mine;
  if (count != size_ && (mine < 0 || count <= mine || first + count > size_)) {
    first = rank_;
    count = 1;
  }
  for (int i = 0; i < count; ++i) local_ranks_.push_back(first + i);
  return Status::ok;
}

Status Pmi1::key_for(int rank, std::string_view key, std::size_t piece, std::string& out) {
  out = "h." + std::string{key} + "." + std::to_string(rank) + "." + std::to_string(piece);
  if (!is_plain_key(key)) return refuse(Status::bad_argument, "PMI cannot carry the key " + in_quotes(key));
  if (out.size() > longest_key_)
    return refuse(Status::bad_argument, "the key " + in_quotes(out) +
                                            " is longer than the launcher's limit of " +
                                            std::to_string(longest_key_) + " bytes");
  return Status::ok;
}

Status Pmi1::put(std::string_view key, std::string_view value) {
  std::string full_key;
  std::size_t number = 0;
  for (const std::string& piece : cut_value(value, longest_value_)) {
    if (Status status = key_for(rank_, key, number++, full_key); status != Status::ok) return status;
    Status status =
        request("cmd=put kvsname=" + kvs_ + " key=" + full_key + " value=" + piece, "put_result", kForever);
    if (status != Status::ok) return status;
    if (field(reply_, "rc").value_or("-1") != "0")
      return refuse(Status::engine_broken,
                    "the launcher did not store the key " + full_key + ": " + in_quotes(reply_));
  }
  return Status::ok;
}

Status Pmi1::fence() {
  Status status = request("cmd=barrier_in", "barrier_out", kForever);
  if (status != Status::ok) return status;
  if (field(reply_, "rc").value_or("0") != "0")
    return refuse(Status::engine_broken, "the launcher's barrier failed: " + in_quotes(reply_));
  return Status::ok;
}

Status Pmi1::get_raw(std::string_view key, std::string& value) {
  Status status = request("cmd=get kvsname=" + kvs_ + " key=" + std::string{key}, "get_result",
                          serving_ ? kForever : kAnswerMs);
  if (status != Status::ok) return status;
  auto found = field(reply_, "value");
  if (field(reply_, "rc").value_or("-1") != "0" || !found)
    return refuse(Status::not_found, "the launcher has no value under the key " + std::string{key});
  value = *found;
  return Status::ok;
}

Status Pmi1::get(int rank, std::string_view key, std::string& value) {
  PieceJoiner joiner;
  std::string full_key, piece;
  for (std::size_t number = 0;; ++number) {
    if (Status status = key_for(rank, key, number, full_key); status != Status::ok) return status;
    if (Status status = get_raw(full_key, piece); status != Status::ok) return status;
    switch (joiner.add(piece)) {
      case PieceJoiner::State::more: break;
      case PieceJoiner::State::complete: value = std::move(joiner.value()); return Status::ok;
      case PieceJoiner::State::broken:
        return refuse(Status::engine_broken, "the value under the key " + full_key +
                                                 " was not put by Herald: " + in_quotes(piece) +
                                                 "; do all ranks run the same MPI library?");
    }
  }
}

void Pmi1::abort(const Abort& abort) noexcept {
  if (!serving_.exchange(false)) return;
  wait_until_read(STDOUT_FILENO, kReadMs);
  wait_until_read(STDERR_FILENO, kReadMs);
  // Our mpiexec reads the keys after exitcode; others ignore them.
  char given[32] = "", line[kLongestCommand];
  if (abort.by_exit || abort.code != abort.status())
    std::snprintf(given, sizeof given, " %s=%d", abort.by_exit ? "exited" : "given", abort.code);
  int length = std::snprintf(line, sizeof line, "cmd=abort exitcode=%d%s\n", abort.status(), given);
  bool some = !abort.ranks.empty() && can_abort_ranks();
  if (some) {
    const int with_ranks = std::snprintf(line, sizeof line, "cmd=abort exitcode=%d%s by=%d ranks=%s\n",
                                         abort.status(), given, rank_, rank_ranges(abort.ranks).c_str());
    some = with_ranks < static_cast<int>(sizeof line);  // else all ranks end
    if (some) length = with_ranks;
  }
  channel_.write_last_words({line, static_cast<std::size_t>(length)});
  // A peer that notices the end of this process must find it listed (has_aborted), so mpiexec ends it.
  if (some) (void)::poll(nullptr, 0, kEndMs);
}

bool Pmi1::has_aborted(int rank) const noexcept {
  if (job_id_.empty()) return false;
  std::ifstream list(aborted_ranks_file(job_id_));
  for (int each = -1; list >> each;)
    if (each == rank) return true;
  return false;
}

Status Pmi1::finalize() {
  if (!serving_.exchange(false)) return Status::ok;
  return request("cmd=finalize", "finalize_ack", kAnswerMs);
}

namespace {

// `variable`: where the connection to the launcher came from.
std::unique_ptr<Boot> started(std::unique_ptr<Pmi1> boot, char** environment, Status status,
                              const char* variable, std::string& why) {
  if (status == Status::ok) status = boot->start(environment);
  if (status == Status::ok) return boot;
  why = std::string{variable} + "=" + in_quotes(find_variable(environment, variable)) + ": " +
        boot->last_error() + "; if no launcher started this program, unset " + variable;
  return nullptr;
}

}  // namespace

std::unique_ptr<Boot> open_pmi1_socket(char** environment, int fd, std::string& why) {
  auto size = int_variable(environment, "PMI_SIZE", 1, INT_MAX, why);
  auto rank = size ? int_variable(environment, "PMI_RANK", 0, *size - 1, why) : std::nullopt;
  if (!size || !rank) {
    if (why.empty()) why = "PMI_FD is set, but not PMI_RANK and PMI_SIZE";
    return nullptr;
  }
  // The launcher accepts one connection per process. The inherited descriptor stays open, so that its number
  // cannot become another socket that a second start would take for the launcher.
  static std::atomic<ino_t> used{0};
  struct stat info {};
  ::fstat(fd, &info);
  if (used.exchange(info.st_ino) == info.st_ino) {
    why = "this process has already used its connection to the launcher: MPI can be started once per process";
    return nullptr;
  }
  // A child process must not keep the connection open, nor write to it.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int mine = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (mine < 0) {
    why = std::string{"duplicating PMI_FD: "} + std::strerror(errno);
    return nullptr;
  }
  return started(std::make_unique<Pmi1>(mine, *rank, *size), environment, Status::ok, "PMI_FD", why);
}

std::unique_ptr<Boot> open_pmi1_port(char** environment, const char* host_and_port, std::string& why) {
  auto id = int_variable(environment, "PMI_ID", 0, INT_MAX, why);
  if (!id) {
    if (why.empty()) why = "PMI_PORT is set, but not PMI_ID";
    return nullptr;
  }
  int fd = connect_to(host_and_port, why);
  if (fd < 0) return nullptr;
  auto boot = std::make_unique<Pmi1>(fd, -1, -1);
  Status status = boot->introduce(*id);
  return started(std::move(boot), environment, status, "PMI_PORT", why);
}

}  // namespace herald::boot
