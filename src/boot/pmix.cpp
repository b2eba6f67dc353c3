// SPDX-License-Identifier: BSD-3-Clause
// boot/pmix.cpp: client of PMIx through libpmix.
// Calls PMIx_Init once and PMIx_Finalize once per process: repeating the cycle hangs in some versions. The
// library stays loaded: it has a thread of its own.
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "boot/environment.hpp"
#include "boot/local_peers.hpp"
#include "boot/pmix_library.hpp"
#include "boot/pmix_names.hpp"
#include "boot/pmix_spawn.hpp"
#include "boot/ways.hpp"

namespace herald::boot {

namespace {

constexpr int kGetSeconds = 10;
constexpr int kAbortMs = 1000;

// The width of numbers differs between launchers.
std::optional<int> as_int(const pmix::Value& value) noexcept {
  std::int64_t number = -1;
  switch (value.type) {
    case pmix::Type::size: number = static_cast<std::int64_t>(value.data.size); break;
    case pmix::Type::integer: number = value.data.integer; break;
    case pmix::Type::int32: number = value.data.int32; break;
    case pmix::Type::int64: number = value.data.int64; break;
    case pmix::Type::unsigned_integer: number = value.data.unsigned_integer; break;
    case pmix::Type::uint16: number = value.data.uint16; break;
    case pmix::Type::uint32: number = value.data.uint32; break;
    case pmix::Type::uint64: number = static_cast<std::int64_t>(value.data.uint64); break;
    case pmix::Type::rank: number = value.data.rank; break;
    case pmix::Type::undefined:
    case pmix::Type::boolean:
    case pmix::Type::string:
    case pmix::Type::byte_object: return std::nullopt;
  }
  if (number < 0 || number > INT_MAX) return std::nullopt;
  return static_cast<int>(number);
}

// Frees a value of PMIx_Get. Of the types requested here, two own memory.
struct ValueFree {
  void operator()(pmix::Value* value) const noexcept {
    if (value->type == pmix::Type::string) std::free(value->data.string);
    if (value->type == pmix::Type::byte_object) std::free(value->data.bytes.bytes);
    std::free(value);
  }
};
using ValuePtr = std::unique_ptr<pmix::Value, ValueFree>;

// PMIx_Abort waits for an answer that may never come, so it runs in a detached thread.
struct AbortJob {
  pmix::AbortCall call;
  int code;
  char message[256];
  std::atomic<bool> done{false};
};

void* run_abort(void* argument) noexcept {
  auto* job = static_cast<AbortJob*>(argument);
  job->call(job->code, job->message, nullptr, 0);
  job->done = true;
  return nullptr;
}

class Pmix final : public Boot {
 public:
  explicit Pmix(const pmix::Library& library) noexcept : library_{library} {}

  Status start();

  const char* name() const noexcept override { return "pmix"; }
  int rank() const noexcept override { return static_cast<int>(me_.rank); }
  int size() const noexcept override { return size_; }
  int app_number() const noexcept override { return app_number_; }
  int universe_size() const noexcept override { return universe_size_; }
  std::span<const int> local_ranks() const noexcept override { return local_ranks_; }
  Status put(std::string_view key, std::string_view value) override;
  Status fence() override;
  Status get(int rank, std::string_view key, std::string& value) override;
  Status spawn(std::span<const SpawnApp> apps, std::string_view port) override {
    return spawner_.spawn(apps, port, error_);
  }
  Status publish(std::string_view service, std::string_view port) override {
    return of_names(names_.publish(service, port, error_));
  }
  Status lookup(std::string_view service, std::string& port) override {
    return of_names(names_.lookup(service, port, error_));
  }
  Status unpublish(std::string_view service) override { return of_names(names_.unpublish(service, error_)); }
  bool has_spawn_ended() override { return spawner_.has_ended(error_); }
  void abort(const Abort& abort) noexcept override;
  Status finalize() override;
  const std::string& last_error() const noexcept override { return error_; }
  Status refuse(Status status, std::string why) override {
    error_ = std::move(why);
    return status;
  }

 private:
  Status check(pmix::Code code, const char* call, std::string_view detail = {});
  ValuePtr job_value(pmix::Rank rank, const char* key);
  int job_int(pmix::Rank rank, const char* key);
  void find_local_ranks();
  Status barrier(bool collect);
  Status of_names(Status status) { return status == Status::unsupported ? refuse_names() : status; }

  const pmix::Library library_;
  PmixSpawn spawner_{library_};
  PmixNames names_{library_};
  pmix::Proc me_{};
  int size_ = 0;
  int app_number_ = -1;
  int universe_size_ = -1;
  std::vector<int> local_ranks_;
  std::string error_;
  std::atomic<bool> serving_{false};
};

Status Pmix::check(pmix::Code code, const char* call, std::string_view detail) {
  if (code == pmix::kSuccess) return Status::ok;
  error_ = std::string{call} + (detail.empty() ? "" : " ") + std::string{detail} + ": " +
           pmix::text_of(library_, code);
  return code == pmix::kErrNotFound || code == pmix::kErrTimeout ? Status::not_found : Status::engine_broken;
}

// A job-level attribute that the launcher set at the start; null if it did not.
ValuePtr Pmix::job_value(pmix::Rank rank, const char* key) {
  pmix::Proc proc = me_;
  proc.rank = rank;
  pmix::Info optional = pmix::make_flag(pmix::kOptional);
  pmix::Value* value = nullptr;
  if (library_.get(&proc, key, &optional, 1, &value) != pmix::kSuccess) return nullptr;
  return ValuePtr{value};
}

int Pmix::job_int(pmix::Rank rank, const char* key) {
  ValuePtr value = job_value(rank, key);
  return value != nullptr ? as_int(*value).value_or(-1) : -1;
}

// The list of the launcher; without it (PMIx 5 does not find it where the launcher knows this host by another
// name), the ranks with the node number of this one.
void Pmix::find_local_ranks() {
  ValuePtr peers = job_value(pmix::kRankWildcard, pmix::kLocalPeers);
  if (peers != nullptr && peers->type == pmix::Type::string && peers->data.string != nullptr)
    local_ranks_ = parse_local_peers(peers->data.string, rank(), size_);
  if (!local_ranks_.empty()) return;
  const bool all = job_int(pmix::kRankWildcard, pmix::kLocalSize) == size_;
  const int mine = all ? -1 : job_int(me_.rank, pmix::kNodeId);
  for (int i = 0; i < size_; ++i) {
    if (all || i == rank() || (mine >= 0 && job_int(static_cast<pmix::Rank>(i), pmix::kNodeId) == mine))
      local_ranks_.push_back(i);
  }
}

Status Pmix::start() {
  pmix::Code code = library_.init(&me_, nullptr, 0);
  if (code != pmix::kSuccess) {
    Status status = check(code, "PMIx_Init");
    error_ =
        "PMIX_NAMESPACE is set, but no PMIx server answers (" + error_ +
        "); start with srun --mpi=pmix, mpirun or Herald's mpiexec, or unset PMIX_NAMESPACE to run alone";
    return status;
  }
  size_ = job_int(pmix::kRankWildcard, pmix::kJobSize);
  if (size_ < 1 || me_.rank >= static_cast<pmix::Rank>(size_)) {
    error_ = "the PMIx server gave rank " + std::to_string(me_.rank) + " of " + std::to_string(size_) +
             " processes (pmix.job.size), which cannot be";
    return Status::engine_broken;
  }
  app_number_ = job_int(me_.rank, pmix::kAppNumber);
  universe_size_ = job_int(pmix::kRankWildcard, pmix::kUniverseSize);
  find_local_ranks();
  serving_ = true;
  return Status::ok;
}

// The value is sent with one byte before it: some servers lose an empty value.
Status Pmix::put(std::string_view key, std::string_view value) {
  std::string name{key};
  if (name.empty() || name.size() > pmix::kLongestKey || name.find('\0') != std::string::npos) {
    error_ = "PMIx cannot carry the key " + in_quotes(key);
    return Status::bad_argument;
  }
  std::string bytes = "h" + std::string{value};
  pmix::Value wrapped{};
  wrapped.type = pmix::Type::byte_object;
  wrapped.data.bytes = {bytes.data(), bytes.size()};
  return check(library_.put(pmix::kScopeGlobal, name.c_str(), &wrapped), "PMIx_Put", name);
}

Status Pmix::barrier(bool collect) {
  pmix::Proc everyone = me_;
  everyone.rank = pmix::kRankWildcard;
  pmix::Info info = pmix::make_flag(pmix::kCollectData);
  return check(library_.fence(&everyone, 1, collect ? &info : nullptr, collect ? 1 : 0), "PMIx_Fence");
}

Status Pmix::fence() {
  if (Status status = check(library_.commit(), "PMIx_Commit"); status != Status::ok) return status;
  return barrier(true);
}

Status Pmix::get(int rank, std::string_view key, std::string& value) {
  if (rank < 0 || rank >= size_) {
    error_ = "rank " + std::to_string(rank) + " is not in this job of " + std::to_string(size_);
    return Status::bad_argument;
  }
  pmix::Proc proc = me_;
  proc.rank = static_cast<pmix::Rank>(rank);
  const std::string name{key};
  // The fence has distributed all keys to the server of this host. Only with other servers in the job is it
  // worth waiting: a key that no rank has put would block for the whole timeout.
  pmix::Info immediate = pmix::make_flag(pmix::kImmediate);
  pmix::Value* raw = nullptr;
  pmix::Code code = library_.get(&proc, name.c_str(), &immediate, 1, &raw);
  if (code != pmix::kSuccess && local_ranks_.size() < static_cast<std::size_t>(size_)) {
    pmix::Info timeout = pmix::make_info(pmix::kTimeout, pmix::Type::integer);
    timeout.value.data.integer = kGetSeconds;
    code = library_.get(&proc, name.c_str(), &timeout, 1, &raw);
  }
  Status status = check(code, "PMIx_Get", name + " of rank " + std::to_string(rank));
  if (status != Status::ok) return status;
  ValuePtr found{raw};
  if (found->type != pmix::Type::byte_object || found->data.bytes.size == 0 ||
      found->data.bytes.bytes[0] != 'h') {
    error_ = "the value of " + name + " of rank " + std::to_string(rank) +
             " was not put by Herald; do all ranks run the same MPI library?";
    return Status::engine_broken;
  }
  value.assign(found->data.bytes.bytes + 1, found->data.bytes.size - 1);
  return Status::ok;
}

void Pmix::abort(const Abort& abort) noexcept {
  if (!serving_.exchange(false)) return;
  auto* job = static_cast<AbortJob*>(std::calloc(1, sizeof(AbortJob)));  // never freed: the process ends
  if (job == nullptr) return;
  job->call = library_.abort;
  job->code = abort.status();
  std::strncpy(job->message, abort.message != nullptr ? abort.message : "", sizeof job->message - 1);
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, run_abort, job) != 0) return;
  ::pthread_detach(thread);
  for (int waited_ms = 0; waited_ms < kAbortMs && !job->done; ++waited_ms) {
    timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

Status Pmix::finalize() {
  if (!serving_.exchange(false)) return Status::ok;
  // Without a barrier, prterun sometimes hangs in the finalize of late ranks.
  Status status = barrier(false);
  if (Status last = check(library_.finalize(nullptr, 0), "PMIx_Finalize"); status == Status::ok)
    status = last;
  return status;
}

}  // namespace

std::unique_ptr<Boot> open_pmix(std::string& why) {
  static std::atomic<bool> used{false};
  if (used.exchange(true)) {
    why =
        "this process has already used its connection to the PMIx server: MPI can be started once per "
        "process";
    return nullptr;
  }
  pmix::Library library{};
  if (!pmix::load(library, why)) {
    used = false;
    return nullptr;
  }
  auto boot = std::make_unique<Pmix>(library);
  if (boot->start() == Status::ok) return boot;
  why = boot->last_error();
  return nullptr;
}

}  // namespace herald::boot
