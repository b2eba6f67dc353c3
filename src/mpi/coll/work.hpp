// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/work.hpp: a collective that runs: the plan runner of exec/ with the objects of MPI around it.
#pragma once
#include <memory>
#include <string>

#include "exec/runner.hpp"
#include "mpi/coll/plan.hpp"
#include "mpi/core/request.hpp"

namespace herald::mpi {

// Takes over the caller's count of `cached`. Null if there is no memory.
exec::Runner* make_runner(Comm& comm, coll::CachedPlan* cached, const CollBinding& binding) noexcept;

// The error class of a run that has ended.
int error_of(const exec::Runner& runner) noexcept;
// Why its ranks do not match (HERALD_CHECK=collectives); empty: they do.
std::string mismatch_of(const exec::Runner& runner) noexcept;
// HERALD_CHECK=collectives: what this rank tells the others of its call.
coll::Facts facts_for(const coll::CachedPlan& cached, const CollBinding& binding) noexcept;

// Called at the end of a nonblocking run, before its request becomes ready; returns an error class.
struct Finisher {
  int (*function)(void*) = nullptr;
  void* argument = nullptr;
};

// A nonblocking or persistent run. Holds counts of its operation and datatype.
class CollWork final : public Work {
 public:
  CollWork(exec::Runner* runner, const CollBinding& binding, Finisher finisher = {}) noexcept;
  ~CollWork() override;

  void start(Request& request) noexcept override;
  void poll_briefly() noexcept override { runner_->poll_briefly(); }
  const char* name() const noexcept override { return "collective"; }
  const char* reason() const noexcept override { return reason_.empty() ? nullptr : reason_.c_str(); }

 private:
  void finish() noexcept;

  exec::Runner* runner_;
  Op* op_;
  Datatype* datatype_;
  Finisher finisher_;
  Request* request_ = nullptr;
  std::string reason_;
};

// Null if there is no memory.
std::unique_ptr<Work> make_work(Comm& comm, coll::CachedPlan* cached, const CollBinding& binding,
                                Finisher finisher = {}) noexcept;

}  // namespace herald::mpi
