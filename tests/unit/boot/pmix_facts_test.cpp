// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a size, an offset, a value or a signature differs from that of libpmix.
// Built only where pmix.h is installed. Most of it is checked by the compiler.
#include "boot/pmix_facts.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace herald::boot::pmix {
namespace {

static_assert(std::is_same_v<Code, pmix_status_t> && std::is_same_v<Rank, pmix_rank_t>);
static_assert(kSuccess == PMIX_SUCCESS && kErrTimeout == PMIX_ERR_TIMEOUT);
static_assert(kErrUnreach == PMIX_ERR_UNREACH && kErrNotFound == PMIX_ERR_NOT_FOUND);
static_assert(kErrNotSupported == PMIX_ERR_NOT_SUPPORTED && kErrDuplicateKey == PMIX_ERR_DUPLICATE_KEY);
static_assert(kRankWildcard == PMIX_RANK_WILDCARD);
static_assert(kLongestNamespace == PMIX_MAX_NSLEN && kLongestKey == PMIX_MAX_KEYLEN);
static_assert(sizeof(pmix_scope_t) == sizeof kScopeGlobal && kScopeGlobal == PMIX_GLOBAL);

constexpr int number(Type type) { return static_cast<int>(type); }
static_assert(sizeof(Type) == sizeof(pmix_data_type_t));
static_assert(number(Type::undefined) == PMIX_UNDEF && number(Type::boolean) == PMIX_BOOL);
static_assert(number(Type::string) == PMIX_STRING && number(Type::size) == PMIX_SIZE);
static_assert(number(Type::integer) == PMIX_INT && number(Type::int32) == PMIX_INT32);
static_assert(number(Type::int64) == PMIX_INT64 && number(Type::unsigned_integer) == PMIX_UINT);
static_assert(number(Type::uint16) == PMIX_UINT16 && number(Type::uint32) == PMIX_UINT32);
static_assert(number(Type::uint64) == PMIX_UINT64 && number(Type::byte_object) == PMIX_BYTE_OBJECT);
static_assert(number(Type::rank) == PMIX_PROC_RANK);

static_assert(sizeof(Proc) == sizeof(pmix_proc_t) && alignof(Proc) == alignof(pmix_proc_t));
static_assert(offsetof(Proc, name_space) == offsetof(pmix_proc_t, nspace));
static_assert(offsetof(Proc, rank) == offsetof(pmix_proc_t, rank));

static_assert(sizeof(ByteObject) == sizeof(pmix_byte_object_t));
static_assert(offsetof(ByteObject, bytes) == offsetof(pmix_byte_object_t, bytes));
static_assert(offsetof(ByteObject, size) == offsetof(pmix_byte_object_t, size));

static_assert(sizeof(Value) == sizeof(pmix_value_t) && alignof(Value) == alignof(pmix_value_t));
static_assert(offsetof(Value, type) == offsetof(pmix_value_t, type));
static_assert(offsetof(Value, data) == offsetof(pmix_value_t, data));
static_assert(sizeof(Value::data) == sizeof(pmix_value_t::data));

static_assert(sizeof(Info) == sizeof(pmix_info_t) && alignof(Info) == alignof(pmix_info_t));
static_assert(offsetof(Info, key) == offsetof(pmix_info_t, key));
static_assert(offsetof(Info, flags) == offsetof(pmix_info_t, flags));
static_assert(offsetof(Info, value) == offsetof(pmix_info_t, value));
static_assert(sizeof(Info::flags) == sizeof(pmix_info_directives_t));

static_assert(sizeof(App) == sizeof(pmix_app_t) && offsetof(App, command) == offsetof(pmix_app_t, cmd));
static_assert(offsetof(App, arguments) == offsetof(pmix_app_t, argv));
static_assert(offsetof(App, environment) == offsetof(pmix_app_t, env));
static_assert(offsetof(App, directory) == offsetof(pmix_app_t, cwd));
static_assert(offsetof(App, processes) == offsetof(pmix_app_t, maxprocs));
static_assert(offsetof(App, info) == offsetof(pmix_app_t, info));
static_assert(offsetof(App, info_count) == offsetof(pmix_app_t, ninfo));
static_assert(sizeof(Query) == sizeof(pmix_query_t) && offsetof(Query, keys) == offsetof(pmix_query_t, keys));
static_assert(offsetof(Query, qualifiers) == offsetof(pmix_query_t, qualifiers));
static_assert(offsetof(Query, qualifier_count) == offsetof(pmix_query_t, nqual));

static_assert(sizeof(Published) == sizeof(pmix_pdata_t));
static_assert(offsetof(Published, proc) == offsetof(pmix_pdata_t, proc));
static_assert(offsetof(Published, key) == offsetof(pmix_pdata_t, key));
static_assert(offsetof(Published, value) == offsetof(pmix_pdata_t, value));

// Our signatures must equal those of PMIx when its own types are substituted. An array parameter is a
// pointer.
static_assert(std::is_same_v<decltype(&PMIx_Init), Code (*)(pmix_proc_t*, pmix_info_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Finalize), Code (*)(const pmix_info_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Put), Code (*)(std::uint8_t, const char*, pmix_value_t*)>);
static_assert(std::is_same_v<decltype(&PMIx_Commit), Code (*)()>);
static_assert(std::is_same_v<decltype(&PMIx_Fence),
                             Code (*)(const pmix_proc_t*, std::size_t, const pmix_info_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Get), Code (*)(const pmix_proc_t*, const char*,
                                                           const pmix_info_t*, std::size_t, pmix_value_t**)>);
static_assert(std::is_same_v<decltype(&PMIx_Abort), Code (*)(int, const char*, pmix_proc_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Spawn), Code (*)(const pmix_info_t*, std::size_t,
                                                             const pmix_app_t*, std::size_t, char*)>);
static_assert(std::is_same_v<decltype(&PMIx_Query_info),
                             Code (*)(pmix_query_t*, std::size_t, pmix_info_t**, std::size_t*)>);
static_assert(std::is_same_v<decltype(&PMIx_Publish), Code (*)(const pmix_info_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Lookup),
                             Code (*)(pmix_pdata_t*, std::size_t, const pmix_info_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Unpublish), Code (*)(char**, const pmix_info_t*, std::size_t)>);
static_assert(std::is_same_v<decltype(&PMIx_Error_string), const char* (*)(Code)>);

TEST(PmixFacts, keys_are_spelled_as_in_the_headers) {
  EXPECT_STREQ(kJobSize, PMIX_JOB_SIZE);
  EXPECT_STREQ(kLocalSize, PMIX_LOCAL_SIZE);
  EXPECT_STREQ(kLocalPeers, PMIX_LOCAL_PEERS);
  EXPECT_STREQ(kNodeId, PMIX_NODEID);
  EXPECT_STREQ(kAppNumber, PMIX_APPNUM);
  EXPECT_STREQ(kUniverseSize, PMIX_UNIV_SIZE);
  EXPECT_STREQ(kCollectData, PMIX_COLLECT_DATA);
  EXPECT_STREQ(kOptional, PMIX_OPTIONAL);
  EXPECT_STREQ(kImmediate, PMIX_IMMEDIATE);
  EXPECT_STREQ(kTimeout, PMIX_TIMEOUT);
  EXPECT_STREQ(kHost, PMIX_HOST);
  EXPECT_STREQ(kHostFile, PMIX_HOSTFILE);
  EXPECT_STREQ(kAddHost, PMIX_ADD_HOST);
  EXPECT_STREQ(kMapBy, PMIX_MAPBY);
  EXPECT_STREQ(kQueryNamespaces, PMIX_QUERY_NAMESPACES);
}

TEST(PmixFacts, members_of_a_value_have_the_offsets_of_libpmix) {
  pmix_value_t theirs{};
  Value ours{};
  ours.type = Type::uint32;
  ours.data.uint32 = 0xdecafbad;
  std::memcpy(&theirs, &ours, sizeof theirs);
  EXPECT_EQ(theirs.type, PMIX_UINT32);
  EXPECT_EQ(theirs.data.uint32, 0xdecafbadu);
  char bytes[] = "abc";
  ours.data.bytes = {bytes, 3};
  std::memcpy(&theirs, &ours, sizeof theirs);
  EXPECT_EQ(theirs.data.bo.bytes, bytes);
  EXPECT_EQ(theirs.data.bo.size, 3u);
}

}  // namespace
}  // namespace herald::boot::pmix
