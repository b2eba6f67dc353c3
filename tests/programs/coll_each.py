#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""coll_each.py MPIEXEC PROGRAM KNOBS_DEF RANKS: runs the program with every algorithm of every collective forced once,
as many of them at a time as there are collectives. Passes if every run prints "passed" and every warning says that
an algorithm does not fit this number of ranks."""
import os
import re
import subprocess
import sys

mpiexec, program, knobs, ranks = sys.argv[1:]
with open(knobs, encoding="utf-8") as file:
    rows = re.findall(r'"(\w+)=auto\|([^";]+);?"', file.read())
if len(rows) != 17:
    sys.exit(f"{len(rows)} rows of algorithms in {knobs}, not 17")
choices = {name: names.split("|") for name, names in rows}
runs = max(len(names) for names in choices.values())
failed = 0
for turn in range(runs + 1):  # the last one: as the library chooses
    env = {k: v for k, v in os.environ.items() if k != "HERALD_COLL"}
    if turn < runs:
        env["HERALD_COLL"] = ",".join(f"{name}={names[turn % len(names)]}" for name, names in choices.items())
    done = subprocess.run([mpiexec, "-n", ranks, program], env=env, capture_output=True, text=True, timeout=100,
                          check=False)
    other = [line for line in done.stderr.splitlines() if " does not fit a call on " not in line]
    if done.returncode != 0 or "passed" not in done.stdout or other:
        failed += 1
        print(f"turn {turn}, exit code {done.returncode}: {env.get('HERALD_COLL')}\n{done.stdout}{done.stderr}")
print("failed" if failed else "passed", f"{runs + 1} runs on {ranks} ranks")
sys.exit(failed != 0)
