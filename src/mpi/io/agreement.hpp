// SPDX-License-Identifier: BSD-3-Clause
// mpi/io/agreement.hpp: what a rank tells the others of its part of a collective call.
#pragma once
#include <memory>
#include <vector>

#include "mpi/coll/internal.hpp"
#include "mpi/io/file.hpp"

namespace herald::mpi {

struct Verdict {
  std::int32_t error_class;
  char text[188];
};

// The agreement of a nonblocking call. It stays in place until it has ended.
class BackgroundAgreement {
 public:
  BackgroundAgreement(File& file, const Failure& mine) noexcept;
  // Null if there is no memory.
  std::unique_ptr<Work> make_work(Finisher finisher) noexcept;
  // Once all ranks have agreed.
  Failure result() const noexcept;

 private:
  Comm& comm_;
  const Failure failure_;
  const Verdict mine_;
  std::vector<Verdict> all_;
};

}  // namespace herald::mpi
