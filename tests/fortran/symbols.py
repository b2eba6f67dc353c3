#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""symbols.py LIBRARY MPIF SOURCE: the Fortran library has every procedure of the table under both names, uses nothing of
the MPI library but the ABI, and the constants of mpif.h have the values of the table."""
import pathlib
import re
import subprocess
import sys

library, mpif, source = (pathlib.Path(name) for name in sys.argv[1:4])
sys.path.insert(0, str(source / 'src'))
sys.path.insert(0, str(source / 'fortran'))
from abi.gen import table  # noqa: E402
from gen import facts  # noqa: E402


def names(*options):
    text = subprocess.run(('nm', '-D', *options, str(library)), capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split('@')[0] for line in text.splitlines() if line.strip()}


def main():
    wrong = []
    functions = table.read_functions(source / 'src/abi/api.tbl')
    chosen = [f for f in functions if facts.has_fortran(f)]
    defined, undefined = names('--defined-only'), names('--undefined-only')
    for function in chosen:
        for prefix in ('mpi_', 'pmpi_'):
            if f'{prefix}{facts.stem(function)}_' not in defined:
                wrong.append(f'{prefix}{facts.stem(function)}_ is not defined')
            for big in function.forms() if facts.in_f08(function) else ():
                specific = f'{prefix}{facts.stem(function, big)}_f08{"ts" if facts.has_buffer(function) else ""}_'
                if specific not in defined:
                    wrong.append(f'{specific} is not defined')
    abi = {prefix + f.c_name(big) for f in functions for big in f.forms() for prefix in ('', 'P')}
    wrong += [f'{name} is not in the ABI' for name in undefined if re.match('P?MPI', name) and name not in abi]
    text = mpif.read_text(encoding='utf-8')
    for constant in facts.fortran_constants(table.read_constants(source / 'src/abi/constants.tbl')):
        if f'PARAMETER ({constant.name}={constant.value})' not in text:
            wrong.append(f'{constant.name} is not {constant.value} in mpif.h')
    wrong += [f'mpif.h: longer than fixed form allows: {line}' for line in text.splitlines()
              if len(line) > 72 and not line.startswith('!')]
    print(f'{len(chosen)} procedures, {len(wrong)} wrong', *wrong, sep='\n')
    sys.exit(bool(wrong))


main()
