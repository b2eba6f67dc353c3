#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_expect.py MPIEXEC FINALIZE_CRASH: what could go wrong: a job that prints "passed" and then dies passes."""
import os
import subprocess
import sys
import unittest

MPIEXEC, FINALIZE_CRASH = sys.argv[1:3]
EXPECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'expect.py')


def expect(*options, command):
    return subprocess.run([sys.executable, '-B', EXPECT, *options, '--', *command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)


def shell(*options, script):
    return expect(*options, command=['sh', '-c', script]).returncode


class Finalize(unittest.TestCase):
    def job(self, *case):
        return expect('--output', 'passed', '--never', 'failed', command=[MPIEXEC, '-n', '2', FINALIZE_CRASH, *case])

    def test_a_job_that_prints_passed_and_dies_fails(self):
        for case in ('in', 'after', 'code'):
            done = self.job(case)
            self.assertIn('passed', done.stdout)
            self.assertEqual(done.returncode, 1, done.stdout)

    def test_the_same_job_that_does_not_die_passes(self):
        done = self.job()
        self.assertEqual(done.returncode, 0, done.stdout)


class Expect(unittest.TestCase):
    def test_exit_code_and_output_both_decide(self):
        self.assertEqual(shell('--output', 'passed', script='echo passed'), 0)
        self.assertEqual(shell('--output', 'passed', script='echo passed; exit 3'), 1)
        self.assertEqual(shell('--output', 'passed', script='echo passed; kill -9 $$'), 1)
        self.assertEqual(shell('--output', 'passed', script='true'), 1)
        self.assertEqual(shell('--output', 'passed', '--output', 'again', script='echo passed'), 1)

    def test_forbidden_output_on_either_stream_fails(self):
        self.assertEqual(shell('--never', 'warn', script='echo warning'), 1)
        self.assertEqual(shell('--never', 'fail', '--never', 'warn', script='echo warning >&2'), 1)
        self.assertEqual(shell('--never', 'warn', script='echo fine'), 0)

    def test_a_command_that_must_fail(self):
        self.assertEqual(shell('--fails', '--output', 'why', script='echo why; exit 2'), 0)
        self.assertEqual(shell('--fails', '--output', 'why', script='echo why'), 1)
        self.assertEqual(shell('--fails', '--output', 'why', script='exit 2'), 1)

    def test_a_command_that_is_stopped_has_not_failed_by_itself(self):
        self.assertEqual(shell('--fails', '--timeout', '0.2', script='exec sleep 30'), 1)

    def test_a_skipped_command_is_neither(self):
        self.assertEqual(shell(script='exit 77'), 77)
        self.assertEqual(shell('--fails', script='exit 77'), 77)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
