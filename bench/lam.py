#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lam.py -n RANKS PROGRAM ARGUMENTS...: runs a program with LAM/MPI as another launcher would.

LAM needs a daemon, which is started for this job and halted after it, with its files in a temporary folder. It refuses
to run as root, so root runs it as user nobody. Ranks with a processor each use shared memory and spin (usysv), others
block (sysv). Exit code: that of the job.
"""
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    if len(sys.argv) < 4 or sys.argv[1] != '-n':
        sys.exit(__doc__)
    ranks, program, rest = int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    folder = tempfile.mkdtemp(prefix='herald-bench-lam-')
    user = ['env', f'HOME={folder}', f'LAM_MPI_SESSION_PREFIX={folder}', 'SHELL=/bin/sh']
    if os.getuid() == 0:
        user = ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups'] + user
    os.chmod(folder, 0o777)
    copy = shutil.copy(program, folder)  # user nobody may not enter the build folder
    quiet = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    way = 'usysv' if ranks <= len(os.sched_getaffinity(0)) else 'sysv'
    handed_on = [name for name in os.environ if name.startswith('BENCH_')]
    way_on = ['-x', ','.join(handed_on)] if handed_on else []
    code = 1
    try:
        for _ in range(3):  # LAM sometimes fails in MPI_Init
            if subprocess.run(user + ['lamboot', '-b'], timeout=60, check=False, cwd=folder, **quiet).returncode != 0:
                sys.exit('lam.py: lamboot failed')
            done = subprocess.run(user + ['mpirun.lam', '-ssi', 'rpi', way, '-np', str(ranks)] + way_on + [copy] + rest, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, cwd=folder)
            subprocess.run(user + ['lamhalt'], timeout=60, check=False, cwd=folder, **quiet)
            code = done.returncode
            if code == 0:
                break
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


if __name__ == '__main__':
    main()
