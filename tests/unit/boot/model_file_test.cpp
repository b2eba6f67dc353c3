// SPDX-License-Identifier: BSD-3-Clause
// Files of measured parameters in a folder: a damaged, stale or foreign one that is used would make a whole
// job choose wrongly; one that hides a good file would waste its measurement.
#include "boot/model_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace herald::boot {
namespace {

class ModelFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/herald-model-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // `age`: seconds ago.
  void write(const std::string& name, const std::string& text, int age = 0) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    const timespec at{1'700'000'000 - age, 0};
    const timespec times[2] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  static model::Measured measured(const std::string& cluster) {
    model::Measured all;
    all.cluster = cluster;
    all.hosts = {"node1", "node2"};
    all.kernel = "6.1";
    all.link_mbit = 1000;
    all.parameters = model::default_parameters(1e9, 4);
    return all;
  }
  bool find(const Place& place) {
    warnings_.clear();
    return find_model(folder_, place, found_, warnings_);
  }

  const Place here_{"node2", "6.1", 1000};
  std::string folder_;
  model::Measured found_;
  std::vector<std::string> warnings_;
};

TEST_F(ModelFile, takes_the_newest_of_this_cluster) {
  write("a.model", to_text(measured("older")), 100);
  write("b.model", to_text(measured("newer")), 10);
  model::Measured foreign = measured("foreign");
  foreign.hosts = {"other1", "other2"};
  write("c.model", to_text(foreign));
  ASSERT_TRUE(find(here_));
  EXPECT_EQ(found_.cluster, "newer");
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(ModelFile, warns_of_damaged_files_and_goes_on) {
  const std::string good = to_text(measured("good"));
  write("a.model", good.substr(0, good.size() / 2));
  write("b.model", std::string(100'000, 'x'));
  write("c.model", good, 100);
  ASSERT_TRUE(find(here_));
  EXPECT_EQ(found_.cluster, "good");
  ASSERT_EQ(warnings_.size(), 2u);
  for (const std::string& each : warnings_) EXPECT_NE(each.find("ignored"), std::string::npos) << each;
}

TEST_F(ModelFile, ignores_what_another_kernel_or_link_has_measured) {
  write("a.model", to_text(measured("a")));
  EXPECT_FALSE(find({"node1", "6.2", 1000}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("kernel 6.1"), std::string::npos) << warnings_[0];
  EXPECT_FALSE(find({"node1", "6.1", 10000}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("another link"), std::string::npos) << warnings_[0];
}

TEST_F(ModelFile, keeps_what_jobs_have_tried_until_it_is_measured_anew) {
  write("a.model", to_text(measured("a")));
  ASSERT_TRUE(find(here_));
  const model::Parameters parameters = found_.parameters;
  std::string why;
  const std::vector<model::Tried> first = {{"bcast", 8, 4, 17, "cast"}, {"bcast", 8, 4, 20, "chain"}};
  ASSERT_TRUE(add_tried(folder_, here_, parameters, first, why)) << why;
  ASSERT_TRUE(add_tried(folder_, here_, parameters, {{"bcast", 8, 4, 17, "binomial"}}, why)) << why;
  ASSERT_TRUE(find(here_));
  EXPECT_EQ(found_.tried,
            (std::vector<model::Tried>{{"bcast", 8, 4, 20, "chain"}, {"bcast", 8, 4, 17, "binomial"}}));
  model::Measured anew = measured("a");
  anew.parameters.wake_ns = 12345;
  write("a.model", to_text(anew));
  ASSERT_TRUE(add_tried(folder_, here_, parameters, first, why)) << why;
  ASSERT_TRUE(find(here_));
  EXPECT_TRUE(found_.tried.empty());
}

TEST_F(ModelFile, needs_neither_folder_nor_files) {
  EXPECT_FALSE(find(here_));
  EXPECT_TRUE(warnings_.empty());
  EXPECT_FALSE(find_model("", here_, found_, warnings_));
  EXPECT_FALSE(find_model(folder_ + "/none", here_, found_, warnings_));
  EXPECT_TRUE(warnings_.empty());
  std::string why;
  EXPECT_FALSE(read_model(folder_ + "/none.model", found_, why));
  EXPECT_NE(why.find("cannot be read"), std::string::npos) << why;
}

TEST_F(ModelFile, lies_in_the_cache_of_the_user) {
  const char* const both[] = {"HOME=/users/me", "XDG_CACHE_HOME=/fast/cache", nullptr};
  const char* const home[] = {"XDG_CACHE_HOME_NOT=/x", "HOME=/users/me", nullptr};
  const char* const relative[] = {"XDG_CACHE_HOME=cache", "HOME=/users/me", nullptr};
  const char* const none[] = {nullptr};
  EXPECT_EQ(model_folder(both), "/fast/cache/herald");
  EXPECT_EQ(model_folder(home), "/users/me/.cache/herald");
  EXPECT_EQ(model_folder(relative), "/users/me/.cache/herald");
  EXPECT_EQ(model_folder(none), "");
}

}  // namespace
}  // namespace herald::boot
