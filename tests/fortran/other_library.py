#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""other_library.py LIBRARY PROGRAM...: programs of the Fortran bindings run unchanged over another library of the MPI 5.0
ABI: that of the installation which HERALD_OTHER_MPI names (lib/libmpi_abi.so.1, bin/mpiexec), such as MPICH 5 from PyPI.
LIBRARY is Herald's libmpifort_abi.so.1. Skipped without the variable."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77


def run(program, other, libraries, work):
    """What is wrong with the program over the other library; None if nothing is."""
    # The other library finds its own libraries relative to itself, so that it must stay where it is.
    settings = os.environ | {'LD_LIBRARY_PATH': f"{libraries}:{other / 'lib'}", 'CALLS_FILE': str(work / 'calls_file')}
    for ranks in (1, 2, 4):
        # A library of another maker may hang: the test is about ours.
        command = ['timeout', '120', str(other / 'bin/mpiexec'), '-n', str(ranks), program]
        result = subprocess.run(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                errors='replace', cwd=work, stdin=subprocess.DEVNULL)
        if result.returncode != 0 or re.search(r': *[1-9]\d* *wrong', result.stdout):
            return f'{program}, {ranks} ranks: exit code {result.returncode}\n{result.stdout[-2000:]}'
    return None


def main():
    fortran, programs = sys.argv[1], sys.argv[2:]
    other = pathlib.Path(os.environ.get('HERALD_OTHER_MPI', ''))
    if not os.environ.get('HERALD_OTHER_MPI') or not (other / 'lib/libmpi_abi.so.1').exists():
        print('HERALD_OTHER_MPI names no installation with lib/libmpi_abi.so.1')
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        libraries = work / 'lib'
        libraries.mkdir()
        (libraries / 'libmpifort_abi.so.1').symlink_to(pathlib.Path(fortran).resolve())
        wrong = [text for text in (run(program, other, libraries, work) for program in programs) if text]
    print(*wrong, f'{len(programs)} programs, {len(wrong)} wrong', sep='\n')
    sys.exit(bool(wrong))


main()
