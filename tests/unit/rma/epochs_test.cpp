// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an operation without an epoch is accepted, epochs overlap, or a correct program is
// refused.
#include "rma/epochs.hpp"

#include <gtest/gtest.h>

using herald::rma::Epochs;

TEST(RmaEpochs, operations_need_an_epoch) {
  Epochs epochs(3);
  EXPECT_NE(epochs.use(1), nullptr);
  EXPECT_EQ(epochs.lock(1), nullptr);
  EXPECT_EQ(epochs.use(1), nullptr);
  EXPECT_EQ(epochs.use_passive(1), nullptr);
  EXPECT_NE(epochs.use(2), nullptr);
  EXPECT_NE(epochs.use_passive(2), nullptr);
  EXPECT_EQ(epochs.unlock(1), nullptr);
  EXPECT_NE(epochs.unlock(1), nullptr);
  EXPECT_NE(epochs.use(1), nullptr);
}

TEST(RmaEpochs, locks_can_be_forbidden) {
  Epochs epochs(2);
  epochs.forbid_locks();
  EXPECT_NE(epochs.lock(0), nullptr);
  EXPECT_NE(epochs.lock_all(), nullptr);
  EXPECT_EQ(epochs.fence(true), nullptr);
  EXPECT_EQ(epochs.use(0), nullptr);
}

TEST(RmaEpochs, a_fence_without_operations_opens_nothing) {
  Epochs epochs(2);
  EXPECT_EQ(epochs.fence(true), nullptr);
  EXPECT_EQ(epochs.lock(0), nullptr);
  EXPECT_NE(epochs.fence(true), nullptr);
  EXPECT_EQ(epochs.unlock(0), nullptr);
  EXPECT_EQ(epochs.fence(true), nullptr);
  EXPECT_EQ(epochs.use(0), nullptr);
  EXPECT_NE(epochs.lock(0), nullptr);
  EXPECT_NE(epochs.start({0}), nullptr);
  EXPECT_NE(epochs.post(), nullptr);
  EXPECT_EQ(epochs.fence(false), nullptr);
  EXPECT_NE(epochs.use(0), nullptr);
}

TEST(RmaEpochs, post_and_start_are_independent) {
  Epochs epochs(3);
  EXPECT_EQ(epochs.post(), nullptr);
  EXPECT_NE(epochs.post(), nullptr);
  EXPECT_EQ(epochs.start({2}), nullptr);
  EXPECT_EQ(epochs.use(2), nullptr);
  EXPECT_NE(epochs.use(1), nullptr);
  EXPECT_NE(epochs.lock_all(), nullptr);
  EXPECT_NE(epochs.fence(true), nullptr);
  EXPECT_EQ(epochs.complete(), nullptr);
  EXPECT_NE(epochs.complete(), nullptr);
  EXPECT_NE(epochs.free(), nullptr);
  EXPECT_EQ(epochs.end_exposure(), nullptr);
  EXPECT_NE(epochs.end_exposure(), nullptr);
  EXPECT_EQ(epochs.free(), nullptr);
}

TEST(RmaEpochs, lock_all_excludes_single_locks) {
  Epochs epochs(2);
  EXPECT_EQ(epochs.lock_all(), nullptr);
  EXPECT_NE(epochs.lock(0), nullptr);
  EXPECT_NE(epochs.unlock(0), nullptr);
  EXPECT_EQ(epochs.use(1), nullptr);
  EXPECT_EQ(epochs.use_passive_all(), nullptr);
  EXPECT_NE(epochs.free(), nullptr);
  EXPECT_EQ(epochs.unlock_all(), nullptr);
  EXPECT_NE(epochs.unlock_all(), nullptr);
  EXPECT_NE(epochs.use_passive_all(), nullptr);
}
