#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""modules_test.py BUILD VERSION: a loop that calls functions of another file which communicate. With LTO the pass runs in
the link step too.

What could go wrong: the call is not seen; it is prepared twice, or with the mode of another file; the program prints
something else; a function that two loops call is gone before the pass looks at it."""
import os
import shutil
import subprocess
import sys
import tempfile

LOOPS = r'''#include <mpi.h>
#include <stdio.h>
void step(MPI_Comm comm, double* data, int count);
void often(MPI_Comm comm, double* data, int count);
int main(int argc, char** argv) {
  static double data[200];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 200; ++i) data[i] = rank * 7 + i;
  for (int i = 0; i < 19 + argc; ++i) step(MPI_COMM_WORLD, data, 100);
  for (int i = 0; i < 19 + argc; ++i) often(MPI_COMM_WORLD, data, 100 + i);
  for (int i = 0; i < 10; ++i) often(MPI_COMM_WORLD, data, 50);
  double sum = 0;
  for (int i = 0; i < 200; ++i) sum += data[i] * i;
  double all[16];
  MPI_Gather(&sum, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) printf("rank %d %.17g\n", i, all[i]);
  MPI_Finalize();
  return 0;
}
'''

STEPS = r'''#include <mpi.h>
void step(MPI_Comm comm, double* data, int count) {
  MPI_Bcast(data, count, MPI_DOUBLE, 0, comm);
  data[3] += 1;
}
void often(MPI_Comm comm, double* data, int count) {
  for (int i = 0; i < count; ++i) data[i] = data[i] * 0.5 + i;
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_DOUBLE, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) data[i] = data[i] * 0.25 - i;
  MPI_Bcast(data, count, MPI_DOUBLE, 0, comm);
  MPI_Barrier(comm);
  data[5] -= 2;
  MPI_Allreduce(MPI_IN_PLACE, data + 4, 40, MPI_DOUBLE, MPI_MAX, comm);
  MPI_Bcast(data + 7, 30, MPI_DOUBLE, 0, comm);
}
'''


DEEP = r'''#include <mpi.h>
void deep(MPI_Comm comm, MPI_Comm* comms, double* data, int n) {
  for (int i = 0; i < n; ++i) MPI_Bcast(data, 100, MPI_DOUBLE, 0, comm);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) MPI_Bcast(data, 100, MPI_DOUBLE, 0, comms[j]);
}
'''


class Failed(Exception):
    """A result is not what it must be."""


def run(command, folder):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    if done.returncode != 0:
        raise Failed(f'{" ".join(command)}: {done.stderr[-3000:]}')
    return done


def remarks_of(build, version, folder, name, modes, lto):
    """Builds a program of two files; the remarks of the link step."""
    compiler = [f'{build}/bin/mpicc', f'-cc=clang-{version}', '-O2', '-g', *lto]
    for file, mode in zip(('loops', 'steps'), modes):
        run([*compiler, *([f'--plans={mode}'] if mode else []), '-c', f'{file}.c'], folder)
    plans = ['--plans'] if any(modes) else []
    done = run([*compiler, *plans, '-Rpass=herald-plans', '-fsave-optimization-record', '-o', name, 'loops.o', 'steps.o'],
               folder)
    return done.stdout + done.stderr


def expect(condition, text):
    if not condition:
        raise Failed(text)


def check_report(build, version, folder):
    """Calls that were missed have the depth of their loop, too, and come first if it is the deepest."""
    os.mkdir(f'{folder}/deep')
    with open(f'{folder}/deep/deep.c', 'w', encoding='utf-8') as file:
        file.write(DEEP)
    run([f'{build}/bin/mpicc', f'-cc=clang-{version}', '-O2', '-g', '--plans', '-fsave-optimization-record', '-c', 'deep.c'],
        f'{folder}/deep')
    report = run([f'{build}/bin/herald', 'plans', 'report', 'deep'], folder).stdout.splitlines()
    expect(report[0] == '1 prepared, 0 converted, 0 made nonblocking, 1 not, in 1 files', f'another sum: {report}')
    expect(report[1].startswith('not') and 'line 5, depth 2' in report[1] and report[2].startswith('prepared'),
           f'another order: {report}')


def check(build, version, folder, lto):
    def outputs(name):
        return [run([f'{build}/bin/mpiexec', '-n', str(ranks), f'./{name}'], folder).stdout for ranks in (1, 3)]

    expect(remarks_of(build, version, folder, 'plain', (None, None), lto) == '', 'remarks without --plans')
    plain = outputs('plain')
    found = remarks_of(build, version, folder, 'prepare', ('prepare', 'prepare'), lto)
    expect('steps.c:3' in found and 'MPI_Bcast: plan prepared before the loop at line 12' in found,
           f'the function of the other file was not seen: {found}')
    expect('prepared before the loop at line 13' in found and 'prepared before the loop at line 14' in found,
           f'a function that is called by two loops was not seen: {found}')
    expect(outputs('prepare') == plain, 'prepared: another output')
    found = remarks_of(build, version, folder, 'convert', ('convert', 'convert'), lto)
    expect('steps.c:3' in found and 'MPI_Bcast: made persistent before the loop at line 12' in found,
           f'not converted: {found}')
    expect(outputs('convert') == plain, 'converted: another output')
    report = run([f'{build}/bin/herald', 'plans', 'report', '.'], folder).stdout
    expect('steps.c:3 in main: MPI_Bcast: made persistent' in report, f'the report lacks the link step: {report}')
    found = remarks_of(build, version, folder, 'none', ('none', 'convert'), lto)
    expect('the loop at line' not in found, f'--plans=none for the file with the loop: {found}')
    expect(outputs('none') == plain, 'none: another output')


def main():
    build, version = sys.argv[1:3]
    lld = f'/usr/lib/llvm-{version}/bin/ld.lld'
    if not os.path.exists(f'{build}/lib/herald/herald-plans-{version}.so') or not os.path.exists(lld):
        print(f'skipped: herald-plans was not built for LLVM {version}, or lld-{version} is not installed')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        try:
            check_report(build, version, folder)
        except Failed as why:
            raise SystemExit(f'failed: {why}') from None
    for lto in ('-flto=thin', '-flto'):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (('loops', LOOPS), ('steps', STEPS)):
                with open(f'{folder}/{name}.c', 'w', encoding='utf-8') as file:
                    file.write(text)
            try:
                check(build, version, folder, [lto])
            except Failed as why:
                shutil.copytree(folder, f'{build}/Testing/plans-modules', dirs_exist_ok=True)
                raise SystemExit(f'failed: {lto}: {why}') from None
            print(f'{lto}: the other file is seen')
    return 0


if __name__ == '__main__':
    sys.exit(main())
