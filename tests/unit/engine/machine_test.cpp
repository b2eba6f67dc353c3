// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: processes of one machine do not know each other; those of two machines, or of two
// copies of a virtual one, take each other for neighbours; a line that is no such line is believed,
// or one that is ours is refused.
#include "engine/machine.hpp"

#include <gtest/gtest.h>

#include <array>

#include "engine/processors.hpp"
#include "tests/unit/engine/mask.hpp"

using namespace herald;
using namespace herald::engine;

namespace {

Machine some() {
  Machine machine{0x0123456789abcdef, 1'700'000'000'123'456'789, mask(0b1011)};
  machine.cpus[2] = 7;
  return machine;
}

}  // namespace

TEST(Machine, a_line_brings_all_of_it) {
  Machine read;
  ASSERT_TRUE(read_machine(write_machine(some()), read)) << write_machine(some());
  EXPECT_EQ(read.boot, some().boot);
  EXPECT_EQ(read.started_ns, some().started_ns);
  EXPECT_EQ(read.cpus, some().cpus);
  EXPECT_EQ(write_machine(read), write_machine(some()));
}

TEST(Machine, a_clock_that_was_never_set_does_no_harm) {
  Machine unset = some(), read;
  unset.started_ns = -40;
  ASSERT_TRUE(read_machine(write_machine(unset), read)) << write_machine(unset);
  EXPECT_EQ(read.started_ns, -40);
  EXPECT_TRUE(is_same_machine(unset, read));
}

TEST(Machine, our_own_is_ours_and_tells_where_we_may_run) {
  const Machine first = read_own_machine();
  Machine second;
  ASSERT_TRUE(read_machine(write_machine(read_own_machine()), second));
  EXPECT_EQ(is_same_machine(first, second), first.boot != 0);
  EXPECT_EQ(second.cpus, read_affinity());
}

TEST(Machine, another_kernel_or_a_copy_of_the_same_is_another_machine) {
  Machine other = some();
  EXPECT_TRUE(is_same_machine(some(), other));
  other.started_ns += 1'000'000;
  EXPECT_TRUE(is_same_machine(some(), other)) << "the two looked at different times";
  other.started_ns += 3'000'000'000;
  EXPECT_FALSE(is_same_machine(some(), other));
  EXPECT_FALSE(is_same_machine(other, some()));
  other = some();
  ++other.boot;
  EXPECT_FALSE(is_same_machine(some(), other));
  Machine unknown = some();
  unknown.boot = 0;
  EXPECT_FALSE(is_same_machine(unknown, unknown));
}

TEST(Machine, other_lines_are_refused) {
  Machine read;
  for (const char* line : {"", " ", "12", "12 ", "12  3", "x 1 2", "12 1 2x", "12 1,2",
                           "12 1 2 3 "
                           "11111111111111111 1"})
    EXPECT_FALSE(read_machine(line, read)) << line;
  std::string many = "1 1";
  for (std::size_t i = 0; i <= path::kCpuWords; ++i) many += " 1";
  EXPECT_FALSE(read_machine(many, read));
}
