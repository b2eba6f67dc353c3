#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares Herald with the other MPI libraries on this machine: the same sources, built with each library's own
compiler wrapper, run in turns (so that other load hits all alike), medians over the rounds.

    bench/run.py --herald build/release [--rounds 5] [--largest 16777216] [--seconds 0.2] [--ranks 16] [--only p2p|coll|rma|io|startup]
    herald bench -- --only p2p            (installed; results go to ./herald-bench)

A library is found by Debian's names (mpicc.openmpi), as another mpicc in PATH, or by --mpi NAME=PREFIX. Prints a table with ratios and writes JSON with the machine, the kernel and the commit beside the figures.
"""
import argparse
import datetime
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

import p2p_rows
import progress

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def others_in_path(known):
    """Libraries whose folder in PATH has mpicc and mpiexec, and which are none of the known ones."""
    seen = {os.path.realpath(path) for row in known.values() for path in [shutil.which(row[0])] if path}
    found = {}
    for folder in os.environ.get('PATH', '').split(':'):
        compiler, launcher = folder + '/mpicc', folder + '/mpiexec'
        if all(os.access(path, os.X_OK) for path in (compiler, launcher)) and os.path.realpath(compiler) not in seen:
            seen.add(os.path.realpath(compiler))
            name = os.path.basename(os.path.dirname(folder.rstrip('/'))) or 'mpi'
            found[name if name not in known and name not in found else f'mpi{len(found)}'] = (compiler, [launcher])
    return found


def libraries(herald, more=(), wanted=''):
    """{name: (compiler wrapper, launcher words)} of the installed libraries, or of the wanted ones."""
    known = {
        'herald': (herald + '/bin/mpicc', [herald + '/bin/mpiexec']),
        'openmpi': ('mpicc.openmpi', ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '--bind-to', 'none']),
        'mpich': ('mpicc.mpich', ['mpiexec.hydra']),
        'lam': ('mpicc.lam', [HERE + '/lam.py']),
    }
    known |= others_in_path(known)
    for name, _, prefix in (word.partition('=') for word in more):
        known[name] = (prefix + '/bin/mpicc', [prefix + '/bin/mpiexec'])
    if wanted:
        known = {name: row for name, row in known.items() if name in ['herald', *wanted.split(',')]}
    needs = {'lam': ['mpirun.lam', 'lamboot', 'setpriv']}
    found = {name: row for name, row in known.items() if all(map(shutil.which, [row[0], row[1][0]] + needs.get(name, [])))}
    if 'herald' not in found:
        sys.exit(f'bench: {known["herald"][0]} or mpiexec beside it is missing: run `make build` first')
    for name in known:
        if name not in found:
            print(f'bench: {name} is not installed and is left out')
    return found


def build(found, folder):
    os.makedirs(folder, exist_ok=True)
    for name, (compiler, _) in found.items():
        for program in ('p2p', 'crowd', 'coll', 'rma', 'io', 'startup'):
            if name == 'lam' and program in ('rma', 'io'):
                continue  # MPI-2 has no MPI_Win_flush
            more = [HERE + '/lam_writev.c'] if name == 'lam' else []
            subprocess.run([compiler, '-O2', '-w', '-o', f'{folder}/{program}.{name}', f'{HERE}/{program}.c', *more], check=True)


def run(words, seconds, ours=True):
    """Output of a program. If another library fails (LAM does not always start), its sample is omitted."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return done.stdout
    if ours:
        sys.exit(f'bench: {" ".join(words)}: exit code {done.returncode}\n{done.stderr}')
    print(f'\nbench: left out: {" ".join(words)}: exit code {done.returncode}', file=sys.stderr)
    return ''


def bench_coll(found, folder, options, program='coll', many=(8, 16), kinds=('',)):
    """{(ranks, what, bytes): {library: median}}; MPICH spins, so it is left out where ranks outnumber cores."""
    samples = {}
    crowd = [n for n in many if n > len(os.sched_getaffinity(0))]
    shown = progress.Progress(options.rounds * (len(found) + len(crowd) * len(found.keys() - {'mpich'})))
    for turn in range(options.rounds):
        for ranks in [2] + crowd:
            for name, (_, launcher) in found.items():
                if ranks != 2 and name == 'mpich':
                    continue
                more = ['--mca', 'mpi_yield_when_idle', '1'] if ranks != 2 and name == 'openmpi' else []
                shown.step(f'{program}: round {turn + 1} of {options.rounds}, {ranks} ranks, {name}')
                words = launcher + more + ['-n', str(ranks), f'{folder}/{program}.{name}', str(options.seconds / 2)]
                for kind in kinds if ranks == 2 else kinds[:1]:
                    for line in run(words + [kind], 300, name == 'herald').splitlines():
                        what, size, value = line.split()
                        samples.setdefault((ranks, what, int(size)), {}).setdefault(name, []).append(float(value))
    shown.end()
    return {key: {name: statistics.median(values) for name, values in row.items()} for key, row in samples.items()}


def report_coll(coll, names):
    rows = []
    for (ranks, what, size), row in coll.items():
        times = ratio(row, min)
        cells = ''.join(f'{row[name] * 1e6:>11.2f} us' if name in row else f'{"-":>14}' for name in names)
        print(f'{f"{what} {size} B, {ranks} ranks":<26}{cells}' + (f'{times:>10.2f} x' if times is not None else ''))
        rows.append({'what': what, 'ranks': ranks, 'bytes': size, 'value': row, 'ratio': times, 'unit': 's'})
    return rows


def bench_startup(found, folder, options):
    """{library: seconds, median} of the whole of `mpiexec -n RANKS`."""
    samples = {name: [] for name in found}
    shown = progress.Progress(options.rounds * 4 * len(found))
    for turn in range(options.rounds * 4):
        for name, (_, launcher) in found.items():
            shown.step(f'startup: round {turn + 1} of {options.rounds * 4}, {name}')
            start = time.monotonic()
            run(launcher + ['-n', str(options.ranks), f'{folder}/startup.{name}'], 60)
            samples[name].append(time.monotonic() - start)
    shown.end()
    return {name: statistics.median(values) for name, values in samples.items()}


def ratio(row, best):
    others = [value for name, value in row.items() if name != 'herald']
    return row['herald'] / best(others) if others else None


def machine():
    model = ''
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            model = next((line.split(':', 1)[1].strip() for line in file if line.startswith('model name')), '')
    except OSError:
        pass
    try:
        commit = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True,
                                check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = 'unknown'
    return {'cpu': model, 'cores': len(os.sched_getaffinity(0)), 'architecture': platform.machine(),
            'kernel': platform.release(), 'commit': commit,
            'time': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')}


def row_text(label, row, names, shown, times):
    cells = ''.join(f'{shown(row[name]) if name in row else "-":>14}' for name in names)
    return f'{label:<26}{cells}' + (f'{times:>10.2f} x' if times is not None else '')


def report(p2p, startup, names, options):
    print(f'{"":<26}' + ''.join(f'{name:>14}' for name in names) + '   herald / best other')
    rows = p2p_rows.report(p2p, names, row_text)
    if startup:
        times = ratio(startup, min)
        print(row_text(f'start and end, {options.ranks} ranks', startup, names, lambda v: f'{v * 1e3:.1f} ms', times))
        rows.append({'what': 'startup', 'ranks': options.ranks, 'value': startup, 'ratio': times, 'unit': 's'})
    return rows


def main():
    parser = argparse.ArgumentParser(description='compare Herald with the other MPI libraries on this machine')
    parser.add_argument('--herald', default=ROOT + '/build/release')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--largest', type=int, default=16 << 20)
    parser.add_argument('--seconds', type=float, default=0.2)
    parser.add_argument('--ranks', type=int, default=16)
    parser.add_argument('--kinds', default='', help='of p2p, comma separated: ' + ' '.join(p2p_rows.ASKABLE))
    parser.add_argument('--out', help='folder of programs and results (default: bench below that of --herald)')
    parser.add_argument('--libraries', default='', help='only these, comma separated')
    parser.add_argument('--mpi', action='append', default=[], metavar='NAME=PREFIX', help='another MPI library')
    parser.add_argument('--only', choices=('p2p', 'coll', 'rma', 'io', 'startup'))
    options = parser.parse_args()
    herald = os.path.abspath(options.herald)
    folder = os.path.abspath(options.out or herald + '/bench')
    found = libraries(herald, options.mpi, options.libraries)
    build(found, folder)
    p2p = p2p_rows.measure(found, folder, options, run) if options.only in (None, 'p2p') else {}
    others = {name: row for name, row in found.items() if name != 'lam'}  # each of its jobs starts a daemon
    startup = bench_startup(others, folder, options) if options.only in (None, 'startup') else {}
    coll = bench_coll(others, folder, options) if options.only in (None, 'coll') else {}
    if options.only in (None, 'rma'):
        coll |= bench_coll(others, folder, options, 'rma', (8,), ('', 'partitioned_threads'))
    if options.only in (None, 'io'):
        coll |= bench_coll(others, folder, options, 'io', (8,))
    facts = machine()
    print(f'{facts["cpu"]}, {facts["cores"]} cores, Linux {facts["kernel"]}, commit {facts["commit"]}; '
          f'medians of {options.rounds} rounds run in turns')
    rows = report(p2p, startup, list(found if p2p else others), options) + report_coll(coll, list(others))
    for what in ('latency', 'bandwidth'):
        p2p_rows.plot(p2p, list(found), what, f'{folder}/{what}.svg')
    path = f'{folder}/result.json'
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'machine': facts, 'rounds': options.rounds, 'rows': rows}, file, indent=1)
    print(f'written to {os.path.relpath(path)}')


if __name__ == '__main__':
    main()
