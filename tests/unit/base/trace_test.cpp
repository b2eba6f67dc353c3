// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a trace that costs time when it is off, that is not JSON (a locale with
// commas, a host name with quotes), whose begin and end events are paired wrongly, or that drops the newest
// events instead of the oldest.
#include "base/trace.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <string>

namespace herald {
namespace {

std::int64_t time_now = 0;
Instant clock_of_test() { return {time_now}; }

std::string written(const Trace& trace, const TraceFacts& facts = {}) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  EXPECT_TRUE(trace.write(out, facts));
  std::fclose(out);
  std::string all(text, size);
  std::free(text);
  return all;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

struct OwnTrace : Trace {
  ~OwnTrace() { release(); }
};

TEST(Trace, tracing_that_is_off_records_nothing) {
  OwnTrace trace;
  trace.add(TraceEvent::send_start, std::uint64_t{1});
  EXPECT_FALSE(trace.on());
  ASSERT_TRUE(trace.open(16, clock_of_test));
  EXPECT_EQ(count(written(trace), "\"send\""), 0u);
  trace.close();
  trace.add(TraceEvent::send_start, std::uint64_t{1});
}

TEST(Trace, begin_and_end_events_are_paired) {
  OwnTrace trace;
  time_now = 1'000'000'000;
  ASSERT_TRUE(trace.open(64, clock_of_test));
  int one = 0, two = 0;
  time_now += 1'500;
  trace.add(TraceEvent::send_start, &one, 3, 100, 7);
  trace.add(TraceEvent::recv_start, &two, -1, 200, -2);
  trace.add(TraceEvent::wait_begin);
  trace.add(TraceEvent::sleep_begin);
  time_now += 2'000;
  trace.add(TraceEvent::sleep_end);
  time_now += 250;
  trace.add(TraceEvent::wait_end);
  trace.add(TraceEvent::recv_done, &two, 5, 150, 9);
  trace.add(TraceEvent::send_done, &one);
  const std::string text = written(trace);
  EXPECT_EQ(count(text,
                  "\"ph\":\"b\",\"pid\":0,\"tid\":0,\"ts\":1.500,\"id\":\"0.1\",\"args\":{\"to\":3,\"bytes\":"
                  "100,\"tag\":7}"),
            1u)
      << text;
  EXPECT_EQ(count(text,
                  "\"ph\":\"e\",\"pid\":0,\"tid\":0,\"ts\":3.750,\"id\":\"0.2\",\"args\":{\"from\":5,"
                  "\"bytes\":150,\"tag\":9}"),
            1u)
      << text;
  EXPECT_EQ(
      count(text,
            "\"name\":\"wait\",\"cat\":\"wait\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":1.500,\"dur\":2.250"),
      1u)
      << text;
  EXPECT_EQ(
      count(
          text,
          "\"name\":\"sleep\",\"cat\":\"sleep\",\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":1.500,\"dur\":2.000"),
      1u)
      << text;
  trace.close();
}

TEST(Trace, a_full_ring_keeps_the_newest_events_and_counts_lost_ones) {
  OwnTrace trace;
  ASSERT_TRUE(trace.open(16, clock_of_test));
  for (int i = 0; i < 100; ++i) trace.add(TraceEvent::resent, std::uint64_t{0}, i);
  trace.add(TraceEvent::wait_end);                      // its begin is lost
  trace.add(TraceEvent::send_done, std::uint64_t{77});  // its start is lost
  const std::string text = written(trace);
  EXPECT_EQ(count(text, "\"lost\":86"), 1u) << text;
  EXPECT_EQ(count(text, "\"name\":\"resent\""), 14u);
  EXPECT_EQ(count(text, "\"packets\":99,"), 1u);
  EXPECT_EQ(count(text, "\"name\":\"wait\"") + count(text, "\"name\":\"send\""), 0u);
  trace.close();
}

TEST(Trace, calls_are_named_and_those_without_events_are_forgotten) {
  OwnTrace trace;
  ASSERT_TRUE(trace.open(16, clock_of_test));
  const auto call = [&](const char* name, bool sends) {
    trace.add(TraceEvent::call_begin, std::uint64_t{0}, Trace::text(name));
    if (sends) trace.add(TraceEvent::send_start, &trace, 1, 8, 0);
    trace.end_or_forget(TraceEvent::call_begin, TraceEvent::call_end);
  };
  call("MPI_Send", true);
  for (int i = 0; i < 100; ++i) call("MPI_Test", false);
  const std::string text = written(trace);
  EXPECT_EQ(count(text, "\"MPI_Send\",\"cat\":\"call\""), 1u) << text;
  EXPECT_EQ(count(text, "MPI_Test"), 0u) << text;
  call("MPI_Waitall", false);  // shows where a program needs its messages
  EXPECT_EQ(count(written(trace), "\"MPI_Waitall\",\"cat\":\"call\""), 1u);
  EXPECT_EQ(count(text, "\"lost\":0"), 1u) << text;
  // In a full ring a forgotten call costs the oldest event, and nothing else is written twice.
  for (int i = 0; i < 20; ++i) trace.add(TraceEvent::resent, std::uint64_t{0}, i, i);
  call("MPI_Test", false);
  const std::string full = written(trace);
  EXPECT_EQ(count(full, "MPI_Test"), 0u) << full;
  EXPECT_EQ(count(full, "\"resent\",\"cat\""), 15u) << full;
}

TEST(Trace, operations_in_flight_at_the_end_are_written) {
  OwnTrace trace;
  time_now = 0;
  ASSERT_TRUE(trace.open(16, clock_of_test));
  trace.add(TraceEvent::wait_begin);
  time_now = 5'000;
  trace.add(TraceEvent::resent, std::uint64_t{0}, 1);
  EXPECT_EQ(count(written(trace), "\"dur\":5.000"), 1u);
  trace.close();
}

TEST(Trace, strings_are_quoted_and_numbers_have_decimal_points) {
  OwnTrace trace;
  time_now = 0;
  ASSERT_TRUE(trace.open(16, clock_of_test));
  const char* locale = std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // where the locale exists
  time_now = 1'234'567;
  trace.add(TraceEvent::coll_start, std::uint64_t{1}, Trace::text("bcast"), Trace::text("a\"b\\c"), 4);
  TraceFacts facts;
  facts.host = "odd\"host\n";
  const std::string text = written(trace, facts);
  if (locale != nullptr) std::setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(count(text, "\"ts\":1234.567"), 1u) << text;
  EXPECT_EQ(count(text, "{\"operation\":\"bcast\",\"algorithm\":\"a\\\"b\\\\c\",\"number\":4}"), 1u) << text;
  EXPECT_EQ(count(text, "\"host\":\"odd\\\"host\\u000a\""), 1u) << text;
  trace.close();
}

TEST(Trace, every_process_has_a_file_of_its_own) {
  TraceFacts facts;
  facts.rank = 3;
  facts.size = 4;
  facts.host = "h2";
  EXPECT_EQ(trace_path("t.json", facts), "t.3.json");
  EXPECT_EQ(trace_path("dir.d/t", facts), "dir.d/t.3");
  EXPECT_EQ(trace_path("%h/.hidden", facts), "h2/.hidden.3");
  EXPECT_EQ(trace_path("t-%r-%h-100%%.json", facts), "t-3-h2-100%.json");
  EXPECT_EQ(trace_path("100%", facts), "100%.3");
  facts.size = 1;
  EXPECT_EQ(trace_path("t.json", facts), "t.json");
}

}  // namespace
}  // namespace herald
