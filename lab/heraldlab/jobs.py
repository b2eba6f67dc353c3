# SPDX-License-Identifier: BSD-3-Clause
"""Jobs: Open MPI's mpirun (PMIx) or Hydra (PMI-1) runs on the head, as on a login node, and starts the ranks on the
hosts through lab/agent. All processes of a run have the variable HERALDLAB_RUN, which identifies them after their
launcher was killed."""
import os
import shutil
import signal
import subprocess

from . import hosts, state, tool

AGENT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), 'agent')
ENGINES = ('mpirun', 'hydra')


def find_engine(engine):
    names = {'mpirun': ('mpirun.openmpi', 'mpirun'), 'hydra': ('mpiexec.hydra', 'mpiexec.mpich')}[engine]
    for name in names:
        path = shutil.which(name)
        if path and (name != 'mpirun' or 'open-mpi' in tool.run([path, '--version'])):
            return path
    package = {'mpirun': 'openmpi-bin', 'hydra': 'mpich'}[engine]
    raise tool.LabError(f'--engine {engine}: there is no {names[0]} on this machine (package {package})')


def placement(lab, ranks, ppn, chosen=None):
    """(ranks, ranks per host, hosts): consecutive ranks share a host."""
    names = chosen or [row['name'] for row in lab['hosts']]
    for name in names:
        state.host(lab, name)
    if ppn is None:
        ppn = 1 if ranks is None else -(-ranks // len(names))
    if ranks is None:
        ranks = ppn * len(names)
    if ranks < 1 or ppn < 1 or ranks > ppn * len(names):
        raise tool.LabError(f'-n {ranks} --ppn {ppn}: {len(names)} hosts have room for 1 to {max(ppn, 0) * len(names)} ranks')
    return ranks, ppn, names[:-(-ranks // ppn)]


def launcher_words(engine, ranks, ppn, names, more=()):
    path = find_engine(engine)
    if engine == 'hydra':  # as rsh: with ssh it pauses after eight spawned jobs
        return [path, '-launcher', 'rsh', '-launcher-exec', AGENT, '-hosts', ','.join(names), '-ppn', str(ppn),
                '-n', str(ranks), *more]
    exported = [word for name in sorted(os.environ) if name.startswith('HERALD_') or name == 'LD_LIBRARY_PATH'
              for word in ('-x', name)]
    return [path, '--allow-run-as-root', '--mca', 'plm_rsh_agent', AGENT, '--mca', 'plm_rsh_no_tree_spawn', '1',
            '--bind-to', 'none', '--host', ','.join(f'{name}:{ppn}' for name in names), '-n', str(ranks), *exported, *more]


def marked(run):
    return [pid for pid in tool.processes() if f'HERALDLAB_RUN={run}' in tool.environment_of(pid)]


def on_host(lab, row, words, seconds=None, **how):
    """Runs a command on a host (or the head) and returns its exit code, 124 after `seconds`. If it ends by a signal or
    a timeout, all processes that it started are ended too."""
    run = os.urandom(8).hex()
    environment = {name: value for name, value in os.environ.items() if not name.startswith('HERALDLAB')}
    environment.update(HERALDLAB=lab['name'], HERALDLAB_RUN=run)
    child = subprocess.Popen(hosts.enter(row, words), env=environment, **how)
    asked = []

    def pass_on(number, _frame):  # the job gets the first signal; a second one kills it
        asked.append(number)
        if len(asked) > 1:
            raise KeyboardInterrupt
        if number == signal.SIGTERM:
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = child.wait(seconds)
    except subprocess.TimeoutExpired:
        code = 124
    except KeyboardInterrupt:
        code = 130
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if child.poll() is None or child.returncode < 0 or asked:
            tool.end([child.pid] if child.poll() is None else [])
            child.wait()
            tool.end(marked(run))
    return code if code >= 0 else 128 - code
