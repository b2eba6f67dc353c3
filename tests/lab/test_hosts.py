#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a lab leaves namespaces, processes, mounts or files, in particular after a failed, interrupted
or killed `up`; labs affect each other or the machine; hosts share what real hosts do not, so that a test passes that
would fail on a cluster."""
import glob
import os
import signal
import subprocess
import sys
import tempfile
import unittest

from lab_case import BUILD, LAB, LabCase, lab, main, unique, wait_until
from heraldlab import hosts, state, tool


def traces(name):
    """Remains of a lab."""
    return [path for path in glob.glob(f'/run/herald-lab/{name}*')] + hosts.pause_processes(name) + hosts.members(name)


def machine():
    """Machine state that a lab must not change: links, mounts, host name, rules."""
    links = sorted(os.listdir('/sys/class/net'))
    return links, tool.read('/proc/self/mountinfo'), os.uname().nodename, tool.run(['nft', 'list', 'ruleset'])


class UpAndDown(unittest.TestCase):
    def setUp(self):
        self.name = unique('up')
        self.addCleanup(lab, 'down', name=self.name)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def instead(self, command, text):
        """An environment in which `command` is a script with this text."""
        path = f'{self.folder.name}/{command}'
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + text + '\n')
        os.chmod(path, 0o755)
        return dict(os.environ, PATH=f'{self.folder.name}:{os.environ["PATH"]}')

    def test_nothing_remains_and_the_machine_is_unchanged(self):
        before = machine()
        lab('up', 3, '--rate', '100mbit', '--loss', '1%', '--links', '2', name=self.name)
        self.assertEqual(len(hosts.pause_processes(self.name)), 4)
        self.assertEqual(machine(), before)
        lab('down', name=self.name)
        self.assertEqual(traces(self.name), [])
        self.assertEqual(machine(), before)
        self.assertIn('nothing to remove', lab('down', name=self.name).stdout)

    def test_down_ends_running_processes(self):
        lab('up', 2, name=self.name)
        deaf = "trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000"
        child = subprocess.Popen([LAB, 'exec', '--name', self.name, 'h2', 'sh', '-c', deaf], stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b'ready\n')
        other = subprocess.Popen(['sleep', '1000'], env=dict(os.environ, HERALDLAB=self.name))  # has the variable but belongs to no run
        child.kill()  # its parent no longer waits
        child.wait()
        child.stdout.close()
        self.assertNotEqual(hosts.members(self.name), [])
        lab('down', name=self.name)
        self.assertEqual(traces(self.name), [])
        self.assertIsNone(other.poll())
        other.kill()
        other.wait()

    def test_a_stranger_in_a_namespace_with_a_number_of_the_lab_is_left_alone(self):
        lab('up', 2, name=self.name)
        rows = state.load(self.name)
        numbers = {row['net'] for row in rows['hosts'] + [rows['head']]}
        tool.end(hosts.pause_processes(self.name))  # the kernel gives their numbers to the next namespaces

        def stranger():
            child = subprocess.Popen(['unshare', '--net', 'sh', '-c', 'echo ready; exec sleep 1000'], stdout=subprocess.PIPE)
            for end in (child.stdout.close, child.wait, child.kill):
                self.addCleanup(end)
            self.assertEqual(child.stdout.readline(), b'ready\n')
            return child

        for _ in range(100):
            child = stranger()
            if tool.namespace_of(child.pid) in numbers:
                break
        else:
            self.skipTest('no number was given out again')
        self.assertEqual(hosts.members(self.name), [])
        lab('down', name=self.name)
        self.assertIsNone(child.poll())

    def test_failed_up_leaves_nothing(self):
        done = lab('up', 3, name=self.name, code=1, env=self.instead('ethtool', 'echo no such feature >&2; exit 1'))
        self.assertIn('no such feature', done.stderr)
        self.assertEqual(traces(self.name), [])

    def interrupted(self, number):
        child = subprocess.Popen([LAB, 'up', '--name', self.name, '3'], stderr=subprocess.DEVNULL,
                                 env=self.instead('ethtool', f'touch {self.folder.name}/here; sleep 1000'))
        self.assertTrue(wait_until(lambda: os.path.exists(f'{self.folder.name}/here')))
        child.send_signal(number)
        return child.wait(60)

    def test_interrupted_up_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self.interrupted(number), 130)
            self.assertEqual(traces(self.name), [])
            os.remove(f'{self.folder.name}/here')

    def test_remains_of_a_killed_up_are_removed(self):
        self.interrupted(signal.SIGKILL)
        self.assertNotEqual(traces(self.name), [])
        self.assertIn('incomplete', lab('status', name=self.name).stdout)
        self.assertIn('first', lab('up', 1, name=self.name, code=1).stderr)
        lab('down', name=self.name)
        self.assertEqual(traces(self.name), [])

    def test_down_works_without_state(self):
        lab('up', 2, name=self.name)
        subprocess.run(['rm', '-r', f'/run/herald-lab/{self.name}'], check=True)
        self.assertIn(self.name, lab('status', name=self.name).stdout)
        lab('down', name=self.name)
        self.assertEqual(traces(self.name), [])

    def test_two_labs_at_once(self):
        second = self.name + '-b'
        self.addCleanup(lab, 'down', name=second)
        lab('up', 2, name=self.name)
        lab('up', 3, name=second)
        self.assertIn('is up', lab('up', 2, name=second, code=1).stderr)
        lab('down', name=self.name)
        self.assertEqual(lab('exec', 'h3', 'hostname', name=second).stdout, 'h3\n')
        lab('down', name=second)
        self.assertEqual(traces(second), [])

    def test_usage_errors(self):
        for words in (('up', 0), ('up', 9999), ('up', 2, '--loss', '200%'), ('up', 2, '--mtu', '9'), ('run', 'true'),
                      ('exec', 'h1', 'true'), ('counters',), ('fault', 'heal')):
            done = lab(*words, name=self.name, code=1)
            self.assertIn('herald-lab: ', done.stderr)
        self.assertEqual(lab('up', 2, '--rate', 'fast', name=self.name, code=2).stdout, '')
        self.assertIn('letters', lab('status', name='../etc', code=1).stderr)
        self.assertEqual(traces(self.name), [])

    def test_without_root_is_an_error(self):
        for words in (['up', '2'], ['down'], ['status']):
            done = subprocess.run(['setpriv', '--reuid', '65534', '--clear-groups', sys.executable, '-B', LAB] + words,
                                  capture_output=True, text=True)
            if 'Permission denied' in done.stderr and 'herald-lab:' not in done.stderr:
                self.skipTest('the sources cannot be read by others here')
            self.assertEqual(done.returncode, 1)
            self.assertIn('root', done.stderr)


class Isolation(LabCase):
    """Hosts of a lab are as separate as real hosts."""

    def on(self, host, *words, **more):
        return self.lab('exec', host, *words, **more).stdout

    def test_own_name_and_addresses(self):
        self.assertEqual(self.on('all', 'hostname'), 'h1\nh2\n')
        self.assertEqual(self.on('h2', 'ls', '/sys/class/net').split(), ['eth0', 'lo'])

    def test_own_shared_memory(self):
        self.on('h1', 'sh', '-c', 'echo mine >/dev/shm/herald-lab-test')
        self.assertEqual(self.on('h1', 'ls', '/dev/shm'), 'herald-lab-test\n')
        self.assertEqual(self.on('h2', 'ls', '/dev/shm'), '')
        self.assertFalse(os.path.exists('/dev/shm/herald-lab-test'))

    def test_own_ipc(self):
        kinds = {os.readlink(f'/proc/{pid}/ns/ipc') for pid in hosts.pause_processes(self.name)}
        self.assertEqual(len(kinds), 3)

    def test_all_hosts_resolve_all_names(self):
        self.assertIn('10.77.0.2', self.on('h1', 'getent', 'hosts', 'h2'))
        self.assertIn('10.77.0.254', self.on('h2', 'getent', 'hosts', 'head'))

    def test_folder_and_exit_code_are_kept(self):
        self.assertEqual(self.on('h1', 'pwd', cwd='/usr'), '/usr\n')
        self.assertEqual(self.lab('exec', 'h1', 'sh', '-c', 'exit 7', code=None).returncode, 7)
        self.assertEqual(self.lab('exec', '--timeout', '0.3', 'h1', 'sleep', '1000', code=None).returncode, 124)
        self.assertEqual(hosts.members(self.name), [])

    def test_jobs_start_with_both_launchers(self):
        probe = BUILD + '/tests/boot_probe'
        for engine in ('mpirun', 'hydra'):
            done = self.lab('run', '--engine', engine, '--timeout', 100, '-n', 4, probe, 'exchange', 100, 2, code=None)
            if 'there is no' in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(hosts.members(self.name), [])

    def test_timeout_ends_a_job_on_all_hosts(self):
        for engine in ('mpirun', 'hydra'):
            done = self.lab('run', '--engine', engine, '--timeout', 3, 'sleep', '1000', code=None)
            if 'there is no' in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 124)
            self.assertEqual(hosts.members(self.name), [])

    def test_more_ranks_than_slots_are_rejected(self):
        self.assertIn('room for', self.lab('run', '-n', 5, '--ppn', 2, 'true', code=1).stderr)


if __name__ == '__main__':
    main()
