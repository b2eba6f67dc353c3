// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: slots are miscounted, comments or IPv6 addresses are misread, a bad file passes.
#include <gtest/gtest.h>

#include "launch/hosts.hpp"
#include "launch/spec.hpp"

namespace herald::launch {
namespace {

TEST(Hosts, lists_with_and_without_counts) {
  const HostList list = parse_host_list("a:2,b,a,10.0.0.1:3,fe80::1");
  ASSERT_EQ(list.hosts.size(), 4U);
  EXPECT_EQ(list.hosts[0].slots, 3);
  EXPECT_EQ(list.hosts[3].name, "fe80::1");
  EXPECT_EQ(list.slots(), 8);
  EXPECT_EQ(list.text(), "a:3,b,10.0.0.1:3,fe80::1");
  for (const char* bad : {"", ",", "a:0", "a:x", ":3"}) EXPECT_THROW(parse_host_list(bad), UsageError) << bad;
}

TEST(Hosts, ranges_stand_for_several_names) {
  EXPECT_EQ(parse_host_list("n[1-3,7]:2,x").text(), "n1:2,n2:2,n3:2,n7:2,x");
  EXPECT_EQ(parse_host_list("n[08-10]-[1,2]").names(), "n08-1,n08-2,n09-1,n09-2,n10-1,n10-2");
  EXPECT_EQ(parse_host_file("n[1-2] slots=4\n", "f").slots(), 8);
  for (const char* bad : {"n[3-1]", "n[a-b]", "n[1-]"}) EXPECT_THROW(parse_host_list(bad), UsageError) << bad;
}

TEST(Hosts, files_in_both_formats) {
  const HostList open = parse_host_file("# c\nn1 slots=2 max_slots=4\n\n n2\tslots=3 # d\r\n", "f");
  EXPECT_EQ(open.slots(), 5);
  EXPECT_TRUE(open.slots_counts);
  EXPECT_FALSE(open.colon_counts);
  const HostList hydra = parse_host_file("n1:2\nn2\nn1", "f");
  EXPECT_EQ(hydra.slots(), 4);
  EXPECT_EQ(hydra.names(), "n1,n2");
  EXPECT_TRUE(hydra.colon_counts);
  EXPECT_THROW(parse_host_file("# none\n", "f"), UsageError);
  try {
    parse_host_file("a\nb slots=many\n", "hf");
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("hf, line 2"), std::string::npos);
  }
}

TEST(Hosts, a_repeated_host_with_slots_in_a_file_adds_up) {
  const HostList list = parse_host_file("a slots=2\nb slots=1\na slots=3\n", "f");
  EXPECT_EQ(list.text(), "a:5,b:1");
}

TEST(Hosts, one_remote_host_makes_the_list_remote) {
  const auto here = [](const std::string& name) { return name == "me"; };
  EXPECT_TRUE(all_here(parse_host_list("me:4,me"), here));
  EXPECT_FALSE(all_here(parse_host_list("me,you"), here));
}

}  // namespace
}  // namespace herald::launch
