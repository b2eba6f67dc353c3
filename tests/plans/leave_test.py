#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""leave_test.py BUILD VERSION SOURCE: loops with hints that an exception or longjmp leaves (leave.cpp): memory stays
bounded, results stay right."""
import os
import subprocess
import sys
import tempfile


def main():
    build, version, source = sys.argv[1:4]
    if not os.path.exists(f'{build}/lib/herald/herald-plans-{version}.so'):
        print(f'skipped: herald-plans was not built for LLVM {version}')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for mode in ('prepare', 'convert'):
            made = subprocess.run([f'{build}/bin/mpicxx', f'-cxx=clang++-{version}', f'--plans={mode}', '-O2', '-g',
                                   '-Rpass=herald-plans', '-o', f'{folder}/leave', source],
                                  capture_output=True, text=True, check=False, timeout=300)
            if made.returncode != 0 or 'plan prepared before the loop' not in made.stderr:
                raise SystemExit(f'failed: the compiler ({mode}): {made.stderr[-2000:]}')
            done = subprocess.run([f'{build}/bin/mpiexec', '-n', '2', f'{folder}/leave'], capture_output=True,
                                  text=True, check=False, timeout=300)
            if done.returncode != 0:
                raise SystemExit(f'failed: {mode}: exit code {done.returncode}: {done.stdout}{done.stderr}')
            print(f'{mode}: bounded')
    return 0


if __name__ == '__main__':
    sys.exit(main())
