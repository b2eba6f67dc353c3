# SPDX-License-Identifier: BSD-3-Clause
"""The jobs of a launcher, and the check of their results."""
import concurrent.futures
import json
import os
import re

from session import run_job


class Case:
    """One job. `expect` is a text that must be in the output, `times` times if that is not 0,
    `message` a pattern that must match. `fails`: the job must end with
    a code other than 0 before the limit. In all cases no process may remain."""

    def __init__(self, name, ranks, program, expect="", times=0, fails=False, limit_s=180.0, kills=False,
                 env=None, message="", aborts_in_fence=False):
        self.name, self.ranks, self.program = name, ranks, program
        self.expect, self.times, self.fails = expect, times, fails
        self.limit_s, self.kills, self.env, self.message = limit_s, kills, env or {}, message
        self.aborts_in_fence = aborts_in_fence

    def verdict(self, result):
        """The failures; empty if there is none."""
        wrong = []
        if result.timed_out:
            wrong.append(f"still running after {self.limit_s:g} s")
        elif self.fails and result.code == 0:
            wrong.append("exit code 0, though a rank failed")
        elif not self.fails and result.code != 0:
            wrong.append(f"exit code {result.code}")
        said = result.output.count(self.expect) if self.expect else 0
        if self.times and said != self.times:
            wrong.append(f"said {self.expect!r} {said} times, not {self.times}")
        elif self.expect and not said:
            wrong.append(f"did not say {self.expect!r}")
        if self.message and not re.search(self.message, result.output):
            wrong.append(f"no line matches {self.message!r}")
        if "survived" in result.output and self.fails:
            wrong.append("a rank outlived its job")
        if result.leftovers:
            wrong.append("left running: " + "; ".join(result.leftovers))
        return wrong


def probe_cases(probe, sizes=(1, 2, 4, 7, 16), repeats=20):
    """Jobs of boot_probe, which uses the room boot only."""
    for ranks in sizes:
        for size in (0, 100, 5000):
            yield Case(f"exchange of {size} bytes", ranks, [probe, "exchange", str(size)], "exchange ok", ranks)
    yield Case("a large value", 4, [probe, "exchange", "200000"], "exchange ok", 4)
    for ranks in (1, 4):
        yield Case("unknown key", ranks, [probe, "missing"], "missing ok", ranks)
    for ranks in sizes:
        for number in range(repeats):
            yield Case(f"again, {number + 1} of {repeats}", ranks, [probe, "exchange"], "exchange ok", ranks)
    for how, code in (("abort", ["7"]), ("fence-abort", ["7"]), ("kill", []), ("fence-kill", []), ("exit", ["0"]),
                      ("exit", ["5"])):
        for ranks, victim in ((2, 0), (4, 3), (7, 1)):
            yield Case(f"rank {victim}: {how} {' '.join(code)}", ranks, [probe, how, str(victim), *code], fails=True,
                       limit_s=40.0, kills="kill" in how, aborts_in_fence=how == "fence-abort")


def suite_cases(path):
    """Programs from a file that herald_launcher_tests() wrote: a JSON list of
    {program, args, ranks, env, expect, message, fails, limit}."""
    with open(path, encoding="utf-8") as file:
        for entry in json.load(file):
            for ranks in entry["ranks"]:
                name = " ".join([os.path.basename(entry["program"]), *entry["args"]])
                yield Case(name, ranks, [entry["program"], *entry["args"]], entry["expect"], fails=entry["fails"],
                           limit_s=float(entry["limit"]), env=dict(one.split("=", 1) for one in entry["env"]),
                           message=entry["message"])


def run_cases(launcher, directory, cases, at_once=3, stop_after=10):
    """Runs all jobs, some at once, since starting and ending mostly waits. Prints the failures and a summary; returns 0
    or 1."""
    def run(case):
        command = launcher.command(case.ranks, case.program, ends_job_on_kill=case.kills)
        for _ in range(launcher.tries_of_abort_in_fence if case.aborts_in_fence else 1):
            result = run_job(command, dict(launcher.environment, **case.env), directory, case.limit_s)
            if not result.timed_out:
                break
        return command, result

    count = failures = 0
    slowest = (0.0, "")
    pool = concurrent.futures.ThreadPoolExecutor(at_once)
    try:
        for case, job in [(case, pool.submit(run, case)) for case in cases]:
            command, result = job.result()
            count += 1
            slowest = max(slowest, (result.seconds, f"{case.name} on {case.ranks} ranks"))
            if wrong := case.verdict(result):
                failures += 1
                print(f"FAILED {case.name} on {case.ranks} ranks after {result.seconds:.2f} s: {', '.join(wrong)}")
                print(f"  command: {' '.join(command)}")
                print("  output:\n" + "".join(f"    {line}\n" for line in result.output.splitlines()[-40:]), flush=True)
                if failures == stop_after:
                    print(f"stopping after {stop_after} failures")
                    break
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    if failures:
        print(launcher.explain())
    print(f"{count - failures} of {count} jobs passed; slowest {slowest[0]:.2f} s: {slowest[1]}", flush=True)
    return 1 if failures or count == 0 else 0
