# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that are compared in the lab: how each is built from one source and started on the hosts."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, ROOT + '/lab')
from heraldlab import jobs, state  # noqa: E402

# LAM refuses to run as root. It runs as user nobody with the capabilities that entering a host needs.
_CAPS = '+sys_admin,+sys_chroot,+sys_ptrace,+dac_read_search'
_NOBODY = ['setpriv', '--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups', '--inh-caps', _CAPS, '--ambient-caps', _CAPS,
           'env', f'LAMRSH={jobs.AGENT}', 'HOME=/tmp', 'SHELL=/bin/sh']


class Libraries:
    """The installed libraries, their programs in a folder, and the lab to run them on."""

    def __init__(self, herald, folder):
        self.folder = folder
        self.compilers = {'herald': herald + '/bin/mpicc', 'openmpi': 'mpicc.openmpi', 'mpich': 'mpicc.mpich',
                          'lam': 'mpicc.lam', 'floor': 'cc'}
        self.starters = {'herald': 'mpiexec.hydra', 'openmpi': 'mpirun.openmpi', 'mpich': 'mpiexec.hydra',
                         'lam': 'mpirun.lam', 'floor': 'mpiexec.hydra'}
        self.missing = {}
        self.lab = None

    def build(self):
        os.makedirs(self.folder, exist_ok=True)
        for name, compiler in self.compilers.items():
            lacking = [word for word in (compiler, self.starters[name]) if not shutil.which(word)]
            if lacking:
                self.missing[name] = f'{lacking[0]} is not installed'
                continue
            for source in ['lab_floor', 'lab_exchange', 'lab_stream'] if name == 'floor' else ['lab_p2p', 'lab_coll']:
                words = [compiler, '-O2', '-w', '-o', f'{self.folder}/{source}.{name}', f'{HERE}/{source}.c']
                words += [f'{HERE}/lam_writev.c'] if name == 'lam' else []
                done = subprocess.run(words, capture_output=True, text=True)
                if done.returncode != 0:
                    self.missing[name] = f'does not compile: {done.stderr.strip().splitlines()[-1:]}'

    def boot_lam(self):
        """Starts the daemons of LAM for one job, after those of an earlier job were ended."""
        self.halt_lam()
        with tempfile.NamedTemporaryFile('w', suffix='.lamhosts', delete=False) as file:
            file.write(''.join(row['name'] + '\n' for row in self.lab['hosts']))
        os.chmod(file.name, 0o644)
        words = _NOBODY + ['lamboot', '-b', '-ssi', 'boot', 'rsh', '-ssi', 'boot_rsh_agent', jobs.AGENT, file.name]
        code, _, said = self._on('h1', words, 60)
        os.remove(file.name)
        if code != 0:
            self.missing['lam'] = 'lamboot failed: ' + ' '.join(said.split())[:200]

    def halt_lam(self):
        if 'lam' not in self.missing:
            self._on('h1', _NOBODY + ['lamhalt'], 20)

    def _on(self, host, words, seconds):
        with tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as said:
            code = jobs.on_host(self.lab, state.host(self.lab, host), words, seconds, stdout=out, stderr=said,
                                stdin=subprocess.DEVNULL, cwd='/')
            out.seek(0)
            said.seek(0)
            return code, out.read(), said.read()

    def run(self, library, env, ranks, words, seconds, source='lab_p2p'):
        """(output, None), or (None, reason), or (output so far, reason) after a timeout."""
        if library in self.missing:
            return None, self.missing[library]
        if library == 'floor':
            source = {'exchange': 'lab_exchange', 'to_five': 'lab_exchange', 'stream': 'lab_stream',
                      'tcp': 'lab_stream'}.get(words[0], 'lab_floor')
        program = [f'{self.folder}/{source}.{library}', *words]
        oversubscribed = ranks > len(os.sched_getaffinity(0))
        names = [row['name'] for row in self.lab['hosts']][:ranks]
        each = -(-ranks // len(names))  # ranks on a host
        host = 'head'
        if library == 'lam':
            host, start = 'h1', _NOBODY + ['mpirun.lam', '-ssi', 'rpi', 'tcp', *[f'n0-{len(names) - 1}'] * each]
        elif library == 'openmpi':
            start = jobs.launcher_words('mpirun', ranks, each, names, ['--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self'] + (
                ['--mca', 'mpi_yield_when_idle', '1'] if oversubscribed else []))
        else:
            start = jobs.launcher_words('hydra', ranks, each, names)
        if library == 'mpich':  # 4.0.2 over UCX: on several hosts ranks wait for each other in MPI_Finalize for ever
            env = {'BENCH_NO_FINALIZE': '1', **env}
        if library == 'herald' and oversubscribed:  # each host counts all cores as its own, as with Open MPI
            env = {'HERALD_SPIN_US': '0', **env}
        settings = ['env'] + [f'{name}={value}' for name, value in env.items()]
        command = start + (settings if env else []) + program
        if library == 'lam':
            self.boot_lam()
        code, out, said = self._on(host, command, seconds)
        if library == 'lam':
            self.halt_lam()
        if code == 124:
            return out[:out.rfind('\n') + 1], f'no end after {seconds} s'
        if code != 0:
            said = ' '.join((said or out).split())
            return None, f'exit code {code}: {said[:300]}'
        return out, None
