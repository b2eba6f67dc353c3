#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a job that waits for memory at a receiver for ever, and nothing says so. The user has set a bound,
so that it does not grow: after HERALD_WARN_MS a line names the receiver and the setting."""
import os
import subprocess
import sys

MPIEXEC, PROGRAM = sys.argv[1:3]
for hosts in ('1', '2'):
    words = [MPIEXEC, '-n', '2', *(['--pretend-hosts', hosts] if hosts != '1' else []), PROGRAM, '40000']
    env = {**os.environ, 'HERALD_UNEXPECTED_BYTES': '200000', 'HERALD_WARN_MS': '500'}
    job = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    line = next((text for text in job.stderr if 'HERALD_UNEXPECTED_BYTES' in text), '')
    job.terminate()
    job.wait(60)
    job.stderr.close()
    assert 'rank 0: a message to rank 1' in line, f'{hosts} hosts: {line!r}'
print('passed')
