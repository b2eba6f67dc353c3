#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: HERALD_COLL is not obeyed; a name that does not exist or does not fit stops the program, is
silently dropped, or is complained of by every rank. coll_forced.py MPIEXEC PROGRAM"""
import os
import re
import subprocess
import sys
import unittest

MPIEXEC, PROGRAM = sys.argv[1:]
del sys.argv[1:]


def run(ranks, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("HERALD_")}
    env.update(settings)
    done = subprocess.run([MPIEXEC, "-n", str(ranks), PROGRAM], env=env, capture_output=True, text=True, timeout=60,
                          check=False)
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    return done, warnings


class Forced(unittest.TestCase):
    def test_is_obeyed(self):
        for name in ("chain", "binary", "scatter_allgather"):
            done, warnings = run(5, HERALD_COLL=f"bcast={name},scan=linear", HERALD_VERBOSE="3")
            self.assertEqual(done.returncode, 0)
            self.assertIn("passed", done.stdout)
            used = set(re.findall(r"bcast of \d+ bytes on 5 ranks by (\w+)", done.stderr))
            self.assertEqual(used, {name})
            self.assertEqual([w for w in warnings if "on 5 ranks" in w], [])

    def test_unknown_name_gives_one_warning_with_the_names(self):
        done, warnings = run(3, HERALD_COLL="scan=linear,bcast=nonsense")
        self.assertEqual(done.returncode, 0)
        self.assertIn("passed", done.stdout)
        self.assertEqual(len(warnings), 1, warnings)
        self.assertRegex(warnings[0], r"HERALD_COLL=scan=linear,bcast=nonsense is ignored.*bcast.*nonsense.*binomial.*chain")

    def test_name_that_does_not_fit_gives_one_warning_with_the_names(self):
        done, warnings = run(5, HERALD_COLL="allgather=doubling")
        self.assertEqual(done.returncode, 0)
        self.assertIn("passed", done.stdout)
        self.assertEqual(len(warnings), 1, warnings)
        self.assertRegex(warnings[0], r"HERALD_COLL: allgather=doubling does not fit a call on \d ranks.*bruck.*ring")


if __name__ == "__main__":
    unittest.main()
