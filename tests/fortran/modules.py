#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""modules.py MPIFORT MPIEXEC COMPILER SOURCE PLAIN CALLS [others]: mpifort makes modules for a compiler that Herald was
not built with, once. A compiler without assumed rank gets an mpi_f08 that takes addresses, and a sentence about it:
PLAIN checks what is different there, CALLS calls every procedure. With `others`: so does one without assumed type, and
all flangs of this machine; that takes minutes."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

mpifort, mpiexec, compiler, source, plain, calls = sys.argv[1:7]
OTHERS = sys.argv[7:] == ['others']
# What a compiler of Fortran 2003 refuses.
NO_RANK = "dimension(\\.\\.)"
NO_TYPE = "type(\\*)"


def script(path, text):
    path.write_text(f'#!/bin/sh\n{text}\n', encoding='utf-8')
    path.chmod(0o755)
    return str(path)


def run(*command, environment, code=0):
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                            errors='replace')
    if result.returncode != code:
        sys.exit(f'{command}: exit code {result.returncode}\n{result.stdout}')
    return result.stdout


def check_plain(work, environment, refused, programs):
    """A compiler that refuses these words, in sources and in what mpifort compiles for it."""
    words = ' '.join(f"-e '{word}'" for word in refused)
    old = script(work / f'old-fortran-{len(refused)}',
                 f'for f; do case $f in *.f90) ! grep -iq {words} "$f" || exit 1 ;; esac; done\nexec {compiler} "$@"')
    for index, program in enumerate(programs):
        output = str(work / 'plain')
        text = run(mpifort, f'-fc={old}', '-fallow-argument-mismatch', '-w', program, '-o', output, '-J', folder_of(work),
                   environment=environment)
        assert ('mpi_f08 without array sections' in text) == (index == 0), text
        settings = {k: v for k, v in environment.items() if k != 'HERALD_MODULES'} | {'CALLS_FILE': str(work / 'calls_file')}
        text = run(mpiexec, '-n', '2', output, *['plain'][index:], environment=settings)
        assert re.search(': *0 *wrong', text), text


def flangs():
    """Every flang in the path, once: versions come in several folders and under several names."""
    found = {}
    for folder in os.environ.get('PATH', '').split(os.pathsep):
        for path in sorted(pathlib.Path(folder or '.').glob('flang*')):
            if re.fullmatch(r'flang(-new)?(-[0-9.]+)?', path.name) and os.access(path, os.X_OK):
                found.setdefault(path.resolve(), path.name)
    return found.values()


def check_flang(work, environment, flang):
    """mpi_f08 of flang, with array sections if its descriptors are those of the library. It makes its modules once."""
    output = str(work / 'flang')
    settings = {k: v for k, v in environment.items() if k != 'HERALD_MODULES'}
    text = run(mpifort, f'-fc={flang}', plain, '-o', output, environment=environment)
    sections = 'without array sections' not in text
    print(flang, 'with array sections' if sections else 'without array sections')
    settings['CALLS_FILE'] = str(work / f'calls_file.{flang}')
    for program in (plain, source, calls) if sections else (plain,):
        text = run(mpifort, f'-fc={flang}', program, '-o', output, '-module-dir', folder_of(work), environment=environment)
        assert 'compiling the modules' not in text, text
        text = run(mpiexec, '-n', '2', output, environment=settings)
        assert re.search(': *0 *wrong', text), text


def folder_of(work):
    """A folder for the modules of the program itself."""
    folder = work / 'own'
    folder.mkdir(exist_ok=True)
    return str(folder)


def check_others(work, environment):
    environment.pop('HERALD_FC', None)
    check_plain(work, environment, (NO_RANK, NO_TYPE), (plain,))
    for flang in flangs():
        check_flang(work, environment, flang)
    print('modules: 0 wrong')


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if OTHERS:
            return check_others(work, {**os.environ, 'HERALD_MODULES': str(work / 'modules')})
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
        environment['HERALD_MODULES'] = str(work / 'modules')
        check_plain(work, environment, (NO_RANK,), (plain, calls))
        missing = run(mpifort, '-fc=no-such-compiler', source, environment=environment, code=127)
        assert 'is not installed' in missing, missing
        print('modules: 0 wrong')


main()
