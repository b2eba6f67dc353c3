#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time of a job from start to end on lab hosts over ssh with real sshd instances: Herald, Hydra with MPICH, mpirun with
Open MPI, and prterun, in turns. Two programs: `true`, and one that calls MPI_Init, MPI_Barrier and MPI_Finalize.

    bench/ssh_start.py --herald build/release [--hosts 16] [--ranks 64] [--rounds 5]      (needs root)

`started`: until rank 0 has passed the barrier. MPICH 4.0 over UCX does not return from MPI_Finalize on several hosts: it
is ended then."""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from progress import Progress

HERE = os.path.dirname(os.path.abspath(__file__))
LAB = os.path.dirname(HERE) + '/lab/herald-lab'
LIMIT = 120
NO_END = 'mpiexec.hydra'


def lab(*words):
    return subprocess.run([LAB, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def timed(words, name):
    """Seconds until the job says `started`, or None, and until its end, or None if it does not end."""
    begin = time.monotonic()
    with tempfile.TemporaryFile('w+') as said:
        child = subprocess.Popen([LAB, 'exec', '--timeout', str(LIMIT), '--name', name, 'h1', *words], text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said)
        with child.stdout:
            started = time.monotonic() - begin if 'started' in child.stdout.readline() else None
            if started is not None and NO_END in words[0]:
                child.terminate()
            child.stdout.read()
        code = child.wait()
        ended = time.monotonic() - begin if code == 0 else None
        if code != 0 and NO_END not in words[0]:
            said.seek(0)
            print(f'bench: {words[0]} failed: {said.read().strip()[-400:]}', file=sys.stderr)
    return started, ended


def start_sshd(folder, name, hosts):
    """One sshd on each host; returns the processes. The clients' settings are in folder/ssh."""
    for key in ('host', 'user'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{folder}/{key}'], check=True)
    shutil.copy(f'{folder}/user.pub', f'{folder}/authorized')
    os.makedirs('/run/sshd', exist_ok=True)
    # HOME: all hosts share the machine's files, and start-up files of its shell may take a lock, host after host.
    with open(f'{folder}/sshd', 'w', encoding='utf-8') as file:
        file.write(f'HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n'
                   f'PermitRootLogin yes\nPidFile none\nMaxStartups 100\nSetEnv HOME={folder}\n')
    with open(f'{folder}/ssh', 'w', encoding='utf-8') as file:
        file.write(f'#!/bin/sh\nexec ssh -i {folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null '
                   '-o LogLevel=ERROR "$@"\n')
    os.chmod(f'{folder}/ssh', 0o755)
    sshd = shutil.which('sshd', path='/usr/sbin')
    children = [subprocess.Popen([LAB, 'exec', '--name', name, f'h{i + 1}', sshd, '-D', '-f', f'{folder}/sshd'],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(hosts)]
    for i in range(hosts):
        if not any(reaches(folder, name, i) for _ in range(100)):
            sys.exit(f'bench: sshd of h{i + 1} does not answer')
    return children


def reaches(folder, name, i):
    done = lab('exec', '--timeout', 20, '--name', name, 'h1', f'{folder}/ssh', f'h{i + 1}', 'true').returncode == 0
    if not done:
        time.sleep(0.1)
    return done


def compiler_of_prrte(options):
    """That of the Open MPI that it came with, or ours."""
    beside = os.path.dirname(shutil.which('prterun') or '') + '/mpicc'
    return beside if os.access(beside, os.X_OK) else options.herald + '/bin/mpicc'


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
        'prrte': (compiler_of_prrte(options), ['prterun', '--allow-run-as-root', '--prtemca', 'plm_ssh_agent', agent,
                                                  '--host', slots, '--bind-to', 'none']),
    }
    return {name: row for name, row in found.items() if shutil.which(row[0]) and shutil.which(row[1][0])}


def measure(options, folder, name):
    found, samples = launchers(options, folder), {}
    for library, (compiler, _) in found.items():
        # TMPDIR: a compiler that is killed when the benchmark is interrupted leaves files there.
        subprocess.run([compiler, '-O2', '-w', '-o', f'{folder}/{library}', f'{HERE}/startup.c'], check=True,
                       env=dict(os.environ, TMPDIR=folder))
    steps = Progress(options.rounds * len(found))
    for turn in range(options.rounds):
        for library, (_, words) in found.items():
            steps.step(f'round {turn + 1} of {options.rounds}, {library}')
            _, ended = timed([*words, '-n', str(options.ranks), 'true'], name)
            samples.setdefault(('true', library), []).append(ended)
            started, ended = timed([*words, '-n', str(options.ranks), f'{folder}/{library}', 'say'], name)
            samples.setdefault(('started', library), []).append(started)
            samples.setdefault(('ended', library), []).append(ended)
    steps.end()
    print(f'{options.ranks} ranks on {options.hosts} hosts over ssh, medians of {options.rounds} rounds in turns')
    for kind in ('true', 'started', 'ended'):
        for library in found:
            times = [seconds for seconds in samples[kind, library] if seconds is not None]
            ours = [seconds for seconds in samples[kind, 'herald'] if seconds is not None]
            if times and ours:
                print(f'{kind:8} {library:8} {statistics.median(times):7.3f} s (least {min(times):.3f}, {len(times)} runs)   '
                      f'herald / this: {statistics.median(ours) / statistics.median(times):.2f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--herald', required=True, type=os.path.abspath)
    parser.add_argument('--hosts', type=int, default=16)
    parser.add_argument('--ranks', type=int, default=64)
    parser.add_argument('--rounds', type=int, default=5)
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # the lab goes down too
        signal.signal(number, lambda *_: sys.exit(1))
    name, folder = f'start-{os.getpid()}', tempfile.mkdtemp(prefix='herald-start-')
    children = []
    try:
        if lab('up', options.hosts, '--name', name).returncode != 0:
            sys.exit('bench: this machine cannot have a lab; see `lab/herald-lab check`')
        children = start_sshd(folder, name, options.hosts)
        measure(options, folder, name)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        lab('down', '--name', name)  # ends the sshd processes
        for child in children:
            child.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    main()
