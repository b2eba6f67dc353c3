// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an option is lost or misspelt for another launcher, the job's key appears on a command
// line, a launcher gets a host file whose format it does not read.
#include <gtest/gtest.h>

#include "launch/handover.hpp"
#include "launch/text.hpp"

namespace herald::launch {
namespace {

const Environment kEnv{"HERALD_JOB_ID=1", "HERALD_JOB_KEY=secret", "LD_LIBRARY_PATH=/lib", "V=7"};

Handover hand(Launcher launcher, const std::string& line, const std::string& hosts = "a:2,b:2",
              std::int64_t timeout_s = 0) {
  const JobSpec spec = parse_command_line(split(line, " "), {});
  HandoverInput input;
  input.launcher = launcher;
  input.path = "E";
  input.srun_mpi = "pmix";
  if (!hosts.empty()) input.hosts = parse_host_list(hosts);
  input.timeout_s = timeout_s;
  input.env = kEnv;
  return translate(spec, input);
}

std::string text(const Handover& plan) { return join(plan.argv, " "); }

TEST(Handover, hydra) {
  const Handover plan =
      hand(Launcher::hydra, "-l -ppn 2 -genv G 1 -launcher ssh -n 3 -wdir /w -x V -env A 1 p x : -n 1 q",
           "a:2,b:2", 9);
  EXPECT_EQ(text(plan),
            "E -hosts a:2,b:2 -ppn 2 -prepend-rank -launcher ssh -genv G 1 -n 3 -wdir /w -env V 7 -env A 1 p "
            "x : -n 1 q");
  ASSERT_EQ(plan.set.size(), 1U);
  EXPECT_EQ(plan.set[0].first, "MPIEXEC_TIMEOUT");
  EXPECT_EQ(plan.set[0].second, "9");
}

TEST(Handover, hydra_without_environment_gets_the_key_by_name) {
  EXPECT_EQ(text(hand(Launcher::hydra, "-genvnone -n 1 p", "a")),
            "E -hosts a -genvlist HERALD_JOB_ID,HERALD_JOB_KEY -n 1 p");
  EXPECT_EQ(text(hand(Launcher::hydra, "-n 1 -envlist V p", "a")),
            "E -hosts a -n 1 -envlist V,HERALD_JOB_ID,HERALD_JOB_KEY p");
}

TEST(Handover, openmpi) {
  EXPECT_EQ(
      text(hand(Launcher::openmpi, "-l --mca k v --allow-run-as-root -ppn 2 -wdir /w -x A=1 -n 3 p : -n 1 q",
                "a:2,b:2", 9)),
      "E --allow-run-as-root --host a:2,b:2 --oversubscribe --map-by ppr:2:node --tag-output --mca k v "
      "--bind-to "
      "none --timeout 9 -n 3 --wdir /w -x HERALD_JOB_ID -x HERALD_JOB_KEY -x LD_LIBRARY_PATH -x A=1 p : -n 1 "
      "-x "
      "HERALD_JOB_ID -x HERALD_JOB_KEY -x LD_LIBRARY_PATH q");
}

TEST(Handover, prterun) {
  EXPECT_EQ(text(hand(Launcher::prterun, "-l -genvnone --stdin all --bind-to core p", "a:2,b:2")),
            "E --host a:2,b:2 --map-by :OVERSUBSCRIBE --output tag --bind-to core --stdin all -n 4 -x "
            "HERALD_JOB_ID -x "
            "HERALD_JOB_KEY p");
}

TEST(Handover, srun_with_one_program) {
  const Handover plan =
      hand(Launcher::srun, "-l -ppn 2 -wdir /w -x A=1 --stdin none --bind-to core p x", "a,b", 3700);
  EXPECT_EQ(text(plan),
            "E --mpi=pmix --nodes=2 --nodelist=a,b --ntasks-per-node=2 --label --cpu-bind=cores --input=none "
            "--time=01:01:40 --kill-on-bad-exit=1 --overcommit --ntasks=4 --chdir=/w --export=ALL p x");
  ASSERT_EQ(plan.set.size(), 1U);
  EXPECT_EQ(plan.set[0].first, "A");
}

TEST(Handover, srun_in_an_allocation_gets_no_hosts) {
  EXPECT_EQ(text(hand(Launcher::srun, "p", "")),
            "E --mpi=pmix --kill-on-bad-exit=1 --overcommit --export=ALL p");
}

TEST(Handover, srun_with_several_programs) {
  const Handover plan = hand(Launcher::srun, "-n 2 -wdir /w -env A 1 p x : q", "a,b");
  EXPECT_EQ(plan.multi_prog, "0-1 env -C /w A=1 p x\n2 q\n");
  EXPECT_NE(text(plan).find(cat("--ntasks=3 --export=ALL --multi-prog ", kMultiProg)), std::string::npos);
  EXPECT_THROW(hand(Launcher::srun, "p it's : q", "a"), UsageError);
}

TEST(Handover, mapping_of_openmpi_and_prterun) {
  const auto says = [](Launcher launcher, const std::string& line, const char* words) {
    const std::string all = text(hand(launcher, line + " p"));
    return all.find(words) != std::string::npos ? "" : all;
  };
  EXPECT_EQ(says(Launcher::openmpi, "--bynode --rank-by slot --bind-to core",
                 "--oversubscribe --map-by node --rank-by slot --bind-to core"),
            "");
  EXPECT_EQ(says(Launcher::openmpi, "--nooversubscribe --cpus-per-rank 2",
                 "--nooversubscribe --map-by slot:PE=2 --bind-to core"),
            "");
  EXPECT_EQ(says(Launcher::openmpi, "--ppn 2 --map-by node", "--map-by ppr:2:node --rank-by node"), "");
  EXPECT_EQ(says(Launcher::prterun, "--map-by socket:PE=2:SPAN:NOOVERSUBSCRIBE --use-hwthread-cpus",
                 "--map-by socket:PE=2:SPAN:HWTCPUS:NOOVERSUBSCRIBE --bind-to hwthread"),
            "");
  EXPECT_THROW(hand(Launcher::openmpi, "--ppn 2 --map-by socket p"), UsageError);
}

TEST(Handover, mapping_of_hydra_and_srun) {
  EXPECT_EQ(text(hand(Launcher::hydra, "--bynode -n 2 p")), "E -hosts a:2,b:2 -ppn 1 -n 2 p");
  EXPECT_EQ(text(hand(Launcher::hydra, "--map-by socket:PE=2 -n 2 p")),
            "E -hosts a:2,b:2 -map-by socket -bind-to core:2 -n 2 p");
  EXPECT_NE(text(hand(Launcher::srun, "--bynode --rank-by node -n 2 p")).find(" --distribution=cyclic "),
            std::string::npos);
  EXPECT_NE(
      text(hand(Launcher::srun, "--cpus-per-rank 2 -n 2 p")).find(" --cpus-per-task=2 --cpu-bind=cores "),
      std::string::npos);
  EXPECT_EQ(text(hand(Launcher::srun, "--nooversubscribe -n 2 p")).find("--overcommit"), std::string::npos);
  EXPECT_THROW(hand(Launcher::hydra, "--nooversubscribe -n 5 p"), UsageError);
  EXPECT_THROW(hand(Launcher::srun, "--bind-to l3cache p"), UsageError);
  for (const Launcher launcher : {Launcher::hydra, Launcher::srun})
    for (const char* line :
         {"--rank-by node p", "--bynode --rank-by slot p", "--map-by ppr:2:socket p", "--ppn 2 --bynode p"})
      EXPECT_THROW(hand(launcher, line), UsageError) << line;
}

TEST(Handover, the_key_is_never_on_a_command_line) {
  for (Launcher launcher : {Launcher::srun, Launcher::prterun, Launcher::openmpi, Launcher::hydra})
    for (const char* line : {"-n 2 p", "-genvnone -n 2 p", "-genvlist V -n 2 p", "-n 1 p : -n 1 q"})
      EXPECT_EQ(text(hand(launcher, line)).find("secret"), std::string::npos) << line;
}

TEST(Handover, count_from_slots_or_processes_per_host) {
  EXPECT_NE(text(hand(Launcher::hydra, "p", "a:3,b")).find("-n 4 p"), std::string::npos);
  EXPECT_NE(text(hand(Launcher::hydra, "-ppn 5 p", "a:3,b")).find("-n 10 p"), std::string::npos);
}

TEST(Handover, host_file_is_passed_only_to_a_launcher_that_reads_its_format) {
  const JobSpec spec = parse_command_line({"-n", "2", "p"}, {});
  HandoverInput input;
  input.path = "E";
  input.env = kEnv;
  const auto line = [&](Launcher launcher, const char* file) {
    input.launcher = launcher;
    input.hosts = parse_host_file(file, "hf");
    return text(translate(spec, input));
  };
  EXPECT_NE(line(Launcher::hydra, "a:2\nb:2\n").find("-f hf"), std::string::npos);
  EXPECT_NE(line(Launcher::hydra, "a slots=2\nb\n").find("-hosts a:2,b"), std::string::npos);
  EXPECT_NE(line(Launcher::openmpi, "a slots=2\nb\n").find("--hostfile hf"), std::string::npos);
  EXPECT_NE(line(Launcher::openmpi, "a:2\nb\n").find("--host a:2,b"), std::string::npos);
}

}  // namespace
}  // namespace herald::launch
