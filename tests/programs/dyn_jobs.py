# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs, each with its own mpiexec, meet: by a port in a file, or by a name of `herald names`.

usage: dyn_jobs.py MPIEXEC PROGRAM port|names|dies|killed SERVER_RANKS CLIENT_RANKS [HERALD]; 5:2: 5 ranks,
2 on each pretended host; both jobs use the same hosts"""
import os
import subprocess
import sys
import tempfile


def start(mpiexec, ranks, *words, env=None):
    ranks, _, per_host = ranks.partition(':')
    options = ['--pretend-hosts', per_host] if per_host else []
    return subprocess.Popen([mpiexec, '-n', ranks, *options, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env=env)


def finish(job, what):
    try:
        text, _ = job.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        job.terminate()
        text, _ = job.communicate()
        sys.exit(f'failed: {what} did not end; it printed:\n{text}')
    print(f'--- {what}: code {job.returncode}\n{text}')
    return text, job.returncode


def must_pass(jobs):
    good = True
    for job, what in jobs:
        text, code = finish(job, what)
        good = good and code == 0 and 'passed' in text and 'failed' not in text
    sys.exit(0 if good else 'failed')


def main():
    mpiexec, program, mode, servers, clients = sys.argv[1:6]
    if mode in ('dies', 'killed'):  # the children's death shows in the exit code only
        text, code = finish(start(mpiexec, servers, program, mode), 'parents')
        sys.exit(0 if 'passed' in text and 'failed' not in text and code != 0 else 'failed')
    with tempfile.TemporaryDirectory() as folder:
        if mode == 'port':
            where = os.path.join(folder, 'port')
            env, server = None, None
        else:
            server = subprocess.Popen([sys.argv[6], 'names'], stdout=subprocess.PIPE, text=True)
            line = server.stdout.readline().strip()
            where, env = 'a service', {**os.environ, 'HERALD_NAMES': line.removeprefix('export HERALD_NAMES=')}
        try:
            must_pass([(start(mpiexec, servers, program, 'server', where, env=env), 'server'),
                       (start(mpiexec, clients, program, 'client', where, env=env), 'client')])
        finally:
            if server is not None:
                server.terminate()
                server.wait()


main()
