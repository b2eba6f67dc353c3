// SPDX-License-Identifier: BSD-3-Clause
// Files of measured parameters: a half-written or edited file that is taken for a good one would make all
// ranks choose wrongly, in every job, without notice.
#include "model/text.hpp"

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace herald::model {
namespace {

Measured sample() {
  Measured measured;
  measured.cluster = "node-12ab";
  measured.hosts = {"node1", "node2"};
  measured.kernel = "6.1.0";
  measured.link_mbit = 100;
  measured.parameters = default_parameters(1e8, 4);
  return measured;
}

TEST(ModelText, reads_back_what_it_wrote) {
  const Measured measured = sample();
  Measured back;
  std::string why;
  ASSERT_TRUE(from_text(to_text(measured), back, why)) << why;
  EXPECT_EQ(back.hosts, measured.hosts);
  EXPECT_EQ(back.kernel, measured.kernel);
  EXPECT_EQ(to_text(back), to_text(measured));
  for (std::size_t i = 0; i < kPaths; ++i)
    EXPECT_NEAR(back.parameters.path[i].latency.at(50000), measured.parameters.path[i].latency.at(50000), 10);
  EXPECT_EQ(back.parameters.wake_ns, measured.parameters.wake_ns);
}

TEST(ModelText, keeps_what_was_tried_and_refuses_nonsense) {
  Measured measured = sample();
  measured.tried = {{"bcast", 8, 4, 17, "cast"}, {"allreduce", 2, 2, 11, "ring"}};
  Measured back;
  std::string why;
  ASSERT_TRUE(from_text(to_text(measured), back, why)) << why;
  EXPECT_EQ(back.tried, measured.tried);
  for (const char* line : {"tried bcast 8 4 17", "tried bcast 8 4 17 cast more", "tried bcast 0 4 17 cast",
                           "tried bcast 8 4 65 cast", "tried bcast 8 4.5 17 cast", "tried  8 4 17 cast"}) {
    std::string text = to_text(sample());
    text.insert(text.find("\nend\n") + 1, std::string(line) + "\n");
    EXPECT_FALSE(from_text(text, back, why)) << line;
  }
}

TEST(ModelText, refuses_every_truncated_file) {
  const std::string text = to_text(sample());
  Measured back;
  back.cluster = "untouched";
  std::string why;
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    why.clear();
    EXPECT_FALSE(from_text(text.substr(0, length), back, why)) << length;
    EXPECT_FALSE(why.empty());
  }
  EXPECT_EQ(back.cluster, "untouched");
}

TEST(ModelText, refuses_other_versions_and_absurd_values) {
  const std::string good = to_text(sample());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good, why;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    Measured back;
    EXPECT_FALSE(from_text(text, back, why)) << to;
    return why;
  };
  EXPECT_NE(with("herald-model 1", "herald-model 2").find("version"), std::string::npos);
  EXPECT_NE(with("herald-model 1", "{\"x\": 1}").find("not a file"), std::string::npos);
  EXPECT_NE(with("wake_ns 5000", "wake_ns -5000").find("line"), std::string::npos);
  with("wake_ns 5000", "wake_ns nan");
  with("wake_ns 5000", "wake_ns 1e300");
  with("wake_ns 5000", "wake_ns 5000x");
  with("interference_share 0", "interference_share 7");
  with("path udp", "path carrier_pigeon");
  with("\nhosts node1 node2", "");
  with("\nend\n", "\nend\nmore\n");
}

TEST(ModelText, survives_any_bytes) {
  const std::string good = to_text(sample());
  Prng chance(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text = good, why;
    for (std::uint64_t n = chance.below(4) + 1; n > 0; --n)
      text[chance.below(text.size())] = static_cast<char>(chance.below(256));
    Measured back;
    if (!from_text(text, back, why)) continue;
    for (const PathParameters& path : back.parameters.path) EXPECT_GE(path.latency.at(1000), 0);
  }
}

}  // namespace
}  // namespace herald::model
