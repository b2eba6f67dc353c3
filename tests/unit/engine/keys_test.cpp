// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: ranks with HERALD_SECURE=auth or encrypt do not understand each other; a rank with
// another secret, or without the secret, takes part; a file that others can read is taken for a secret.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "crypto/library.hpp"
#include "engine/key_file.hpp"
#include "tests/unit/engine/traffic.hpp"

using namespace herald;
using namespace herald::test;

namespace {

struct KeysTest : testing::Test {
  void SetUp() override {
    char name[] = "/tmp/herald-keys-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override {
    for (const std::string& file : files) unlink(file.c_str());
    rmdir(folder.c_str());
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    files.push_back(folder + "/" + name);
    std::ofstream(files.back()) << text;
    chmod(files.back().c_str(), mode);
    return files.back();
  }
  std::string folder;
  std::vector<std::string> files;
};

struct SealedJob : Job {
  explicit SealedJob(const char* secure = "tag") {
    knobs.path = "udp";
    knobs.if_ = "lo";
    knobs.secure = secure;
  }
  // Whether all ranks refused to start.
  bool is_refused(int size) {
    if (run(
            size, [](engine::Engine&, boot::Boot&) {}, 20))
      return false;
    return std::all_of(statuses().begin(), statuses().end(),
                       [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 2; });
  }
};

bool has_library() {
  std::string why;
  return crypto::Library::load(why) != nullptr;
}

const std::string kSecret = "0123456789abcdef, and more";

}  // namespace

TEST_F(KeysTest, sealed_messages_arrive) {
  if (!has_library()) GTEST_SKIP();
  for (const char* secure : {"auth", "encrypt"})
    for (const int size : {2, 4}) {
      SealedJob job(secure);
      EXPECT_TRUE(job.run(size, [size](engine::Engine& engine, boot::Boot&) {
        if (size == 2) ping_pong(engine);
        all_to_all(engine, 24);
      })) << secure;
    }
}

TEST_F(KeysTest, ranks_with_one_secret_agree_and_others_are_refused) {
  if (!has_library()) GTEST_SKIP();
  const std::string good = write("good", kSecret), other = write("other", kSecret + "!");
  SealedJob job("encrypt");
  job.knobs.key_file = good;
  EXPECT_TRUE(job.run(3, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 8); }));
  for (const std::string& file : {other, std::string()}) {
    SealedJob mixed;
    mixed.adjust = [&](int rank, Knobs& knobs) { knobs.key_file = rank == 1 ? file : good; };
    EXPECT_TRUE(mixed.is_refused(2)) << file;
  }
}

TEST_F(KeysTest, the_secret_of_mpiexec_must_be_the_same) {
  if (!has_library()) GTEST_SKIP();
  for (const bool same : {true, false}) {
    SealedJob job;
    job.adjust = [same](int rank, Knobs&) {
      setenv("HERALD_JOB_KEY",
             same || rank == 0 ? "0123456789abcdef0123456789abcdef" : "1123456789abcdef0123456789abcdef", 1);
    };
    if (same) {
      EXPECT_TRUE(job.run(2, [](engine::Engine& engine, boot::Boot&) { all_to_all(engine, 8); }));
    } else {
      EXPECT_TRUE(job.is_refused(2));
    }
  }
}

TEST_F(KeysTest, files_that_are_no_secrets) {
  std::string secret, why;
  ASSERT_TRUE(engine::read_key_file(write("good", kSecret), secret, why)) << why;
  EXPECT_EQ(secret, kSecret);
  const auto refused = [&](const std::string& path, const char* reason) {
    why.clear();
    EXPECT_FALSE(engine::read_key_file(path, secret, why));
    EXPECT_NE(why.find(reason), std::string::npos) << why;
    EXPECT_NE(why.find("HERALD_KEY_FILE=" + path), std::string::npos) << why;
  };
  refused(write("short", "0123456789abcde"), "16 to 4096 bytes");
  refused(write("long", std::string(4097, 'x')), "16 to 4096 bytes");
  refused(write("open", kSecret, 0640), "others can read");
  refused(write("written", kSecret, 0602), "others can read");
  refused(folder + "/absent", "No such file");
  refused(folder, "not a regular file");
  files.push_back(folder + "/fifo");
  ASSERT_EQ(mkfifo(files.back().c_str(), 0600), 0);
  refused(files.back(), "not a regular file");
  if (geteuid() == 0) {
    const std::string foreign = write("foreign", kSecret);
    ASSERT_EQ(chown(foreign.c_str(), 12345, 12345), 0);
    refused(foreign, "another user");
  }
}
