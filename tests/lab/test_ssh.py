# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on several hosts over ssh, with real sshd instances. What could go wrong: ranks do not find each other; output,
input or exit codes are lost; a host that cannot be reached is not named; a killed mpiexec or a broken connection leaves
ranks behind, an interrupted benchmark its hosts."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from lab_case import BUILD, LIMIT, SILENCE, SOURCE, LabCase, main, wait_until

MPIEXEC = BUILD + '/bin/mpiexec'
SSHD = shutil.which('sshd', path=os.environ.get('PATH', '') + ':/usr/sbin')
HOSTS = 16


def open_bytes(path):
    with open(path, 'rb') as file:
        return file.read()


def processes_with(mark):
    """Processes in whose environment it is."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as file:
                if mark.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


class Bench(unittest.TestCase):
    def test_a_benchmark_that_ends_by_a_signal_removes_its_lab(self):
        bench = subprocess.Popen([sys.executable, '-B', SOURCE + '/bench/ssh_start.py', '--herald', BUILD, '--hosts', '2',
                                  '--ranks', '2', '--rounds', '1000'], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        mark = f'HERALDLAB_HOST=start-{bench.pid}/'
        self.assertTrue(wait_until(lambda: os.path.exists(f'/run/herald-lab/start-{bench.pid}/table')))
        time.sleep(2)  # somewhere in its work
        bench.send_signal(signal.SIGTERM)
        self.assertEqual(bench.wait(LIMIT), 1)
        self.assertFalse(os.path.exists(f'/run/herald-lab/start-{bench.pid}'))
        self.assertEqual(processes_with(mark), [])


class Ssh(LabCase):
    hosts = HOSTS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.dir = tempfile.mkdtemp(prefix='herald-ssh-')
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        for name in ('host', 'user'):
            subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', f'{cls.dir}/{name}'], check=True)
        shutil.copy(f'{cls.dir}/user.pub', f'{cls.dir}/authorized')
        os.makedirs('/run/sshd', exist_ok=True)
        with open(f'{cls.dir}/sshd', 'w') as file:
            # All hosts share the machine's files: start-up files of its shell may take a lock, one host after the other.
            file.write(f'Port 22\nHostKey {cls.dir}/host\nAuthorizedKeysFile {cls.dir}/authorized\nStrictModes no\nUsePAM no\n'
                       f'PermitRootLogin yes\nPidFile none\nMaxStartups 100\nSetEnv HOME={cls.dir}\n')
        with open(f'{cls.dir}/ssh', 'w') as file:
            file.write(f'IdentityFile {cls.dir}/user\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n')
        for i in range(1, HOSTS + 1):
            child = subprocess.Popen([sys.executable, '-c', 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])',
                                      cls.lab_tool(), 'exec', '--name', cls.name, f'h{i}', SSHD, '-D', '-e', '-f', f'{cls.dir}/sshd'],
                                     stdin=SILENCE, stderr=subprocess.DEVNULL)
            cls.addClassCleanup(cls.stop, child)
        for i in range(1, HOSTS + 1):
            if not wait_until(lambda i=i: cls.reach(i)):
                raise AssertionError(f'sshd of h{i} does not answer')

    @staticmethod
    def lab_tool():
        from lab_case import LAB
        return LAB

    @classmethod
    def reach(cls, i):
        from lab_case import lab
        return lab('exec', '--timeout', 20, 'h1', 'ssh', '-F', f'{cls.dir}/ssh', f'h{i}', 'true', name=cls.name,
                   code=None).returncode == 0

    @staticmethod
    def stop(child):
        child.send_signal(signal.SIGTERM)
        child.wait(LIMIT)

    def mpiexec(self, *words, **more):
        return self.lab('exec', '--timeout', 100, 'h1', MPIEXEC, '--rsh-agent', f'ssh -F {self.dir}/ssh', *words, **more)

    def hosts_named(self, count):
        return ','.join(f'h{i}' for i in range(1, count + 1))

    def test_ranks_of_16_hosts_find_each_other(self):
        begin = time.monotonic()
        done = self.mpiexec('--host', self.hosts_named(16), '-n', 64, '--ppn', 4, BUILD + '/examples/ring')
        self.assertEqual(done.returncode, 0, done.stderr)
        print(f'64 ranks on 16 hosts over ssh: {time.monotonic() - begin:.2f} s')

    def test_a_job_over_ssh_spawns_jobs_and_meets_others_by_name(self):
        for program in (['dyn_spawn', 'starts'], ['dyn_names']):
            for secure in ('tag', 'auth'):
                # In the environment of mpiexec: spawned jobs have it too.
                done = self.lab('exec', '--timeout', 100, 'h1', 'env', f'HERALD_SECURE={secure}', MPIEXEC, '--rsh-agent',
                                f'ssh -F {self.dir}/ssh', '--host', 'h1,h2', '-n', 4,
                                f'{BUILD}/tests/programs/{program[0]}', *program[1:])
                self.assertIn('passed', done.stdout, done.stderr)

    def test_mpiexec_opens_no_port(self):
        done = self.mpiexec('--host', 'h1,h2', '-n', 2, 'cat', '/proc/net/tcp', '/proc/net/tcp6', '/proc/net/udp', '/proc/net/udp6')
        rows = [line.split() for line in done.stdout.splitlines() if ': ' in line]
        self.assertTrue(any(row[3] == '01' for row in rows), done.stdout)  # the connections of ssh
        open_ports = {row[1].split(':')[1] for row in rows if row[3] in ('0A', '07')}  # TCP that listens, any UDP
        self.assertEqual(open_ports, {'0016'}, done.stdout)  # of sshd

    def test_output_labels_and_exit_codes(self):
        done = self.mpiexec('-l', '--host', 'h1,h2:2,h3', '-n', 4, 'sh', '-c', 'echo $PMI_RANK $(hostname); echo err >&2')
        self.assertEqual(sorted(done.stdout.splitlines()), ['[0] 0 h1', '[1] 1 h2', '[2] 2 h2', '[3] 3 h3'])
        self.assertEqual(sorted(done.stderr.splitlines()), [f'[{i}] err' for i in range(4)])
        done = self.mpiexec('--host', 'h1,h2', '-n', 2, 'sh', '-c', '[ $PMI_RANK = 0 ] && sleep 1000; exit 7', code=7)
        self.assertIn('rank 1', done.stderr)
        self.assertIn('on h2 exited with code 7', done.stderr)
        done = self.mpiexec('--host', 'h1,h2', '-n', 2, './no-such-program', code=127)
        self.assertIn('no-such-program', done.stderr)

    def test_input_goes_to_one_rank(self):
        data = self.dir + '/data'
        with open(data, 'wb') as file:
            file.write(os.urandom(3_000_000))
        with open(data, 'rb') as file:
            words = [self.lab_tool(), 'exec', '--name', self.name, 'h1', MPIEXEC, '--rsh-agent', f'ssh -F {self.dir}/ssh',
                     '-s', '1', '--host', 'h1,h2', '-n', '2', 'md5sum']
            done = subprocess.run(words, stdin=file, capture_output=True, text=True, timeout=LIMIT)
        wanted = subprocess.run(['md5sum', '-'], input=open_bytes(data), capture_output=True, check=True).stdout.decode()
        self.assertIn(wanted, done.stdout, done.stderr)

    def test_an_unreachable_host_is_named_with_the_words_of_ssh(self):
        done = self.mpiexec('--host', 'h1,nowhere', '-n', 2, 'sleep', '1000', code=1)
        self.assertIn('host nowhere cannot be reached: ', done.stderr)
        self.assertIn('resolve', done.stderr)
        self.lab('fault', 'partition', 'h2')
        begin = time.monotonic()
        done = self.mpiexec('--host', 'h1,h2', '-n', 2, 'sleep', '1000', code=1)
        self.assertIn('host h2 cannot be reached: ', done.stderr)
        took = time.monotonic() - begin
        print(f'a host behind a dead link was named after {took:.1f} s')
        self.assertLess(took, 40)  # 10 on an idle machine; mpiexec itself gives up after 60

    def test_nothing_is_left_when_mpiexec_or_a_proxy_is_killed(self):
        for victim in ('mpiexec', 'proxy'):
            mark = f'HERALD_TEST_MARK={os.getpid()}-{victim}'
            job = self.start('h1', 'env', mark, MPIEXEC, '--rsh-agent', f'ssh -F {self.dir}/ssh', '--host', 'h1,h2,h3',
                             '-n', '3', 'sleep', '1000', stderr=subprocess.PIPE)
            sleeping = lambda: [pid for pid in processes_with(mark) if self.command(pid).startswith('sleep')]
            self.assertTrue(wait_until(lambda: len(sleeping()) == 3))
            if victim == 'mpiexec':
                top = [pid for pid in processes_with(mark) if '--host' in self.command(pid) and '--herald' not in self.command(pid)
                       and self.command(pid).startswith(MPIEXEC)]
            else:
                rank = sleeping()[-1]
                top = [self.parent(self.parent(rank))]
            os.kill(top[0], signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not sleeping()), victim)
            job.wait(LIMIT)
            words = job.stderr.read()
            job.stderr.close()
            if victim == 'proxy':
                self.assertRegex(words, r'host h\d: the connection to it was lost|host h\d')

    def test_a_dead_link_ends_the_job_and_the_ranks_behind_it(self):
        mark = f'HERALD_TEST_MARK={os.getpid()}-link'
        job = self.start('h1', 'env', mark, MPIEXEC, '--rsh-agent', f'ssh -F {self.dir}/ssh', '--host', 'h1,h2,h3',
                         '-n', '3', 'sleep', '1000', stderr=subprocess.PIPE)
        sleeping = lambda: [pid for pid in processes_with(mark) if self.command(pid).startswith('sleep')]
        self.assertTrue(wait_until(lambda: len(sleeping()) == 3))
        begin = time.monotonic()
        self.lab('fault', 'partition', 'h3')
        try:
            job.wait(LIMIT)
            print(f'the job ended {time.monotonic() - begin:.1f} s after the link died')
            self.assertTrue(wait_until(lambda: not sleeping()), 'ranks stay behind the dead link')
            print(f'the ranks behind it {time.monotonic() - begin:.1f} s after that')
        finally:
            self.lab('fault', 'heal')
        words = job.stderr.read()
        job.stderr.close()
        self.assertNotEqual(job.returncode, 0)
        self.assertIn('host h3', words)

    @staticmethod
    def command(pid):
        try:
            with open(f'/proc/{pid}/cmdline') as file:
                return file.read().replace('\0', ' ')
        except OSError:
            return ''

    @staticmethod
    def parent(pid):
        with open(f'/proc/{pid}/stat') as file:
            return int(file.read().rsplit(')', 1)[1].split()[1])


if __name__ == '__main__':
    if SSHD is None or shutil.which('ssh') is None:
        print('skipped: there is no sshd or no ssh on this machine (packages openssh-server, openssh-client)')
        sys.exit(77)
    main()
