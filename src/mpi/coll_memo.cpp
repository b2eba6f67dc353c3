// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll_memo.hpp"

namespace herald::mpi {

void Memos::add(const Memo& memo, coll::Kept* kept) noexcept {
  if (memo.reduction != nullptr && memo.reduction->kind != Op::Kind::predefined) return;
  Entry& entry = entries_[place(memo)];
  coll::retain(kept);
  if (entry.kept != nullptr) coll::release(entry.kept);
  entry = {memo, memo.type == nullptr ? type::LayoutRef() : memo.type->layout, kept};
}

void Memos::clear() noexcept {
  for (Entry& entry : entries_)
    if (entry.kept != nullptr) {
      coll::release(entry.kept);
      entry = {};
    }
}

}  // namespace herald::mpi
