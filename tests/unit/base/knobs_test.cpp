// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a hostile or mistyped environment changes a setting, crashes the start, or is ignored
// without a warning; a row of the table and its field drift apart.
#include "base/knobs.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

namespace herald {
namespace {

struct Reading {
  Knobs knobs;
  std::vector<std::string> complaints;
};

Reading read(std::initializer_list<std::string> entries) {
  std::vector<std::string> texts(entries);
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  Reading reading;
  reading.knobs = read_knobs(environment.data(), reading.complaints);
  return reading;
}

TEST(Knobs, no_environment_gives_the_defaults_of_the_table) {
  std::vector<std::string> complaints;
  const Knobs knobs = read_knobs(nullptr, complaints);
  EXPECT_TRUE(complaints.empty());
  const auto rows = knob_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_text)
      EXPECT_EQ(knob_text(knobs, i), rows[i].fallback_text) << rows[i].name;
    else
      EXPECT_EQ(knob_int(knobs, i), rows[i].fallback) << rows[i].name;
  }
}

TEST(Knobs, every_row_is_consistent) {
  std::set<std::string> names;
  EXPECT_LE(knob_rows().size(), 30u);
  for (const KnobRow& row : knob_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_NE(*row.help, '\0') << row.name;
    for (const char* c = row.name; *c != '\0'; ++c)
      EXPECT_TRUE((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_') << row.name;
    if (row.is_text) continue;
    EXPECT_LE(row.smallest, row.fallback) << row.name;
    EXPECT_GE(row.largest, row.fallback) << row.name;
    EXPECT_NE(*row.unit, '\0') << row.name;
  }
}

TEST(Knobs, each_integer_row_sets_its_own_field_only) {
  const auto rows = knob_rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_text) continue;
    std::string name = rows[i].name;
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::int64_t value = rows[i].fallback == rows[i].largest ? rows[i].smallest : rows[i].largest;
    const Reading reading = read({"HERALD_" + name + "=" + std::to_string(value)});
    EXPECT_TRUE(reading.complaints.empty()) << name;
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (rows[other].is_text) continue;
      EXPECT_EQ(knob_int(reading.knobs, other), other == i ? value : rows[other].fallback)
          << rows[other].name;
    }
  }
}

TEST(Knobs, suffixes_scale) {
  EXPECT_EQ(read({"HERALD_UNEXPECTED_BYTES=64k"}).knobs.unexpected_bytes, 65536);
  EXPECT_EQ(read({"HERALD_UNEXPECTED_BYTES=1M"}).knobs.unexpected_bytes, 1 << 20);
  EXPECT_EQ(read({"HERALD_SPIN_US=-1"}).knobs.spin_us, -1);
}

TEST(Knobs, bad_values_are_refused_by_name_and_the_default_stays) {
  const std::int64_t standard = Knobs{}.unexpected_bytes;
  for (const char* value : {"",
                            " ",
                            "x",
                            "4 k",
                            "4kk",
                            "4kM",
                            "4km",
                            "1e3",
                            "0x10",
                            "--4",
                            "4096;rm",
                            "-1",
                            "-0x1",
                            "268435457",
                            "257M",
                            "99999999999999999999",
                            "-99999999999999999999",
                            "9223372036854775807k",
                            "9223372036854775807",
                            "\xff\xfe",
                            "%s%n",
                            "4\n",
                            "k",
                            "M",
                            "+"}) {
    const Reading reading = read({std::string("HERALD_UNEXPECTED_BYTES=") + value});
    EXPECT_EQ(reading.knobs.unexpected_bytes, standard) << "'" << value << "'";
    ASSERT_EQ(reading.complaints.size(), 1u) << "'" << value << "'";
    EXPECT_NE(reading.complaints[0].find("HERALD_UNEXPECTED_BYTES"), std::string::npos);
    EXPECT_NE(reading.complaints[0].find("268435456"), std::string::npos) << "the cure: the range";
  }
}

TEST(Knobs, limits_are_inclusive) {
  EXPECT_EQ(read({"HERALD_UNEXPECTED_BYTES=0"}).knobs.unexpected_bytes, 0);
  EXPECT_EQ(read({"HERALD_UNEXPECTED_BYTES=268435456"}).knobs.unexpected_bytes, 268435456);
  EXPECT_EQ(read({"HERALD_DETECT_MS=99"}).complaints.size(), 1u);
  EXPECT_EQ(read({"HERALD_DETECT_MS=100"}).knobs.detect_ms, 100);
}

TEST(Knobs, unknown_names_are_reported_and_foreign_ones_are_not) {
  EXPECT_EQ(read({"HERALD_UNEXPECTED_BYTE=1"}).complaints.size(), 1u);
  EXPECT_EQ(read({"HERALD_=1"}).complaints.size(), 1u);
  EXPECT_EQ(read({"HERALD_unexpected_bytes=1"}).complaints.size(), 1u) << "names are upper case";
  EXPECT_TRUE(
      read({"HERALD=1", "HERALDRY=1", "PATH=/bin", "XHERALD_FOO=1", "=", "", "HERALD_UNEXPECTED_BYTES"})
          .complaints.empty());
}

TEST(Knobs, names_for_launcher_and_wrappers_give_no_warning) {
  EXPECT_TRUE(read({"HERALD_JOB_KEY=abc", "HERALD_JOB_ID=1", "HERALD_MPIEXEC_PID=7", "HERALD_CC=clang",
                    "HERALD_CXX=clang++", "HERALD_FC=flang", "HERALD_MODULES=/tmp/modules"})
                  .complaints.empty());
}

TEST(Knobs, the_last_of_two_equal_names_counts) {
  EXPECT_EQ(read({"HERALD_VERBOSE=1", "HERALD_VERBOSE=2"}).knobs.verbose, 2);
}

TEST(Knobs, a_very_long_value_is_refused) {
  const Reading reading = read({"HERALD_UNEXPECTED_BYTES=" + std::string(1 << 20, '9')});
  EXPECT_EQ(reading.knobs.unexpected_bytes, Knobs{}.unexpected_bytes);
  EXPECT_EQ(reading.complaints.size(), 1u);
}

TEST(Knobs, text_is_kept_as_it_is) { EXPECT_EQ(read({"HERALD_TRACE=leaks,x=y"}).knobs.trace, "leaks,x=y"); }

TEST(Knobs, a_list_of_plain_words_refuses_others) {
  EXPECT_EQ(read({"HERALD_CHECK=leaks,collectives"}).knobs.check, "leaks,collectives");
  EXPECT_TRUE(read({"HERALD_CHECK=leaks,collectives"}).complaints.empty());
  for (const char* wrong : {"HERALD_CHECK=leeks", "HERALD_CHECK=leaks,x=y", "HERALD_CHECK=leaks=1"}) {
    const Reading reading = read({wrong});
    EXPECT_EQ(reading.knobs.check, "") << wrong;
    ASSERT_EQ(reading.complaints.size(), 1u) << wrong;
  }
  EXPECT_NE(read({"HERALD_CHECK=leeks"}).complaints[0].find("none of leaks|collectives"), std::string::npos);
}

TEST(Knobs, a_list_is_taken_whole) {
  const Reading reading =
      read({"HERALD_COLL=bcast=cast,allreduce=ring,scan=auto", "HERALD_BASELINE=push=zero"});
  EXPECT_TRUE(reading.complaints.empty());
  EXPECT_EQ(list_value(reading.knobs.coll, "bcast"), "cast");
  EXPECT_EQ(list_value(reading.knobs.coll, "allreduce"), "ring");
  EXPECT_EQ(list_value(reading.knobs.coll, "scan"), "auto");
  EXPECT_EQ(list_value(reading.knobs.coll, "reduce"), "") << "no part of another word";
  EXPECT_EQ(list_value(reading.knobs.baseline, "push"), "zero");
  EXPECT_TRUE(read({"HERALD_COLL="}).complaints.empty());
}

// One error, and none of the list is used.
TEST(Knobs, an_error_in_a_list_names_the_key_the_word_and_the_possible_words) {
  const auto refused = [](const std::string& value, std::initializer_list<const char*> words) {
    const Reading reading = read({"HERALD_COLL=scan=linear," + value});
    EXPECT_EQ(reading.knobs.coll, "") << value;
    ASSERT_EQ(reading.complaints.size(), 1u) << value;
    for (const char* word : words)
      EXPECT_NE(reading.complaints[0].find(word), std::string::npos) << reading.complaints[0];
  };
  refused("bcst=chain", {"'bcst'", "barrier|bcast|gather"});
  refused("bcast=nonsense", {"bcast", "'nonsense'", "auto|binomial"});
  refused("bcast=chain|cast", {"bcast", "'chain|cast'"});
  refused("bcast=", {"bcast", "''", "auto|binomial"});
  refused("bcast", {"bcast=auto|binomial"});
  refused("bcast=chain,bcast=cast", {"'bcast' twice"});
  refused("Bcast=chain", {"'Bcast'"});
  refused(",bcast=chain", {"''"});
  refused(" bcast=chain", {"' bcast'"});
  refused("=chain", {"''"});
}

TEST(JobKnobs, only_those_that_must_be_equal_count) {
  Knobs one, two;
  two.spin_us = 7;
  two.verbose = 3;
  two.if_ = "eth0";
  EXPECT_EQ(job_knobs(one), job_knobs(two));
  two.lanes = "off";
  EXPECT_NE(job_knobs(one), job_knobs(two));
}

TEST(JobKnobs, a_difference_names_the_knob_the_ranks_and_both_values) {
  Knobs lanes, both;
  lanes.lanes = both.lanes = "off";
  both.unexpected_bytes = 5;
  const std::string usual = job_knobs({}), off = job_knobs(lanes), two = job_knobs(both);
  EXPECT_EQ(find_disagreement(std::vector<std::string>{}), "");
  EXPECT_EQ(find_disagreement(std::vector{usual}), "");
  EXPECT_EQ(find_disagreement(std::vector<std::string>{usual, "", usual}), "");
  EXPECT_EQ(
      find_disagreement(std::vector<std::string>{usual, off, "", off, off, off}),
      "HERALD_LANES must be equal on all ranks: it is \"on\" on ranks 0, 2 and \"off\" on ranks 1, 3-5");
  EXPECT_EQ(
      find_disagreement(std::vector<std::string>{off, two}),
      "HERALD_UNEXPECTED_BYTES must be equal on all ranks: it is \"4194304\" on rank 0 and \"5\" on rank 1");
  const std::string all = find_disagreement(std::vector<std::string>{usual, two});
  EXPECT_NE(all.find("HERALD_LANES"), std::string::npos);
  EXPECT_NE(all.find("HERALD_UNEXPECTED_BYTES"), std::string::npos);
}

TEST(JobKnobs, other_rows_are_another_library) {
  const std::string usual = job_knobs({});
  for (const std::string& other :
       {std::string("x"), "lanes=on\n" + usual, usual.substr(usual.find('\n') + 1)})
    EXPECT_NE(find_disagreement(std::vector{usual, other}).find("same library"), std::string::npos);
}

// What could go wrong: a job that may not use UDP waits for multicast, and tells the user that the switch
// drops it.
TEST(Knobs, a_job_without_udp_has_no_multicast) {
  for (const char* const paths : {"", "udp", "shm,udp", "shm,tcp", "tcp", "shm"}) {
    std::string entry = std::string("HERALD_PATH=") + paths;
    char* environment[] = {entry.data(), nullptr};
    std::vector<std::string> complaints;
    const bool udp = *paths == 0 || std::string_view(paths).find("udp") != std::string_view::npos;
    EXPECT_EQ(read_knobs(environment, complaints).lanes, udp ? "on" : "off") << paths;
  }
}

TEST(ListHas, finds_whole_words_only) {
  EXPECT_TRUE(list_has("leaks", "leaks"));
  EXPECT_TRUE(list_has("a,leaks,b", "leaks"));
  EXPECT_TRUE(list_has(",,leaks", "leaks"));
  EXPECT_FALSE(list_has("", "leaks"));
  EXPECT_FALSE(list_has("leaksx,xleaks,leak", "leaks"));
  EXPECT_FALSE(list_has("leaks ,x", "leaks"));
  EXPECT_FALSE(list_has("LEAKS", "leaks"));
}

}  // namespace
}  // namespace herald
