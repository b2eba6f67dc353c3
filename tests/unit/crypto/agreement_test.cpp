// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: ranks end with different secrets; the secret, or a part of it, stands in what they
// publish; an attacker without the common secret replaces a public key and is not noticed; two agreements
// give the same secret.
#include "crypto/agreement.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/prng.hpp"
#include "crypto/hex.hpp"

using namespace herald;
using namespace herald::crypto;

namespace {

SecretKey random_key(Prng& prng) {
  SecretKey key;
  for (std::byte& byte : key) byte = static_cast<std::byte>(prng.next());
  return key;
}

// The ranks of a job, and what they publish.
struct Ranks {
  Ranks(const Library& library, int size, std::uint64_t seed, std::uint32_t epoch = 0,
        const SecretKey& common = {}) {
    Prng prng(seed);
    for (int rank = 0; rank < size; ++rank)
      all.push_back(
          std::make_unique<Agreement>(library, Agreement::Place{rank, size, epoch},
                                      Agreement::Secrets{random_key(prng), random_key(prng), common}));
    for (const auto& one : all) public_texts.push_back(one->public_text());
  }
  bool add_all() {
    bool good = true;
    for (const auto& one : all)
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        good = one->add(static_cast<int>(rank), public_texts[rank]) && good;
    for (const auto& one : all) node_texts.push_back(one->node_text());
    return good;
  }
  bool finish(std::size_t rank, SecretKey& job) {
    return all[rank]->finish(
        [this](int from, std::string& text) {
          text = node_texts[static_cast<std::size_t>(from)];
          return !text.empty();
        },
        job);
  }
  std::vector<std::unique_ptr<Agreement>> all;
  std::vector<std::string> public_texts, node_texts;
};

struct AgreementTest : testing::Test {
  void SetUp() override {
    std::string why;
    library = Library::load(why);
    if (library == nullptr) GTEST_SKIP() << why;
  }
  const Library* library = nullptr;
};

}  // namespace

TEST_F(AgreementTest, all_ranks_get_one_secret_that_is_not_published) {
  for (const int size : {1, 2, 3, 8, 9, 10, 73, 74, 90}) {
    Ranks ranks(*library, size, 7);
    ASSERT_TRUE(ranks.add_all());
    SecretKey first{};
    ASSERT_TRUE(ranks.finish(0, first));
    EXPECT_NE(first, SecretKey{});
    for (std::size_t rank = 1; rank < ranks.all.size(); ++rank) {
      SecretKey job{};
      ASSERT_TRUE(ranks.finish(rank, job)) << rank << " of " << size;
      EXPECT_EQ(job, first);
    }
    for (const auto* texts : {&ranks.public_texts, &ranks.node_texts})
      for (const std::string& text : *texts) EXPECT_EQ(text.find(write_hex(first)), std::string::npos);
  }
}

TEST_F(AgreementTest, secrets_of_other_jobs_epochs_and_common_secrets_differ) {
  std::vector<SecretKey> jobs;
  for (const auto& [seed, epoch, common] : {std::tuple{1, 0u, 0}, {2, 0u, 0}, {1, 1u, 0}, {1, 0u, 1}}) {
    Ranks ranks(*library, 3, static_cast<std::uint64_t>(seed), epoch, {static_cast<std::byte>(common)});
    ASSERT_TRUE(ranks.add_all());
    SecretKey job{};
    ASSERT_TRUE(ranks.finish(2, job));
    for (const SecretKey& other : jobs) EXPECT_NE(job, other);
    jobs.push_back(job);
  }
}

TEST_F(AgreementTest, a_replaced_card_is_noticed_by_its_mac) {
  Ranks ranks(*library, 3, 1, 0, {std::byte{1}});
  Ranks strangers(*library, 3, 2, 0, {std::byte{2}});
  const std::string mac = ranks.all[1]->sign(1, ranks.public_texts[1]);
  EXPECT_TRUE(equal(mac, ranks.all[0]->sign(1, ranks.public_texts[1])));
  EXPECT_FALSE(equal(mac, ranks.all[0]->sign(2, ranks.public_texts[1])));
  EXPECT_FALSE(equal(mac, ranks.all[0]->sign(1, ranks.public_texts[2])));
  EXPECT_FALSE(equal(mac, strangers.all[0]->sign(1, ranks.public_texts[1])));
  EXPECT_FALSE(equal(mac, ""));
}

TEST_F(AgreementTest, what_was_altered_or_is_missing_yields_no_secret) {
  const auto altered = [&](auto&& alter) {
    Ranks ranks(*library, 12, 3);
    EXPECT_TRUE(ranks.add_all());
    alter(ranks);
    SecretKey job{};
    return !ranks.finish(11, job);  // its parent is 1, whose parent is 0
  };
  EXPECT_FALSE(altered([](Ranks&) {}));
  const auto flip = [](char& c) { c = c == '0' ? '1' : '0'; };
  EXPECT_TRUE(altered([&](Ranks& ranks) { flip(ranks.node_texts[0][5]); }));
  EXPECT_TRUE(altered([&](Ranks& ranks) { flip(ranks.node_texts[1][5]); }));
  EXPECT_TRUE(altered([&](Ranks& ranks) { flip(ranks.node_texts[1][96 * 3 + 5]); }));
  EXPECT_TRUE(altered([](Ranks& ranks) { ranks.node_texts[0].clear(); }));
  EXPECT_TRUE(altered([](Ranks& ranks) { ranks.node_texts[0] = "0123"; }));
  EXPECT_TRUE(altered([](Ranks& ranks) { ranks.node_texts[1].resize(10); }));
  EXPECT_TRUE(altered([](Ranks& ranks) { ranks.node_texts[1][0] = 'x'; }));
}

TEST_F(AgreementTest, texts_that_are_no_public_keys) {
  Ranks ranks(*library, 2, 5);
  for (const std::string& text :
       {std::string(), std::string(64, '0'), std::string(63, 'a'), std::string(64, 'g')})
    EXPECT_FALSE(ranks.all[0]->add(1, text)) << text;
  // A rank that replaces its neighbor's key by another gets another secret, not that of the job.
  Ranks strangers(*library, 2, 6);
  EXPECT_TRUE(ranks.all[0]->add(1, strangers.public_texts[1]));
  EXPECT_TRUE(ranks.all[1]->add(0, ranks.public_texts[0]));
  ranks.node_texts = {ranks.all[0]->node_text(), ""};
  SecretKey job{};
  EXPECT_FALSE(ranks.finish(1, job));
}
