#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rank_killed.py MPIEXEC PROGRAM CASE...: what could go wrong when a rank is killed and errors are returned: a call of
another rank hangs or gives another error; PROGRAM CASE prints "named" at a rank that got the right one. A shell around
each rank outlives all ranks, so that mpiexec does not end the job first. Ranks on other hosts are given up after
DETECT_MS."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

MPIEXEC, PROGRAM, *CASES = sys.argv[1:]
LIMIT = 150  # generous: only a hang exceeds it
SURVIVORS = 2
DETECT_MS = '4000'
SHELL = '"$0" "$1"; : > $SURVIVORS_DIR/ended.$$; until [ $(ls $SURVIVORS_DIR | grep -c ended) = 3 ]; do sleep 0.1; done'
AT_ONCE = 8  # the jobs mostly sleep


def case(what, hosts):
    command = [MPIEXEC, '-n', '3', '--pretend-hosts', hosts, 'sh', '-c', SHELL, PROGRAM, what]
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, HERALD_DETECT_MS=DETECT_MS, SURVIVORS_DIR=folder)
        try:
            job = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=env,
                                 stdin=subprocess.DEVNULL)
            text, named = job.stdout + job.stderr, job.stdout.split('\n').count('named')
        except subprocess.TimeoutExpired as error:
            text, named = f'no end after {LIMIT} s: {error.stdout}', 0
    return named == SURVIVORS, (f'{what}, {hosts} ranks a host: {named} ranks got the right error' +
                                ('' if named == SURVIVORS else f': {text}'))


with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
    results = list(pool.map(lambda each: case(*each), [(what, hosts) for hosts in ('3', '1') for what in CASES]))
print('\n'.join(line for _, line in results))
sys.exit(sum(not good for good, _ in results))
