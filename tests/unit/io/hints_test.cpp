// SPDX-License-Identifier: BSD-3-Clause
// Hints: values that make no sense are not taken, and what is in force is reported.
#include "io/hints.hpp"

#include <gtest/gtest.h>

namespace herald::io {
namespace {

std::string reported(const Hints& hints, const std::string& key) {
  for (const auto& [name, value] : hints.list())
    if (name == key) return value;
  return "";
}

TEST(Hints, known_keys_are_taken_and_reported) {
  Hints hints;
  EXPECT_TRUE(hints.set("cb_buffer_size", "1048576"));
  EXPECT_TRUE(hints.set("romio_cb_write", "enable"));
  EXPECT_TRUE(hints.set("cb_config_list", "*:2"));
  EXPECT_TRUE(hints.set("file_perm", "640"));
  EXPECT_TRUE(hints.set("collective_buffering", "false"));
  EXPECT_EQ(hints.cb_buffer_size, 1 << 20);
  EXPECT_EQ(hints.file_perm, 0640);
  EXPECT_EQ(reported(hints, "cb_buffer_size"), "1048576");
  EXPECT_EQ(reported(hints, "romio_cb_write"), "disable");
  EXPECT_EQ(reported(hints, "file_perm"), "640");
  EXPECT_EQ(reported(hints, "romio_ds_read"), "automatic");
}

TEST(Hints, wrong_values_change_nothing) {
  Hints hints;
  for (const char* value : {"", "0", "-4", "12x", "many", "99999999999999999999"})
    EXPECT_FALSE(hints.set("cb_buffer_size", value)) << value;
  EXPECT_FALSE(hints.set("romio_cb_read", "perhaps"));
  EXPECT_FALSE(hints.set("no_such_key", "1"));
  EXPECT_EQ(hints.cb_buffer_size, Hints{}.cb_buffer_size);
}

TEST(Hints, aggregators_of_a_host) {
  EXPECT_EQ(aggregators_on("*:1", "a"), 1);
  EXPECT_EQ(aggregators_on("*:3", "a"), 3);
  EXPECT_EQ(aggregators_on("*", "a"), 1);
  EXPECT_EQ(aggregators_on("b:0,*:2", "b"), 0);
  EXPECT_EQ(aggregators_on("*:2,b:0", "b"), 0);
  EXPECT_EQ(aggregators_on("*:2,b:0", "c"), 2);
  EXPECT_GT(aggregators_on("*:*", "a"), 1000);
}

}  // namespace
}  // namespace herald::io
