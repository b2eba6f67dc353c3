// SPDX-License-Identifier: BSD-3-Clause
// boot/pmix_facts.hpp: the part of the PMIx client interface that Herald uses, declared here so that neither
// headers nor library are needed to build. Valid for PMIx 4 and 5 (libpmix.so.2).
// tests/unit/boot/pmix_facts_test.cpp compares every line with the real headers where they are installed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace herald::boot::pmix {

using Code = int;            // pmix_status_t
using Rank = std::uint32_t;  // pmix_rank_t

inline constexpr Code kSuccess = 0;
inline constexpr Code kErrTimeout = -24;
inline constexpr Code kErrUnreach = -25;
inline constexpr Code kErrNotFound = -46;
inline constexpr Code kErrNotSupported = -47;
inline constexpr Code kErrDuplicateKey = -53;
inline constexpr Rank kRankWildcard = UINT32_MAX - 1;
inline constexpr std::size_t kLongestNamespace = 255;
inline constexpr std::size_t kLongestKey = 511;
inline constexpr std::uint8_t kScopeGlobal = 3;

enum class Type : std::uint16_t {
  undefined = 0,
  boolean = 1,
  string = 3,
  size = 4,
  integer = 6,
  int32 = 9,
  int64 = 10,
  unsigned_integer = 11,
  uint16 = 13,
  uint32 = 14,
  uint64 = 15,
  byte_object = 27,
  rank = 40,
};

inline constexpr char kJobSize[] = "pmix.job.size";
inline constexpr char kLocalSize[] = "pmix.local.size";
inline constexpr char kLocalPeers[] = "pmix.lpeers";
inline constexpr char kNodeId[] = "pmix.nodeid";
inline constexpr char kAppNumber[] = "pmix.appnum";
inline constexpr char kUniverseSize[] = "pmix.univ.size";
inline constexpr char kCollectData[] = "pmix.collect";
inline constexpr char kOptional[] = "pmix.optional";
inline constexpr char kImmediate[] = "pmix.immediate";
inline constexpr char kTimeout[] = "pmix.timeout";
inline constexpr char kHost[] = "pmix.host";
inline constexpr char kHostFile[] = "pmix.hostfile";
inline constexpr char kAddHost[] = "pmix.addhost";
inline constexpr char kMapBy[] = "pmix.mapby";
inline constexpr char kQueryNamespaces[] = "pmix.qry.ns";

struct Proc {
  char name_space[kLongestNamespace + 1];
  Rank rank;
};

struct ByteObject {
  char* bytes;
  std::size_t size;
};

struct Value {
  Type type;
  union {
    bool flag;
    char* string;
    std::size_t size;
    int integer;
    std::int32_t int32;
    std::int64_t int64;
    unsigned unsigned_integer;
    std::uint16_t uint16;
    std::uint32_t uint32;
    std::uint64_t uint64;
    Rank rank;
    ByteObject bytes;
    void* room[3];  // as large as the largest member
  } data;
};

struct Info {
  char key[kLongestKey + 1];
  std::uint32_t flags;
  Value value;
};

// A command of PMIx_Spawn. The arrays of strings end with a null pointer.
struct App {
  char* command;
  char** arguments;
  char** environment;
  char* directory;
  int processes;
  Info* info;
  std::size_t info_count;
};

struct Query {
  char** keys;
  Info* qualifiers;
  std::size_t qualifier_count;
};

// PMIx_Lookup reads the key and fills in its value and the process that has published it.
struct Published {
  Proc proc;
  char key[kLongestKey + 1];
  Value value;
};

using InitCall = Code (*)(Proc*, Info*, std::size_t);
using FinalizeCall = Code (*)(const Info*, std::size_t);
using PutCall = Code (*)(std::uint8_t, const char*, Value*);
using CommitCall = Code (*)();
using FenceCall = Code (*)(const Proc*, std::size_t, const Info*, std::size_t);
using GetCall = Code (*)(const Proc*, const char*, const Info*, std::size_t, Value**);
using AbortCall = Code (*)(int, const char*, Proc*, std::size_t);
using SpawnCall = Code (*)(const Info*, std::size_t, const App*, std::size_t, char*);
using QueryCall = Code (*)(Query*, std::size_t, Info**, std::size_t*);
using PublishCall = Code (*)(const Info*, std::size_t);
using LookupCall = Code (*)(Published*, std::size_t, const Info*, std::size_t);
using UnpublishCall = Code (*)(char**, const Info*, std::size_t);
using ErrorStringCall = const char* (*)(Code);

}  // namespace herald::boot::pmix
