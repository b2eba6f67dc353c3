#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""abort_part.py MPIEXEC PROGRAM RANKS [options of mpiexec]: MPI_Abort on a communicator that has the odd ranks.
What could go wrong: the other ranks end too, or hang in MPI_Finalize; the exit code hides the abort; a message is lost, or
printed more than once; something is left in /dev/shm."""
import glob
import os
import subprocess
import sys

MPIEXEC, PROGRAM, RANKS, *OPTIONS = sys.argv[1:]
LIMIT = 200

job = subprocess.run([MPIEXEC, '-n', RANKS, *OPTIONS, PROGRAM], capture_output=True, text=True, timeout=LIMIT,
                     stdin=subprocess.DEVNULL, check=False)
even, odd = (int(RANKS) + 1) // 2, int(RANKS) // 2
expected = ['before the end', *(f'rank {r}: {what}' for r in range(0, int(RANKS), 2) for what in ('right', 'finalized'))]
wrong = []
if job.returncode != 7:
    wrong.append(f'exit code {job.returncode}')
if sorted(job.stdout.splitlines()) != sorted(expected):
    wrong.append(f'expected the lines {expected}')
plural = 's' if odd > 1 else ''
if job.stderr.count(f'MPI_Abort with code 7 on a communicator: aborting its {odd} rank{plural}\n') != 1:
    wrong.append('rank 1 does not say it once')
if not job.stderr.endswith(f'mpiexec: rank 1 called MPI_Abort with code 7 on a communicator of {odd} rank{plural}; '
                           f'the other {even} went on\n'):
    wrong.append('the summary of mpiexec is not the last line')
if glob.glob(f'/dev/shm/herald-{os.geteuid()}-*-aborted'):
    wrong.append('a list is left in /dev/shm')
print('; '.join(wrong) + f':\n{job.stdout}\n{job.stderr}' if wrong else 'passed')
sys.exit(len(wrong))
