// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/deferred.hpp: a nonblocking collective that was called while the ranks agree on a collective
// segment (exec/agreement.hpp). It keeps its arguments; its plan is found or made, and begins, at the end of
// the agreement.
#pragma once
#include <memory>
#include <vector>

#include "mpi/coll/work.hpp"

namespace herald::mpi {

class DeferredColl final : public Work {
 public:
  // Holds everything that the plan needs: the program may free its datatypes and operations.
  DeferredColl(Comm& comm, const CollCall& call, const coll::Key& key, Finisher finisher = {}) noexcept;
  ~DeferredColl() override { release_objects(); }

  void start(Request& request) noexcept override;
  void poll_briefly() noexcept override {
    if (work_) work_->poll_briefly();
  }
  const char* reason() const noexcept override { return work_ ? work_->reason() : nullptr; }

 private:
  void begin() noexcept;
  void release_objects() noexcept;

  Comm& comm_;
  CollCall call_;
  coll::Key key_;
  std::vector<type::LayoutRef> layouts_;
  Request* request_ = nullptr;
  Finisher finisher_;
  std::unique_ptr<Work> work_;  // once the agreement has ended
};

}  // namespace herald::mpi
