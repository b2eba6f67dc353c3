// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an error class without a string, a string that does not fit the program's buffer,
// codes assigned twice; two context agreements with the same key; a predefined handle without its object;
// names of hardware not recognised.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "mpi/comm/context_agreement.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/hardware.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

TEST(ErrorWords, every_class_has_its_own_short_string) {
  std::set<std::string> words;
  int known = 0;
  for (int i = 0; i <= MPI_ERR_LASTCODE; ++i) {
    if (!is_error_class(i)) continue;
    ++known;
    EXPECT_TRUE(words.insert(error_text(i)).second) << i;
    EXPECT_LT(std::strlen(error_text(i)), 110u) << i;
  }
  EXPECT_EQ(known, 63 + 18 + 1);
  EXPECT_FALSE(is_error_code(-1));
  EXPECT_FALSE(is_error_code(63));
}

// A program that adds and removes classes in a loop must not exhaust the numbers, and a removed code is not
// reused at once.
TEST(AddedErrors, removed_numbers_are_reused_oldest_first) {
  AddedErrors added;
  const int one = added.add(0), code = added.add(one);
  EXPECT_GT(one, MPI_ERR_LASTCODE);
  EXPECT_TRUE(added.is_class(one));
  EXPECT_FALSE(added.is_class(code));
  EXPECT_EQ(added.class_of(code), one);
  EXPECT_TRUE(added.has_codes(one));
  EXPECT_EQ(added.last_used(), code);
  added.remove(code);
  EXPECT_FALSE(added.known(code));
  EXPECT_FALSE(added.has_codes(one));
  EXPECT_EQ(added.last_used(), one);
  const int other = added.add(0);
  EXPECT_EQ(other, code);
  added.remove(other);
  added.remove(one);
  EXPECT_EQ(added.add(0), other);
  EXPECT_EQ(added.add(0), one);
}

TEST(BarrierWord, keys_differ_by_place_text_and_members) {
  Group a, b;
  a.peers = {0, 1, 2};
  b.peers = {0, 2, 1};
  std::set<std::uint64_t> keys;
  for (const Group* group : {&a, &b})
    for (std::uint64_t where : {0u, 1u, 16u})
      for (const char* text : {"", "0", "1", "01", "10"})
        keys.insert(agreement_key(*group, where, text).value);
  EXPECT_EQ(keys.size(), 2u * 3u * 5u);
  EXPECT_EQ(agreement_key(a, 5, "x").value, agreement_key(a, 5, "x").value);
}

TEST(Tables, predefined_handles_have_objects) {
  for (MPI_Op op : {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR,
                    MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP})
    ASSERT_NE(find(op), nullptr);
  EXPECT_EQ(find(MPI_OP_NULL), nullptr);
  for (MPI_Errhandler handler : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN}) {
    ASSERT_NE(find(handler), nullptr);
    EXPECT_EQ(handle_of(find(handler)), handler);
  }
  EXPECT_EQ(find(MPI_ERRHANDLER_NULL), nullptr);
  EXPECT_NE(find(MPI_GROUP_EMPTY), nullptr);
  EXPECT_EQ(find(MPI_GROUP_NULL), nullptr);
  EXPECT_NE(find(MPI_INFO_ENV), nullptr);
  EXPECT_EQ(find(MPI_INFO_NULL), nullptr);
  EXPECT_EQ(find(MPI_COMM_WORLD), nullptr);  // no object exists before MPI_Init
}

TEST(Info, keys_keep_their_order) {
  Info info;
  info_put(info, "b", "1");
  info_put(info, "a", "2");
  info_put(info, "b", "3");
  ASSERT_EQ(info.entries.size(), 2u);
  EXPECT_EQ(info.entries[0].second, "3");
  EXPECT_TRUE(info_remove(info, "b"));
  EXPECT_FALSE(info_remove(info, "b"));
  EXPECT_EQ(*info_value(info, "a"), "2");
  EXPECT_EQ(info_value(info, "b"), nullptr);
}

TEST(Hardware, kinds_by_both_names) {
  EXPECT_EQ(hardware_kind("package"), 0);
  EXPECT_EQ(hardware_kind("hwloc://NUMANode"), 1);
  EXPECT_EQ(hardware_kind("core"), 2);
  EXPECT_EQ(hardware_kind("hwloc://PU"), 3);
  EXPECT_EQ(hardware_kind("sofa"), -1);
}

}  // namespace
}  // namespace herald::mpi
