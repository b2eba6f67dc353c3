// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the wrong process manager is chosen; several processes become singletons without
// notice; a hostile environment causes a hang, a crash or a message without remedy.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/boot.hpp"
#include "boot/environment.hpp"
#include "fake_launcher.hpp"

namespace herald::boot {
namespace {

using test::Environment;
using test::FakeLauncher;
using Entries = std::vector<std::string>;

std::string refusal(Entries entries) {
  std::string why;
  auto boot = open(Environment{std::move(entries)}.get(), why);
  EXPECT_EQ(boot, nullptr);
  EXPECT_FALSE(why.empty());
  return why;
}

std::string way(Entries entries) {
  std::string why;
  auto boot = open(Environment{std::move(entries)}.get(), why);
  return boot ? boot->name() : "refused: " + why;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Open, an_empty_environment_means_a_singleton) {
  EXPECT_EQ(way({}), "alone");
  EXPECT_EQ(way({"PATH=/bin", "PMI_RANK=3", "PMI_SIZE=4"}), "alone");
  std::string why;
  EXPECT_NE(open(nullptr, why), nullptr);
}

TEST(Open, one_process_of_a_launcher_without_pmi_is_a_singleton) {
  EXPECT_EQ(way({"SLURM_NTASKS=1"}), "alone");
  EXPECT_EQ(way({"OMPI_COMM_WORLD_SIZE=1"}), "alone");
  EXPECT_EQ(way({"SLURM_NTASKS=8", "SLURM_STEP_NUM_TASKS=1"}), "alone");  // one task of a larger job
  EXPECT_EQ(way({"SLURM_NTASKS=8", "ENVIRONMENT=BATCH"}), "alone");       // the script of a batch job
  EXPECT_EQ(way({"SLURM_NTASKS=garbage"}), "alone");
}

TEST(Open, several_processes_without_pmi_are_refused_with_the_remedy) {
  std::string why = refusal({"SLURM_NTASKS=4"});
  EXPECT_HAS(why, "SLURM_NTASKS=4");
  EXPECT_HAS(why, "srun --mpi=pmix");
  why = refusal({"SLURM_NTASKS=1", "SLURM_STEP_NUM_TASKS=3", "ENVIRONMENT=BATCH"});
  EXPECT_HAS(why, "SLURM_STEP_NUM_TASKS=3");
  why = refusal({"OMPI_COMM_WORLD_SIZE=2"});
  EXPECT_HAS(why, "OMPI_COMM_WORLD_SIZE=2");
  EXPECT_HAS(why, "mpiexec");
}

TEST(Open, pmi_has_priority) {
  FakeLauncher launcher;
  EXPECT_EQ(way({"PMIX_NAMESPACE=x", "SLURM_NTASKS=2", "PMI_PORT=nonsense",
                 "PMI_FD=" + std::to_string(launcher.client_fd()), "PMI_RANK=0", "PMI_SIZE=2"}),
            "pmi1");
}

TEST(Open, a_descriptor_that_is_no_socket_is_refused) {
  EXPECT_HAS(refusal({"PMI_FD=987654", "PMI_RANK=0", "PMI_SIZE=1"}), "PMI_FD=987654 is not an open socket");
  int file = ::open("/dev/null", O_RDWR);
  std::string why = refusal({"PMI_FD=" + std::to_string(file), "PMI_RANK=0", "PMI_SIZE=1"});
  EXPECT_HAS(why, "is not an open socket");
  EXPECT_HAS(why, "unset PMI_FD");
  ::close(file);
  for (const char* bad : {"PMI_FD=", "PMI_FD=-1", "PMI_FD=x", "PMI_FD=7x", "PMI_FD=99999999999999999999"})
    EXPECT_HAS(refusal({bad, "PMI_RANK=0", "PMI_SIZE=1"}), "PMI_FD=");
}

TEST(Open, a_stale_descriptor_does_not_hide_the_next_choice) {
  EXPECT_HAS(refusal({"PMI_FD=987654", "PMI_PORT=nonsense", "PMI_ID=0"}), "PMI_PORT");
}

TEST(Open, wrong_ranks_and_sizes_are_refused_by_name) {
  FakeLauncher launcher;
  const std::string fd = "PMI_FD=" + std::to_string(launcher.client_fd());
  EXPECT_HAS(refusal({fd}), "PMI_RANK and PMI_SIZE");
  EXPECT_HAS(refusal({fd, "PMI_RANK=0"}), "PMI_SIZE");
  EXPECT_HAS(refusal({fd, "PMI_RANK=zero", "PMI_SIZE=2"}), "PMI_RANK=\"zero\"");
  EXPECT_HAS(refusal({fd, "PMI_RANK=2", "PMI_SIZE=2"}), "PMI_RANK=\"2\"");
  EXPECT_HAS(refusal({fd, "PMI_RANK=-1", "PMI_SIZE=2"}), "PMI_RANK");
  EXPECT_HAS(refusal({fd, "PMI_RANK=0", "PMI_SIZE=0"}), "PMI_SIZE");
  EXPECT_HAS(refusal({fd, "PMI_RANK=0", "PMI_SIZE=4294967297"}), "PMI_SIZE");
  EXPECT_HAS(refusal({fd, "PMI_RANK=0 ", "PMI_SIZE=2"}), "PMI_RANK");
  EXPECT_TRUE(launcher.heard().empty());
}

TEST(Open, a_socket_that_is_not_connected_is_refused) {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_HAS(refusal({"PMI_FD=" + std::to_string(fd), "PMI_RANK=0", "PMI_SIZE=1"}), "PMI connection");
  ::close(fd);
}

TEST(Open, wrong_ports_are_refused_by_name) {
  EXPECT_HAS(refusal({"PMI_PORT=127.0.0.1:1"}), "PMI_ID");
  EXPECT_HAS(refusal({"PMI_PORT=127.0.0.1:1", "PMI_ID=me"}), "PMI_ID=\"me\"");
  for (const char* bad :
       {"PMI_PORT=", "PMI_PORT=host", "PMI_PORT=:5", "PMI_PORT=host:", "PMI_PORT=host:99999"})
    EXPECT_HAS(refusal({bad, "PMI_ID=0"}), "host:port");
  // Port 1 of this machine: no process listens there.
  EXPECT_HAS(refusal({"PMI_PORT=127.0.0.1:1", "PMI_ID=0"}), "connecting to the launcher");
}

// libpmix reads the real environment of the process and keeps state: tried in a child process.
TEST(OpenDeathTest, a_namespace_without_server_is_refused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ::setenv("PMIX_NAMESPACE", "nobody", 1);
        ::setenv("PMIX_RANK", "0", 1);
        std::string why;
        auto boot = open(environ, why);
        std::fprintf(stderr, "%s\n", why.c_str());
        ::_exit(boot == nullptr ? 5 : 6);
      },
      testing::ExitedWithCode(5), "PMIX_NAMESPACE is set, but");
}

TEST(Environment, names_are_matched_whole_and_numbers_strictly) {
  Environment environment{{"PMI_RANKX=1", "PMI_RANK=12", "EMPTY=", "NOVALUE"}};
  EXPECT_STREQ(find_variable(environment.get(), "PMI_RANK"), "12");
  EXPECT_STREQ(find_variable(environment.get(), "EMPTY"), "");
  EXPECT_EQ(find_variable(environment.get(), "NOVALUE"), nullptr);
  EXPECT_EQ(find_variable(environment.get(), "PMI_RAN"), nullptr);
  EXPECT_EQ(parse_int("12", 0, 12), 12);
  for (const char* bad : {"", " 1", "1 ", "+1", "0x1", "1e3", "13", "-1", "99999999999"})
    EXPECT_EQ(parse_int(bad, 0, 12), std::nullopt) << bad;
}

TEST(Environment, untrusted_text_is_escaped) {
  EXPECT_EQ(in_quotes("a\nb\x1b[31m"), "\"a?b?[31m\"");
  EXPECT_LT(in_quotes(std::string(5000, 'x')).size(), 100u);
}

}  // namespace
}  // namespace herald::boot
