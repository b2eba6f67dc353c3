// SPDX-License-Identifier: BSD-3-Clause
// mpi/p2p/p2p.hpp: from the arguments of a call to a send or receive operation.
#pragma once
#include "mpi/core/objects.hpp"
#include "p2p/ops.hpp"

namespace herald::mpi {

inline void fill_send(p2p::SendOp& op, const void* buf, MPI_Count count, const Datatype& datatype, int dest,
                      int tag, const Comm& comm, p2p::SendMode mode) noexcept {
  op.context = comm.context;
  op.tag = tag;
  op.to = comm.peer(dest);
  op.source = comm.rank;
  op.mode = mode;
  op.data = type::Cursor(*datatype.layout, const_cast<void*>(buf), count);
}

// A message is a multiple of this many bytes; 1 if the elements differ, or are pairs.
inline std::uint8_t element_bytes(const type::Layout& layout) noexcept {
  const type::Basic basic = layout.basic();
  if (basic == type::Basic::none) return 1;
  const type::BasicRow& row = type::row_of(basic);
  return row.klass == type::Class::pair ? 1 : static_cast<std::uint8_t>(row.size);
}

inline void fill_recv(p2p::RecvOp& op, void* buf, MPI_Count count, const Datatype& datatype, int source,
                      int tag, const Comm& comm) noexcept {
  op.context = comm.context;
  op.tag = tag;
  op.source = source;
  op.awaited = source >= 0 ? comm.peer(source) : -1;
  op.unit = element_bytes(*datatype.layout);
  op.data = type::Cursor(*datatype.layout, buf, count);
}

}  // namespace herald::mpi
