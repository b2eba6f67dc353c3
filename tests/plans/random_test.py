#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""random_test.py BUILD VERSION [--seed N] [--programs N] [--tests N] [--break PROOF]: random MPI programs print the
same without the pass, prepared and converted, on 1, 2, 4 and 7 ranks. A failure prints the seed.

--break leaves a proof of the pass out (stores, iterations, branches, overlap, requests): the test of this test. It
passes if one of the programs notices."""
import argparse
import os
import subprocess
import sys
import tempfile

import program

MODES = ('plain', 'prepare', 'convert')


class Differs(Exception):
    """The pass changed what a program prints."""


def build_program(args, source, mode, binary):
    """The remarks of the pass."""
    plans = [] if mode == 'plain' else [f'--plans={mode}']
    if plans and args.broken != 'none':
        plans += ['-mllvm', f'-herald-plans-break={args.broken}']
    done = subprocess.run([f'{args.build}/bin/mpicc', f'-cc=clang-{args.version}', *plans, '-O2', '-g', '-w',
                           '-Rpass=herald-plans', '-o', binary, source],
                          capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f'failed: the compiler ({mode}): {done.stderr[-3000:]}')
    return done.stderr


def output_of(args, binary, ranks):
    limit = ['--timeout', '20'] if args.broken != 'none' else []
    done = subprocess.run([f'{args.build}/bin/mpiexec', *limit, '-n', str(ranks), binary], capture_output=True,
                          text=True, check=False, timeout=300)
    return f'exit code {done.returncode}\n{done.stdout}{done.stderr if done.returncode else ""}'


def check(args, seed, folder):
    source = f'{folder}/program.c'
    with open(source, 'w', encoding='utf-8') as file:
        file.write(program.make(seed, args.tests))
    found = {}
    for mode in MODES:
        found[mode] = build_program(args, source, mode, f'{folder}/{mode}')
    for ranks in (1, 2, 4, 7):
        plain = output_of(args, f'{folder}/plain', ranks)
        if not plain.startswith('exit code 0'):
            raise SystemExit(f'failed: seed {seed}: the program itself on {ranks} ranks: {plain[-2000:]}')
        for mode in MODES[1:]:
            other = output_of(args, f'{folder}/{mode}', ranks)
            if other == plain:
                continue
            pairs = zip(plain.splitlines(), other.splitlines())
            first = next(((a, b) for a, b in pairs if a != b), ('', other[-1500:]))
            raise Differs(f'seed {seed}, {mode}, {ranks} ranks: {first[0]!r} became {first[1]!r}')
    return found['prepare'].count('prepared before'), found['convert'].count('made persistent'), \
        found['convert'].count('by its first call')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('version')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--programs', type=int, default=1)
    parser.add_argument('--tests', type=int, default=20)
    parser.add_argument('--break', dest='broken', default='none')
    args = parser.parse_args()
    if not os.path.exists(f'{args.build}/lib/herald/herald-plans-{args.version}.so'):
        print(f'skipped: herald-plans was not built for LLVM {args.version}')
        return 77
    for seed in range(args.seed, args.seed + args.programs):
        try:
            with tempfile.TemporaryDirectory() as folder:
                prepared, converted, messages = check(args, seed, folder)
        except Differs as difference:
            if args.broken == 'none':
                raise SystemExit(f'failed: {difference}') from None
            print(f'passed: noticed without the proof of {args.broken}: {difference}')
            return 0
        print(f'seed {seed}: same output; {prepared} prepared, {converted} converted, {messages} of them messages',
              flush=True)
        if converted == messages or messages == 0:
            raise SystemExit(f'failed: seed {seed}: nothing was converted, so nothing was tested')
    if args.broken != 'none':
        raise SystemExit(f'failed: nothing noticed that the pass leaves out the proof of {args.broken}')
    print('passed')
    return 0


if __name__ == '__main__':
    sys.exit(main())
