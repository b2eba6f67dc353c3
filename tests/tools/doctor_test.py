#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: `herald doctor` hangs, or leaves files; its JSON is malformed; its exit code contradicts its
findings; under a launcher every rank prints, or a file gets colours; a wrong HERALD_IF is not reported; a partition, a switch without multicast
or a small MTU is missed, or reported without cause."""
import json
import os
import shutil
import subprocess
import sys
import unittest

BUILD, SOURCE = sys.argv[1:3]
del sys.argv[1:]
HERALD = BUILD + '/bin/herald'
LAB = SOURCE + '/lab/herald-lab'
NAME = f'doctor{os.getpid() % 10000}'


def run(*words, timeout=120, **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith(('HERALD_', 'PMI', 'PMIX'))}
    full.update(env)
    return subprocess.run(words, capture_output=True, text=True, env=full, timeout=timeout)


def ids(report):
    return sorted({finding['id'] for finding in report['findings']})


class Alone(unittest.TestCase):
    def check(self, done):
        report = json.loads(done.stdout)
        self.assertEqual(done.stderr, '')
        self.assertEqual(done.returncode, 0 if report['well'] else 1)
        self.assertEqual(report['well'], report['findings'] == [])
        for finding in report['findings']:
            self.assertTrue(finding['what'] and finding['cure'] and finding['hosts'], finding)
        return report

    def test_one_host(self):
        report = self.check(run(HERALD, 'doctor', '--json'))
        self.assertEqual((report['started_by'], report['ranks'], len(report['hosts'])), ('alone', 1, 1))
        host = report['hosts'][0]
        self.assertIn('lo', [interface['name'] for interface in host['interfaces']])
        self.assertGreater(host['sockets']['receive'], 0)
        self.assertEqual(host['name'], os.uname().nodename)

    def test_text_and_json_agree(self):
        report = self.check(run(HERALD, 'doctor', '--json'))
        done = run(HERALD, 'doctor')
        self.assertEqual('No problems found.' in done.stdout, report['well'])
        self.assertEqual(done.stdout.count('  remedy: '), len(report['findings']))

    def test_several_ranks_give_one_report(self):
        done = run(BUILD + '/bin/mpiexec', '--timeout', '60', '-n', '2', HERALD, 'doctor', '--json')
        report = json.loads(done.stdout)
        self.assertEqual((report['ranks'], len(report['hosts'])), (2, 1))
        self.assertEqual(report['hosts'][0]['ranks'], [0, 1])
        self.assertEqual(done.returncode, 0 if report['well'] else 1)

    def test_a_file_gets_no_colours_under_mpirun(self):
        """It gives each rank a pseudo-terminal."""
        mpirun = shutil.which('mpirun.openmpi')
        if not mpirun:
            self.skipTest('no mpirun of Open MPI')
        done = run(mpirun, '--allow-run-as-root', '-n', '1', HERALD, 'doctor', TERM='xterm')
        self.assertIn('1 rank on 1 host', done.stdout, done.stderr)
        self.assertNotIn('\033', done.stdout)

    def test_invalid_setting_is_a_finding(self):
        done = run(HERALD, 'doctor', '--json', HERALD_IF='nosuch0')
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        finding = [each for each in report['findings'] if each['id'] == 'settings'][0]
        self.assertIn('HERALD_IF=nosuch0', finding['what'])

    def test_small_limits_are_findings(self):
        done = run('bash', '-c', f'ulimit -n 100; exec {HERALD} doctor --json')
        self.assertEqual(done.returncode, 1)
        self.assertIn('files', ids(json.loads(done.stdout)))


class Hosts(unittest.TestCase):
    """In the lab: three hosts made from namespaces."""

    @classmethod
    def setUpClass(cls):
        done = run(LAB, 'check')
        if done.returncode != 0:
            raise unittest.SkipTest(done.stdout.strip() or done.stderr.strip())

    def tearDown(self):
        run(LAB, 'down', '--name', NAME)

    def up(self, *words):
        done = run(LAB, 'up', '3', '--name', NAME, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def lab(self, *words):
        done = run(LAB, words[0], '--name', NAME, *words[1:])
        self.assertEqual(done.returncode, 0, done.stderr)

    def doctor(self):
        done = run(LAB, 'run', '--name', NAME, '--timeout', '60', HERALD, 'doctor', '--json')
        start = done.stdout.find('{')
        self.assertGreaterEqual(start, 0, done.stdout + done.stderr)
        report, _ = json.JSONDecoder().raw_decode(done.stdout[start:])
        self.assertEqual([host['name'] for host in report['hosts']], ['h1', 'h2', 'h3'])
        self.assertEqual(done.returncode == 0, report['well'])
        return report

    # Findings about the machine that runs the test.
    OWN = {'cma', 'shm', 'files', 'clock_source', 'socket_buffers'}

    def test_no_fault_then_partition_then_small_mtu(self):
        self.up()
        report = self.doctor()
        self.assertEqual(set(ids(report)) - self.OWN, set())
        self.assertEqual(len(report['reach']), 6)
        self.assertTrue(all(way['small'] and way['full'] and way['full_bytes'] == 1472 for way in report['reach']))
        self.assertTrue(all(pair['heard'] > 0 for pair in report['multicast']))
        self.lab('fault', 'partition', 'h1')
        report = self.doctor()
        self.assertEqual(set(ids(report)) - self.OWN, {'unreachable'})
        self.assertEqual({way['small'] for way in report['reach'] if 'h1' in (way['from'], way['to'])}, {False})
        self.assertEqual({way['small'] for way in report['reach'] if 'h1' not in (way['from'], way['to'])}, {True})
        self.lab('fault', 'heal')
        self.lab('exec', 'h2', 'ip', 'link', 'set', 'eth0', 'mtu', '1300')
        report = self.doctor()
        self.assertEqual(set(ids(report)) - self.OWN, {'mtu'})
        finding = [each for each in report['findings'] if each['id'] == 'mtu'][0]
        self.assertEqual(finding['hosts'], ['h2'])
        # Datagrams have the smallest MTU of all hosts, and pass.
        self.assertTrue(all(way['full'] for way in report['reach']))

    def test_switch_without_multicast(self):
        self.up('--switch', 'nomcast')
        report = self.doctor()
        self.assertEqual(set(ids(report)) - self.OWN, {'multicast'})
        self.assertTrue(all(way['small'] for way in report['reach']))

    def test_multicast_that_reaches_some_hosts(self):
        self.up()
        self.lab('fault', 'multicast', '100%', '--at', 'h2')
        report = self.doctor()
        self.assertEqual({pair['to'] for pair in report['multicast'] if pair['heard'] == 0}, {'h2'})
        self.assertEqual([each['hosts'] for each in report['findings'] if each['id'] == 'multicast'], [['h2']])

    def test_loss_and_damage_are_located(self):
        """Loss on the link of one host, in both directions; then packets with other bytes, and a checksum that fits."""
        self.up()
        self.lab('fault', 'loss', '2%', '--at', 'h2')
        report = self.doctor()
        found = [each for each in report['findings'] if each['id'] == 'loss']
        self.assertEqual({host for each in found for host in each['hosts']}, {'h2'}, report['findings'])
        self.assertTrue(all('here' in each['what'] and each['cure'] for each in found))
        self.lab('fault', 'heal')
        self.lab('fault', 'corrupt', '5%')
        self.assertIn('corruption', ids(self.doctor()))


if __name__ == '__main__':
    result = unittest.main(exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
