#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong, without a network: a share of packets misread by a factor of 100, ranks placed on wrong hosts,
an option of ssh used as a host name, a missing rule. Needs no root."""
import copy
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(sys.argv[2])
del sys.argv[1:3]
sys.path.insert(0, SOURCE + '/lab')
from heraldlab import cli, faults, jobs, network, tool  # noqa: E402


def some_lab(**more):
    rows = [{'name': f'h{i}', 'pid': 100 + i, 'net': i} for i in range(1, 4)]
    return {'name': 'x', 'hosts': rows, 'head': {'name': 'head', 'pid': 9, 'net': 9}, 'links': 2, 'mtu': 1500,
            'switch': 'snooping', 'rate': '1gbit', 'faults': {**copy.deepcopy(faults.NONE), **more}}


class Helpers(unittest.TestCase):
    def test_shares(self):
        for text, parts in (('1%', 10000), ('0.5%', 5000), ('0.01', 10000), ('50%', 500000), ('0', 0), ('100%', 1000000)):
            self.assertEqual(faults.part(text), parts)
        for text in ('101%', '2', '-1%', '1%%', '', 'x'):
            self.assertRaises(tool.LabError, faults.part, text)

    def test_help_writes_a_share_as_the_user_does(self):
        for words in (['--help'], ['fault', '--help'], ['up', '--help']):
            done = subprocess.run([sys.executable, '-c', 'import sys; from heraldlab import cli; cli.main(sys.argv[1:])', *words],
                                  capture_output=True, text=True, cwd=SOURCE + '/lab', check=False)
            self.assertIn('1%', done.stdout, words)
            self.assertNotIn('%%', done.stdout, words)

    def test_sizes_and_rates(self):
        self.assertEqual([cli.bytes_of(text) for text in ('7', '256k', '1M')], [7, 262144, 1048576])
        self.assertEqual([cli.rate_of(text) for text in ('none', '100mbit', '1gbit')], ['', '100mbit', '1gbit'])

    def test_placement(self):
        self.assertEqual(jobs.placement(some_lab(), None, None), (3, 1, ['h1', 'h2', 'h3']))
        self.assertEqual(jobs.placement(some_lab(), 2, None), (2, 1, ['h1', 'h2']))
        self.assertEqual(jobs.placement(some_lab(), 5, None), (5, 2, ['h1', 'h2', 'h3']))
        self.assertEqual(jobs.placement(some_lab(), 4, 4), (4, 4, ['h1']))
        self.assertEqual(jobs.placement(some_lab(), None, 2, ['h3', 'h1']), (4, 2, ['h3', 'h1']))
        self.assertRaises(tool.LabError, jobs.placement, some_lab(), 7, 2)
        self.assertRaises(tool.LabError, jobs.placement, some_lab(), None, None, ['h4'])

    def test_no_faults_no_rules(self):
        text = faults.rules(some_lab())
        self.assertNotIn('drop', text)
        self.assertNotIn('dup', text)

    def test_faults_reach_every_port(self):
        text = faults.rules(some_lab(loss=10000, duplicate=5, partition=['h2']))
        self.assertIn('numgen random mod 1000000 < 10000 counter drop', text)
        self.assertIn('iifname { "h2", "h2.1" } oifname != { "h2", "h2.1" } counter drop', text)
        self.assertEqual(text.count('dup to'), 6)

    def test_burst_covers_the_largest_packet_and_a_late_timer(self):
        def burst(mtu, rate):
            words = network.shaping({**some_lab(), 'mtu': mtu, 'rate': rate}, 'eth0', 1)
            return int(words[words.index('burst') + 1])
        self.assertGreaterEqual(burst(9000, '100mbit'), 9000 + 14)
        self.assertEqual([burst(1500, rate) for rate in ('500kbit', '100mbit', '1gbit', '2.5gbit')],
                         [4096, 4096, 12500, 31250])


class Agent(unittest.TestCase):
    def test_options_of_ssh_are_ignored_words_joined_and_input_passed_on(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(SOURCE + '/lab/agent', encoding='utf-8') as file:
                text = file.read().replace('/run/herald-lab', folder)
            os.mkdir(folder + '/x')
            child = subprocess.Popen(['sleep', '1000'], env={**os.environ, 'HERALDLAB_HOST': 'x/h2'})
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            with open(folder + '/x/table', 'w', encoding='utf-8') as file:
                file.write(f'h1 10.77.0.1 1\nh2 10.77.0.2 {child.pid}\n')
            with open(folder + '/nsenter', 'w', encoding='utf-8') as file:
                file.write('#!/bin/sh\necho "$@"\ncat\n')
            os.chmod(folder + '/nsenter', 0o755)

            def call(*words):
                return subprocess.run(['sh', '-c', text, 'agent', *words], capture_output=True, text=True, input='input\n',
                                      env={**os.environ, 'HERALDLAB': 'x', 'PATH': folder + ':' + os.environ['PATH']})

            for words in (('-x', 'h2', 'a', 'b'), ('-o', 'Any=1', '-q', '10.77.0.2', 'a b'), ('-l', 'me', 'you@h2', '-n', 'a', 'b')):
                self.assertEqual(call(*words).stdout, f'--target {child.pid} --net --uts --ipc --mount -- sh -c a b\ninput\n')
            for host in ('h1', 'h3'):  # h1: another process has its pid
                self.assertEqual(call(host, 'true').returncode, 255)


if __name__ == '__main__':
    unittest.main()
