// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a spelling of Hydra or Open MPI is rejected, an option consumes the program's name,
// mpiexec takes an option of the program, an error does not name the option, help and parser differ.
#include <gtest/gtest.h>

#include "launch/environment.hpp"
#include "launch/options.hpp"
#include "launch/spec.hpp"
#include "launch/text.hpp"

namespace herald::launch {
namespace {

using Words = std::vector<std::string>;

JobSpec parse(const std::string& line, const std::string& config = {}) {
  return parse_command_line(split(line, " "), [&](const std::string&) { return config; });
}

std::string error_of(const std::string& line) {
  try {
    parse(line);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Parse, counts_in_both_spellings) {
  for (const char* name : {"-n", "-np", "--n", "--np", "-c"})
    EXPECT_EQ(parse(cat(name, " 7 prog")).apps.at(0).count, 7) << name;
  EXPECT_EQ(parse("--np=7 prog").apps.at(0).count, 7);
  EXPECT_EQ(parse("prog").apps.at(0).count, 0);
}

TEST(Parse, options_after_the_program_belong_to_the_program) {
  const JobSpec spec = parse("-n 2 prog -n 3 --help -l");
  EXPECT_EQ(spec.apps.at(0).argv, (Words{"prog", "-n", "3", "--help", "-l"}));
  EXPECT_FALSE(spec.label);
  EXPECT_EQ(parse("-n 2 -- -odd x").apps.at(0).argv, (Words{"-odd", "x"}));
}

TEST(Parse, sections_have_their_own_count_directory_and_environment) {
  const JobSpec spec = parse("-genv G 1 -n 1 -wdir /a -env A 1 p a : --np 3 --wdir /b -x B=2 -x C q b");
  ASSERT_EQ(spec.apps.size(), 2U);
  EXPECT_EQ(spec.total(1), 4);
  EXPECT_EQ(spec.apps[0].wdir, "/a");
  EXPECT_EQ(spec.apps[1].wdir, "/b");
  EXPECT_EQ(spec.apps[1].argv, (Words{"q", "b"}));
  EXPECT_EQ(spec.env.edits.at(0).name, "G");
  EXPECT_EQ(spec.apps[0].env.edits.at(0).value, "1");
  EXPECT_EQ(spec.apps[1].env.edits.at(0).value, "2");
  EXPECT_EQ(spec.apps[1].env.edits.at(1).value, std::nullopt);
}

TEST(Parse, job_options_in_both_spellings) {
  for (const char* name : {"-l", "--tag-output", "-tag-output", "-prepend-rank"})
    EXPECT_TRUE(parse(cat(name, " p")).label) << name;
  for (const char* name : {"-host", "--host", "-hosts", "-H"})
    EXPECT_EQ(parse(cat(name, " a,b p")).hosts, "a,b");
  for (const char* name : {"--hostfile", "-f", "-hostfile", "-machinefile", "--machinefile"})
    EXPECT_EQ(parse(cat(name, " hf p")).hostfile, "hf");
  for (const char* name : {"-ppn 3", "-perhost 3", "-N 3", "--map-by ppr:3:node", "--map-by ppr:3:node:PE=1"})
    EXPECT_EQ(parse(cat(name, " p")).mapping.ppn, 3) << name;
  EXPECT_EQ(parse("--map-by socket p").mapping.map_by(), "socket");
  EXPECT_EQ(parse("--timeout 5 p").timeout_s, 5);
  EXPECT_EQ(parse("-bind-to core p").mapping.bind_to, "core");
  EXPECT_EQ(parse("-s all p").stdin_to, StdinTo::all);
  EXPECT_EQ(parse("--stdin none p").stdin_to, StdinTo::none);
  EXPECT_EQ(parse("-n 3 --stdin 2 p").stdin_rank, 2);
  EXPECT_EQ(parse("-h").action, Action::help);
  EXPECT_EQ(parse("--version").action, Action::version);
}

TEST(Parse, mapping_in_all_spellings) {
  const auto map_by = [](const std::string& line) { return parse(line + " p").mapping.map_by(); };
  EXPECT_EQ(map_by("--bynode"), "node");
  EXPECT_EQ(map_by("-byslot"), "slot");
  EXPECT_EQ(map_by("--bysocket --cpus-per-rank 2"), "socket:PE=2");
  EXPECT_EQ(map_by("--cpus-per-proc 2 --map-by numa"), "numa:PE=2");
  EXPECT_EQ(map_by("--map-by L3cache:pe=3"), "l3cache:PE=3");
  EXPECT_EQ(map_by("--map-by ppr:3:node:PE=2"), "slot:PE=2");
  EXPECT_EQ(map_by("--map-by ppr:3:socket:PE=2"), "ppr:3:socket:PE=2");
  EXPECT_EQ(map_by("--use-hwthread-cpus"), "slot:HWTCPUS");
  EXPECT_EQ(map_by("--map-by :OVERSUBSCRIBE"), "");
  EXPECT_TRUE(parse("--map-by slot:NOOVERSUBSCRIBE p").mapping.no_oversubscribe);
  EXPECT_FALSE(parse("--nooversubscribe --map-by :OVERSUBSCRIBE p").mapping.no_oversubscribe);
  EXPECT_FALSE(parse("--nooversubscribe --oversubscribe p").mapping.no_oversubscribe);
  EXPECT_EQ(parse("--bind-to-none p").mapping.bind_to, "none");
  EXPECT_TRUE(parse("--nolocal p").mapping.no_local);
  EXPECT_EQ(parse("--rank-by Socket p").mapping.rank_by, "socket");
  EXPECT_TRUE(parse("--display allocation,map p").output.display_allocation);
}

TEST(Parse, mapping_that_would_not_happen_is_refused) {
  for (const char* line : {"--rank-by board", "--rank-by socket:span", "--membind interleave:0", "--rmk pbs",
                           "--order-nodes UP", "--gpus-per-proc 1", "--pretend-hosts /2 --map-by node"})
    EXPECT_NE(error_of(cat(line, " p")).find(std::string(line).substr(0, 8)), std::string::npos) << line;
  for (const char* line : {"--map-by node", "--rank-by node", "--ppn 2", "--nolocal", "--bind-to socket"})
    EXPECT_THROW(parse(cat("--rankfile f ", line, " p"), "rank 0=a slot=1\n"), UsageError) << line;
  EXPECT_NO_THROW(parse("--rmk pbs --host a p"));
  EXPECT_NO_THROW(parse("--membind firsttouch --rmk slurm p"));
}

TEST(Parse, options_without_effect_are_accepted_with_their_arguments) {
  const JobSpec spec = parse(
      "--oversubscribe --allow-run-as-root --mca btl self -launcher ssh -iface eth0 --use-hwthread-cpus "
      "--report-bindings -rmk slurm -q -n 2 prog");
  EXPECT_EQ(spec.apps.at(0).argv, Words{"prog"});
  EXPECT_EQ(spec.passed_on.openmpi, (Words{"--mca", "btl", "self"}));
  EXPECT_EQ(spec.passed_on.hydra, (Words{"-launcher", "ssh", "-iface", "eth0"}));
  EXPECT_TRUE(spec.passed_on.allow_root);
}

TEST(Parse, errors_name_the_option_and_the_remedy) {
  EXPECT_NE(error_of("--tag-outptu p").find("--tag-output"), std::string::npos);
  EXPECT_NE(error_of("-n4 p").find("-n 4"), std::string::npos);
  EXPECT_NE(error_of("--zzzzzzzz p").find("--zzzzzzzz"), std::string::npos);
  for (const char* count : {"0", "-3", "x", "1000000000", "99999999999999999999", "2.5", ""})
    EXPECT_NE(error_of(cat("-n ", count, " p")).find("-n"), std::string::npos) << count;
  EXPECT_NE(error_of("-n").find("argument missing"), std::string::npos);
  EXPECT_NE(error_of("-prepend-pattern x p").find("--tag-output"), std::string::npos);
  EXPECT_NE(error_of("--timeout soon p").find("--timeout"), std::string::npos);
  EXPECT_NE(error_of("-n 2 --stdin 2 p").find("rank"), std::string::npos);
  EXPECT_NE(error_of("-env =x y p").find("-env"), std::string::npos);
  for (const char* line : {"", "-n 2", "p :", ": p", "p : : q", "p : -n 2"})
    EXPECT_NE(error_of(line).find("program"), std::string::npos) << line;
  EXPECT_NE(error_of("-n 1000000 p : -n 1000000 q").find("2000000"), std::string::npos);
}

TEST(Parse, config_file_gives_sections) {
  const JobSpec spec = parse("-l -configfile f", "# comment\n\n-n 2 a 'x y' \\\n z\n-n 1 b \"\"\n");
  ASSERT_EQ(spec.apps.size(), 2U);
  EXPECT_EQ(spec.apps[0].argv, (Words{"a", "x y", "z"}));
  EXPECT_EQ(spec.apps[1].argv, (Words{"b", ""}));
  EXPECT_TRUE(spec.label);
  EXPECT_THROW(parse("-configfile f", "-n 2 'a"), UsageError);
  EXPECT_THROW(parse("-configfile f", "-configfile f"), UsageError);
  EXPECT_THROW(parse("-configfile f", ""), UsageError);
}

TEST(Parse, output_in_the_words_of_prrte) {
  const JobSpec spec = parse("--output tag,timestamp,merge,file=run:nocopy p");
  EXPECT_TRUE(spec.label && spec.output.timestamps && spec.output.merge_streams);
  EXPECT_EQ(spec.output.out_pattern, "run.%r.out");
  EXPECT_EQ(parse("--output dir=/tmp/x p").output.err_pattern, "/tmp/x/rank.%r/stderr");
  EXPECT_EQ(error_of("--output xml p"), "--output xml: write tag, timestamp, merge, file=NAME or dir=DIR");
  EXPECT_EQ(error_of("--output tag:wide p"),
            "--output wide: write tag, timestamp, merge, file=NAME or dir=DIR");
}

TEST(Parse, rankfile_in_both_spellings) {
  for (const char* words : {"--rankfile f", "-rf f", "--map-by rankfile:file=f"})
    EXPECT_EQ(parse(cat(words, " p"), "rank 0=a slot=1\n").rankfile.places.at(0).slot, "1") << words;
}

TEST(Options, every_name_is_unique_and_in_the_help) {
  const std::string help = help_text();
  std::vector<std::string> seen;
  for (const Option& option : option_table()) {
    for (const std::string& name : split(option.names, "|")) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), name), 0) << name;
      seen.push_back(name);
      EXPECT_NE(help.find(dashed(name)), std::string::npos) << name;
      EXPECT_EQ(find_option(name), &option) << name;
    }
  }
}

TEST(Environment, rules_decide_what_is_passed) {
  const Environment env{
      "A=1", "B=2", "PATH=/bin", "PMI_FD=9", "PMIX_NAMESPACE=x", "broken", "OMPI_COMM_WORLD_SIZE=4"};
  EXPECT_EQ(make_environment(env, effective_rule({}, {})), (Environment{"A=1", "B=2", "PATH=/bin"}));
  const EnvRule none{EnvBase::none, {}, {{"C", "3"}, {"A", std::nullopt}, {"Z", std::nullopt}}};
  EXPECT_EQ(make_environment(env, effective_rule({}, none)), (Environment{"C=3", "A=1"}));
  EXPECT_EQ(make_environment(env, {EnvBase::list, {"B"}, {}}), Environment{"B=2"});
  const EnvRule job{EnvBase::none, {}, {{"A", "job"}}}, app{EnvBase::all, {}, {{"A", "app"}}};
  EXPECT_EQ(make_environment(env, effective_rule(job, app)), (Environment{"A=app", "B=2", "PATH=/bin"}));
}

}  // namespace
}  // namespace herald::launch
