#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""modules.py MPIFORT MPIEXEC COMPILER SOURCE: mpifort makes modules for a compiler that Herald was not built with, once; a
compiler whose descriptors differ gets `use mpi` without mpi_f08, and a sentence about it."""
import os
import pathlib
import subprocess
import sys
import tempfile

mpifort, mpiexec, compiler, source = sys.argv[1:5]


def script(path, text):
    path.write_text(f'#!/bin/sh\n{text}\n', encoding='utf-8')
    path.chmod(0o755)
    return str(path)


def run(*command, environment, code=0):
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != code:
        sys.exit(f'{command}: exit code {result.returncode}\n{result.stdout}')
    return result.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        environment = {k: v for k, v in os.environ.items() if k != 'HERALD_FC'} | {'HERALD_MODULES': str(work / 'modules')}
        other = script(work / 'other-fortran', f'exec {compiler} "$@"')
        program = str(work / 'program')
        first = run(mpifort, f'-fc={other}', '-fallow-argument-mismatch', '-w', source, '-o', program, environment=environment)
        assert 'compiling the modules' in first and 'left out' not in first, first
        again = run(mpifort, f'-fc={other}', '-fallow-argument-mismatch', '-w', source, '-o', program, environment=environment)
        assert again == '', again
        del environment['HERALD_MODULES']
        output = run(mpiexec, '-n', '2', program, environment=environment)
        assert ' 0  wrong' in output, output
        # A compiler that refuses assumed rank.
        environment['HERALD_MODULES'] = str(work / 'modules')
        old = script(work / 'old-fortran', f'for f; do case $f in probe.f90) exit 1 ;; esac; done\nexec {compiler} "$@"')
        small = work / 'small.f90'
        small.write_text('program small\n use mpi\n integer :: e\n call MPI_Init(e)\n call MPI_Finalize(e)\nend program\n',
                         encoding='utf-8')
        text = run(mpifort, f'-fc={old}', str(small), '-o', str(work / 'small'), environment=environment)
        assert 'mpi_f08 is left out' in text, text
        missing = run(mpifort, '-fc=no-such-compiler', str(small), environment=environment, code=127)
        assert 'is not installed' in missing, missing
        print('modules: 0 wrong')


main()
