#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time of `mpiexec` from start to end for a program that only calls MPI_Init and MPI_Finalize, on lab hosts over ssh with
real sshd instances: Herald, Hydra with MPICH, and mpirun with Open MPI, in turns.

    bench/ssh_start.py --herald build/release [--hosts 16] [--ranks 64] [--rounds 5]      (needs root)
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.dirname(HERE) + '/lab/herald-lab'
LIMIT = 120


def lab(*words, **more):
    return subprocess.run([LAB, *map(str, words)], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL, **more)


def timed(words, name):
    """Seconds; None, with a message, if it fails."""
    begin = time.monotonic()
    try:
        done = lab('exec', '--name', name, 'h1', *words)
    except subprocess.TimeoutExpired:
        print(f'bench: {words[0]}: over {LIMIT} s', file=sys.stderr)
        return None
    if done.returncode != 0:
        print(f'bench: {words[0]} failed: {done.stderr.strip()[-400:]}', file=sys.stderr)
        return None
    return time.monotonic() - begin


def start_sshd(folder, name, hosts):
    """One sshd on each host; returns the processes. The clients' settings are in folder/ssh."""
    for key in ('host', 'user'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{folder}/{key}'], check=True)
    shutil.copy(f'{folder}/user.pub', f'{folder}/authorized')
    os.makedirs('/run/sshd', exist_ok=True)
    with open(f'{folder}/sshd', 'w', encoding='utf-8') as file:
        file.write(f'HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n'
                   'PermitRootLogin yes\nPidFile none\nMaxStartups 100\n')
    with open(f'{folder}/ssh', 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\nexec ssh -i {folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null '
                   '-o LogLevel=ERROR "$@"\n')
    os.chmod(f'{folder}/ssh', 0o755)
    sshd = shutil.which('sshd', path='/usr/sbin')
    children = [subprocess.Popen([LAB, 'exec', '--name', name, f'h{i + 1}', sshd, '-D', '-f', f'{folder}/sshd'],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(hosts)]
    for i in range(hosts):
        for _ in range(100):
            if lab('exec', '--name', name, 'h1', f'{folder}/ssh', f'h{i + 1}', 'true').returncode == 0:
                break
            time.sleep(0.1)
    return children


def launchers(options, folder):
    """{name: (compiler, words)}"""
    hosts = [f'h{i + 1}' for i in range(options.hosts)]
    each = options.ranks // options.hosts
    agent, slots = f'{folder}/ssh', ','.join(f'{host}:{each}' for host in hosts)
    found = {
        'herald': (options.herald + '/bin/mpicc',
                   [options.herald + '/bin/mpiexec', '--engine', 'ssh', '--rsh-agent', agent, '--host', slots]),
        'hydra': ('mpicc.mpich', ['mpiexec.hydra', '-launcher', 'ssh', '-launcher-exec', agent, '-hosts', slots]),
        'openmpi': ('mpicc.openmpi', ['mpirun.openmpi', '--allow-run-as-root', '--mca', 'plm_rsh_agent', agent, '--host', slots,
                                      '--mca', 'btl', 'tcp,self,vader', '--bind-to', 'none']),
    }
    return {name: row for name, row in found.items() if shutil.which(row[0]) and shutil.which(row[1][0])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--herald', required=True, type=os.path.abspath)
    parser.add_argument('--hosts', type=int, default=16)
    parser.add_argument('--ranks', type=int, default=64)
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    name, folder = f'start-{os.getpid()}', tempfile.mkdtemp(prefix='herald-start-')
    children = []
    try:
        if lab('up', options.hosts, '--name', name).returncode != 0:
            sys.exit('bench: this machine cannot have a lab; see `lab/herald-lab check`')
        children = start_sshd(folder, name, options.hosts)
        found, samples = launchers(options, folder), {}
        for library, (compiler, _) in found.items():
            subprocess.run([compiler, '-O2', '-w', '-o', f'{folder}/{library}', f'{HERE}/startup.c'], check=True)
        for _ in range(options.rounds):
            for library, (_, words) in found.items():
                seconds = timed([*words, '-n', options.ranks, f'{folder}/{library}'], name)
                if seconds is not None:
                    samples.setdefault(library, []).append(seconds)
        print(f'{options.ranks} ranks on {options.hosts} hosts over ssh, medians of {options.rounds} rounds in turns')
        for library, times in samples.items():
            ratio = statistics.median(samples['herald']) / statistics.median(times)
            print(f'{library:10} {statistics.median(times):7.3f} s (least {min(times):.3f})   herald / this: {ratio:.2f}')
    finally:
        for child in children:
            child.terminate()
            child.wait(LIMIT)
        lab('down', '--name', name)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
