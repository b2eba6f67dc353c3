// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an engine is asked for a program that is not there (Open MPI's mpirun then ends all
// jobs); a child gets the port of another spawn, or loses a variable; a job that has ended is waited for; an
// engine that cannot spawn is blamed on the program.
#include "boot/pmix_spawn.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace herald::boot {
namespace {

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/herald-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void add(const std::string& name, mode_t mode) const {
    std::ofstream(path + "/" + name) << "#!/bin/sh\n";
    ::chmod((path + "/" + name).c_str(), mode);
  }
};

SpawnApp app_of(std::string command, std::vector<std::pair<std::string, std::string>> info = {}) {
  return {std::move(command), {"one"}, 2, std::move(info)};
}

TEST(PmixSpawn, programs_are_found_as_a_shell_finds_them) {
  const Folder folder;
  folder.add("worker", 0755);
  folder.add("data", 0644);
  std::string why;
  EXPECT_EQ(program_of(app_of("sh"), why).back(), 'h');
  EXPECT_EQ(program_of(app_of(folder.path + "/worker"), why), folder.path + "/worker");
  EXPECT_EQ(program_of(app_of("worker", {{"path", "/nowhere:" + folder.path}}), why),
            folder.path + "/worker");
  EXPECT_EQ(program_of(app_of("./worker", {{"wdir", folder.path}}), why), folder.path + "/./worker");
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  EXPECT_TRUE(program_of(app_of("./worker", {{"wdir", "/"}}), why).ends_with("/./worker"));
  std::filesystem::current_path(here);
  EXPECT_TRUE(why.empty());
}

TEST(PmixSpawn, a_program_that_is_not_there_is_refused_unless_other_hosts_are_named) {
  const Folder folder;
  folder.add("data", 0644);
  for (const std::string& name :
       {std::string("/no/such"), std::string("no_such_program"), folder.path, folder.path + "/data"}) {
    std::string why;
    EXPECT_EQ(program_of(app_of(name), why), "") << name;
    EXPECT_FALSE(why.empty());
    EXPECT_EQ(program_of(app_of(name, {{"host", "other"}}), why), name);
  }
}

TEST(PmixSpawn, children_get_the_settings_of_the_job_and_their_own_port) {
  char knob[] = "HERALD_LANES=off", port[] = "HERALD_PARENT_PORT=old", pid[] = "HERALD_RANK_PID=7",
       library[] = "LD_LIBRARY_PATH=/opt/lib", other[] = "HOME=/root";
  char* environment[] = {knob, port, pid, library, other, nullptr};
  const auto app = app_of("x", {{"env", "A=one two\nHERALD_LANES=on\n=bad\nbad\nB="}});
  const std::vector<std::string> expected{"LD_LIBRARY_PATH=/opt/lib", "HERALD_PARENT_PORT=new", "A=one two",
                                          "HERALD_LANES=on", "B="};
  EXPECT_EQ(variables_of(app, "new", environment), expected);
}

// Stands in for libpmix.
struct Engine {
  pmix::Code spawn_answer = pmix::kSuccess, query_answer = pmix::kSuccess;
  std::string jobs, asked;
};
Engine engine;

pmix::Code fake_spawn(const pmix::Info*, std::size_t, const pmix::App* apps, std::size_t count, char* job) {
  for (std::size_t i = 0; i < count; ++i) {
    engine.asked += std::string(apps[i].command) + " " + std::to_string(apps[i].processes);
    for (char** word = apps[i].arguments; *word != nullptr; ++word) engine.asked += std::string(" ") + *word;
    for (std::size_t k = 0; k < apps[i].info_count; ++k)
      engine.asked += std::string(" ") + apps[i].info[k].key + "=" + apps[i].info[k].value.data.string;
    engine.asked += ";";
  }
  std::strcpy(job, "job@2");
  return engine.spawn_answer;
}

pmix::Code fake_query(pmix::Query*, std::size_t, pmix::Info** found, std::size_t* count) {
  if (engine.query_answer != pmix::kSuccess) return engine.query_answer;
  *found = static_cast<pmix::Info*>(std::calloc(1, sizeof(pmix::Info)));
  (*found)->value.type = pmix::Type::string;
  (*found)->value.data.string = ::strdup(engine.jobs.c_str());
  *count = 1;
  return pmix::kSuccess;
}

const char* fake_error(pmix::Code) { return "WORD"; }

pmix::Library fake_library() {
  engine = {};
  pmix::Library library{};
  library.spawn = fake_spawn;
  library.query = fake_query;
  library.error_string = fake_error;
  return library;
}

TEST(PmixSpawn, commands_go_to_the_engine_in_order) {
  const pmix::Library library = fake_library();
  PmixSpawn spawner(library);
  const SpawnApp apps[] = {app_of("/bin/sh"), app_of("/bin/ls", {{"host", "a,b"}})};
  std::string why;
  EXPECT_EQ(spawner.spawn(apps, "port", why), Status::ok);
  EXPECT_EQ(engine.asked, "/bin/sh 2 /bin/sh one;/bin/ls 2 /bin/ls one pmix.host=a,b;");
}

TEST(PmixSpawn, a_job_has_ended_when_the_engine_lists_it_no_more) {
  const pmix::Library library = fake_library();
  PmixSpawn spawner(library);
  const SpawnApp apps[] = {app_of("/bin/sh")};
  std::string why;
  EXPECT_FALSE(spawner.has_ended(why));
  ASSERT_EQ(spawner.spawn(apps, "port", why), Status::ok);
  engine.jobs = "job@1,job@2";
  EXPECT_FALSE(spawner.has_ended(why));
  engine.jobs = "job@1,job@22";
  EXPECT_TRUE(spawner.has_ended(why));
  EXPECT_NE(why.find("MPI_Init"), std::string::npos);
}

TEST(PmixSpawn, an_engine_that_does_not_list_jobs_is_asked_once) {
  const pmix::Library library = fake_library();
  PmixSpawn spawner(library);
  const SpawnApp apps[] = {app_of("/bin/sh")};
  std::string why;
  ASSERT_EQ(spawner.spawn(apps, "port", why), Status::ok);
  engine.query_answer = -1;
  EXPECT_FALSE(spawner.has_ended(why));
  engine.query_answer = pmix::kSuccess;
  EXPECT_FALSE(spawner.has_ended(why));
}

TEST(PmixSpawn, an_engine_that_cannot_spawn_is_told_from_a_program_that_fails) {
  const pmix::Library library = fake_library();
  PmixSpawn spawner(library);
  const SpawnApp apps[] = {app_of("/bin/sh")};
  std::string why;
  engine.spawn_answer = pmix::kErrNotSupported;
  EXPECT_EQ(spawner.spawn(apps, "port", why), Status::unsupported);
  EXPECT_NE(why.find("Herald's mpiexec"), std::string::npos);
  engine.spawn_answer = -181;
  EXPECT_EQ(spawner.spawn(apps, "port", why), Status::not_found);
  EXPECT_EQ(spawner.has_ended(why), false);
}

}  // namespace
}  // namespace herald::boot
