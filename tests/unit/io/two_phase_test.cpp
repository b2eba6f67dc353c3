// SPDX-License-Identifier: BSD-3-Clause
// Collective access: domains that overlap or leave bytes out, gaps that change, ranks that write the same
// bytes. Random accesses of several ranks are compared with writes of one rank after another.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/prng.hpp"
#include "io/aggregator.hpp"
#include "memory_storage.hpp"
#include "type/build.hpp"

namespace herald::io {
namespace {

const type::Layout& byte() { return type::basic_layout(type::Basic::byte); }

TEST(Domains, windows_tile_the_hull) {
  Prng prng(7);
  for (int n = 0; n < 500; ++n) {
    const Segment hull{static_cast<std::int64_t>(prng.below(100000)),
                       static_cast<std::int64_t>(1 + prng.below(100000))};
    const int count = static_cast<int>(1 + prng.below(9));
    const auto alignment = static_cast<std::int64_t>(1 + prng.below(5000));
    const Domains domains(hull, count, alignment, static_cast<std::int64_t>(1 + prng.below(20000)));
    std::int64_t at = hull.offset;
    for (int domain = 0; domain < count; ++domain)
      for (std::int64_t round = 0; round < domains.rounds(); ++round) {
        const Segment window = domains.window(domain, round);
        if (window.bytes == 0) continue;
        ASSERT_EQ(window.offset, at);
        at = window.end();
      }
    ASSERT_EQ(at, hull.end());
  }
}

TEST(Domains, interleaved_short_pieces_go_in_two_phases) {
  const RankAccess even{0, 92, 4, 0, 48}, odd{4, 96, 4, 0, 48}, first{0, 48, 48, 0, 48},
      second{48, 96, 48, 0, 48};
  EXPECT_TRUE(is_interleaved(std::vector{even, odd}, 4096));
  EXPECT_FALSE(is_interleaved(std::vector{even, odd}, 4));         // the pieces are large
  EXPECT_FALSE(is_interleaved(std::vector{first, second}, 4096));  // side by side
  EXPECT_FALSE(is_interleaved(std::vector{first, first}, 4096));   // all the same segment
  EXPECT_FALSE(is_interleaved(std::vector{even, RankAccess{}}, 4096));
}

struct Job {
  std::vector<View> views;
  std::vector<RankAccess> ranks;
  std::vector<std::vector<char>> data;
};

Job random_job(Prng& prng) {
  Job job;
  const auto size = 1 + prng.below(5);
  for (std::uint64_t rank = 0; rank < size; ++rank) {
    const auto block = static_cast<std::int64_t>(1 + prng.below(20));
    const auto gap = static_cast<std::int64_t>(prng.below(40));
    type::LayoutRef filetype;
    EXPECT_EQ(
        type::vector(static_cast<std::int64_t>(1 + prng.below(30)), block, block + gap, byte(), filetype),
        Status::ok);
    const View view(static_cast<std::int64_t>(prng.below(300)), byte(), *filetype);
    RankAccess access;
    access.position = static_cast<std::int64_t>(prng.below(500));
    access.bytes = static_cast<std::int64_t>(prng.below(3000));
    if (access.bytes != 0) {
      access.first = view.offset_of(access.position);
      access.last = view.offset_of(access.position + access.bytes - 1) + 1;
    }
    job.views.push_back(view);
    job.ranks.push_back(access);
    // Where ranks write the same byte, any of them may win: all write the same value there.
    std::vector<char>& data = job.data.emplace_back();
    for (std::int64_t i = 0; i < access.bytes; ++i)
      data.push_back(static_cast<char>(view.offset_of(access.position + i) * 5 + 1));
  }
  return job;
}

// The bytes of all ranks but one in a window, as the exchange delivers them.
std::vector<char> gather(const Job& job, const Segment& window, std::size_t own) {
  std::vector<char> out(1);
  out.clear();
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (i == own) continue;
    const Positions part = positions_in(job.views[i], job.ranks[i], window);
    const auto from = job.data[i].begin() + (part.begin - job.ranks[i].position);
    out.insert(out.end(), from, from + part.bytes());
  }
  out.push_back(0);
  return out;
}

TEST(Aggregator, random_collective_writes_and_reads) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const Job job = random_job(prng);
    MemoryStorage storage;
    storage.data.assign(static_cast<std::size_t>(prng.below(5000)), 'o');
    std::vector<char> want = storage.data;
    for (std::size_t i = 0; i < job.ranks.size(); ++i)
      for (std::size_t n = 0; n < job.data[i].size(); ++n) {
        const auto at = static_cast<std::size_t>(
            job.views[i].offset_of(job.ranks[i].position + static_cast<std::int64_t>(n)));
        if (want.size() <= at) want.resize(at + 1);
        want[at] = job.data[i][n];
      }
    const Segment hull = hull_of(job.ranks);
    if (hull.bytes == 0) continue;
    const int count = static_cast<int>(1 + prng.below(4));
    const Domains domains(hull, count, static_cast<std::int64_t>(1 + prng.below(512)),
                          static_cast<std::int64_t>(1 + prng.below(4000)));
    WindowMemory memory;
    Aggregator aggregator(storage, job.views, job.ranks, prng.below(2) == 0, memory);
    const std::size_t own = prng.below(job.ranks.size() + 1);  // none, if there is no such rank
    std::vector<char> mine;
    if (own < job.ranks.size()) {
      mine = job.data[own];
      aggregator.set_own(static_cast<int>(own), type::Cursor::bytes(mine.data(), mine.size()));
    }
    for (int domain = 0; domain < count; ++domain)
      for (std::int64_t round = 0; round < domains.rounds(); ++round) {
        const Segment window = domains.window(domain, round);
        const std::vector<std::int64_t> bytes = aggregator.set_window(window);
        std::vector<char> data = gather(job, window, own);
        ASSERT_EQ(static_cast<std::size_t>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})) + 1,
                  data.size());
        ASSERT_EQ(aggregator.write(data.data()), 0);
        std::vector<char> back(data.size());
        std::fill(mine.begin(), mine.end(), '-');
        ASSERT_EQ(aggregator.read(back.data()), 0);
        data.back() = 0;
        ASSERT_EQ(back, data);
        if (own == job.ranks.size()) continue;
        const Positions part = positions_in(job.views[own], job.ranks[own], window);
        const std::int64_t first = part.begin - job.ranks[own].position;
        for (std::int64_t at = 0; at < static_cast<std::int64_t>(mine.size()); ++at) {
          const auto n = static_cast<std::size_t>(at);
          const bool is_there = at >= first && at < first + part.bytes();
          ASSERT_EQ(mine[n], is_there ? job.data[own][n] : '-');
        }
        mine = job.data[own];
      }
    ASSERT_EQ(storage.data, want);
  }
}

}  // namespace
}  // namespace herald::io
