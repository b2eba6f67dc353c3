// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a singleton has another rank or size; a value is visible before the fence, or not
// after.
#include <gtest/gtest.h>

#include "boot/ways.hpp"

namespace herald::boot {

TEST(Alone, is_a_world_of_one) {
  auto boot = open_alone();
  EXPECT_STREQ(boot->name(), "alone");
  EXPECT_EQ(boot->rank(), 0);
  EXPECT_EQ(boot->size(), 1);
  ASSERT_EQ(boot->local_ranks().size(), 1u);
  EXPECT_EQ(boot->local_ranks()[0], 0);
}

TEST(Alone, values_are_visible_after_the_fence_and_not_before) {
  auto boot = open_alone();
  std::string value = "before";
  ASSERT_EQ(boot->put("card", std::string_view{"a\0b", 3}), Status::ok);
  EXPECT_EQ(boot->get(0, "card", value), Status::not_found);
  EXPECT_EQ(value, "before");
  ASSERT_EQ(boot->fence(), Status::ok);
  ASSERT_EQ(boot->get(0, "card", value), Status::ok);
  EXPECT_EQ(value, std::string("a\0b", 3));
  EXPECT_EQ(boot->get(1, "card", value), Status::not_found);
  EXPECT_NE(boot->last_error().find("rank 1"), std::string::npos);
  EXPECT_EQ(boot->finalize(), Status::ok);
}

}  // namespace herald::boot
