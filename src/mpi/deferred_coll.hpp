// SPDX-License-Identifier: BSD-3-Clause
// mpi/deferred_coll.hpp: a nonblocking collective that was called while the ranks agree on a collective
// segment (coll_agree.hpp). It keeps what was asked for; its plan is found or made, and begins, when they
// have.
#pragma once
#include <memory>
#include <vector>

#include "mpi/coll_run.hpp"

namespace herald::mpi {

// What a call asks for. Rows of counts stand in its key.
struct CollCall {
  struct Rows {
    bool used = false;
    std::size_t at = 0, count = 0;
  };
  coll::CollSpec ask;
  Execution::Binding binding;
  Rows send_rows, recv_rows;
  std::vector<const type::Layout*> send_layouts, recv_layouts;  // MPI_Alltoallw
};
// Finds or makes the plan. The key has room for its head, and the rows.
coll::CachedPlan* find_plan(Comm& comm, CollCall& wanted, coll::Key& key) noexcept;

class DeferredColl final : public Work {
 public:
  // What finding the plan needs is kept, so that the program may free its types and operations.
  DeferredColl(Comm& comm, const CollCall& wanted, const coll::Key& key) noexcept;
  ~DeferredColl() override;

  void start(Request& request) noexcept override;
  void look_out() noexcept override {
    if (run_) run_->look_out();
  }
  const char* reason() const noexcept override { return run_ ? run_->reason() : nullptr; }
  void go_on() noexcept;
  void call_then(int (*then)(void*), void* argument) noexcept {
    then_ = then;
    argument_ = argument;
  }

 private:
  void let_go() noexcept;
  Comm& comm_;
  CollCall call_spec_;
  coll::Key key_;
  std::vector<type::LayoutRef> layouts_;
  Request* request_ = nullptr;
  int (*then_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::unique_ptr<Work> run_;  // once it goes on
};

}  // namespace herald::mpi
