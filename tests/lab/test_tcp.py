#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a job whose UDP a firewall drops, from its start or in the middle, hangs, dies, or does not say
why; a TCP connection that is refused, cut or blackholed loses or doubles bytes; a stranger gets a connection."""
import random
import re
import sys
import time

from lab_case import BUILD, LIMIT, main
from lab_job import Job

PROGRAM = BUILD + '/tests/programs/mix'
FIRST, LAST = 20000, 20100
PORTS = f'HERALD_PORTS={FIRST}-{LAST}'
LINE = 'UDP does not pass between'
STALL = 2.0  # s, as promised
BUSY = 1.5  # s that a machine with fewer processors than ranks adds
STRANGER = """
import socket, sys, time
found = 0
for port in range(%d, %d):
    for text in (b'', b'GET / HTTP/1.0\\r\\n\\r\\n', bytes(40), b'\\x24\\x00\\x02\\x00' + bytes(36)):
        try:
            with socket.create_connection((sys.argv[1], port), 1) as one:
                one.settimeout(5)
                one.sendall(text)
                while one.recv(100):
                    pass
                found += 1
        except ConnectionResetError:
            found += 1
        except OSError:
            break
print('closed', found)
""" % (FIRST, LAST)


class Firewalled(Job):
    hosts = 3
    largest = ()

    def mix(self, seconds, *env):
        return self.begin(PROGRAM, str(seconds), str(random.randrange(1 << 30)), *self.largest, limit=seconds + 80, env=[PORTS, *env])

    def result(self, child):
        out, _ = child.communicate(timeout=LIMIT)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        return out, [(float(end), float(took)) for end, took in re.findall(r'^slow (\S+) (\S+)', out, re.MULTILINE)]

    def assert_goes_on(self, slow, after):
        worst = max((end - max(after, end - took) for end, took in slow if end > after), default=0)
        self.assertLess(worst, STALL + BUSY, slow)

    def firewall(self, host, *rules):
        """Rules for what comes to a host; none: they go."""
        self.lab('exec', host, 'nft', 'delete table inet test_tcp', code=None)
        if rules:
            self.addCleanup(self.lab, 'exec', host, 'nft', 'delete table inet test_tcp', code=None)
            text = 'table inet test_tcp {\nchain input {\ntype filter hook input priority 0\n' + '\n'.join(rules) + '\n}\n}\n'
            self.lab('exec', host, 'nft', text)


class Bulk(Firewalled):
    """Long messages on a fast network go as bulk frames by TCP."""
    options = ('--offloads', 'on')
    largest = ('700000',)  # ints

    def counts(self, out):
        found = re.findall(r'bulk frames sent: (\d+), pulls resumed: (\d+)', out)
        return [sum(int(one[i]) for one in found) for i in range(2)]

    def test_frames_are_used_and_can_be_forbidden(self):
        for level in ('tag', 'auth', 'encrypt'):
            out, _ = self.result(self.mix(6 if level == 'tag' else 3, 'HERALD_VERBOSE=1', f'HERALD_SECURE={level}'))
            self.assertGreater(self.counts(out)[0], 20, out)
        out, _ = self.result(self.mix(2, 'HERALD_VERBOSE=1', 'HERALD_PATH=shm,udp'))
        self.assertEqual(self.counts(out), [0, 0], out)

    def test_connections_that_are_cut_or_blackholed_lose_and_double_nothing(self):
        child = self.mix(12, 'HERALD_VERBOSE=1')
        ports = f'{FIRST}-{LAST}'
        for verdict in ('reject with tcp reset', 'reject with tcp reset', 'drop'):
            time.sleep(1.5)
            self.firewall('h2', f'tcp dport {ports} {verdict}', f'tcp sport {ports} {verdict}')
            time.sleep(0.3 if verdict != 'drop' else 2.5)
            self.firewall('h2')
        out, _ = self.result(child)
        frames, resumed = self.counts(out)
        self.assertGreater(frames, 20, out)
        self.assertGreater(resumed, 0, out)


class Blocked(Firewalled):
    def test_from_the_start(self):
        self.lab('fault', 'loss', '100%')
        begin = time.monotonic()
        out, slow = self.result(self.mix(4))
        self.assertEqual(out.count(LINE), 1, out)
        self.assertIn(f'udp dport {FIRST}-{LAST} accept', out)
        self.assert_goes_on(slow, 0)
        self.assertLess(time.monotonic() - begin, 60)

    def test_in_the_middle_and_open_again(self):
        child = self.mix(16, 'HERALD_VERBOSE=1')  # commands in the lab are slow on a busy machine
        time.sleep(1.5)
        blocked = time.time()
        self.lab('fault', 'loss', '100%')
        time.sleep(4)
        self.lab('fault', 'heal')
        out, slow = self.result(child)
        self.assertEqual(out.count(LINE), 1, out)
        self.assertIn('go by TCP', out)
        self.assertIn('go by UDP again', out)
        self.assert_goes_on(slow, blocked)

    def test_in_one_direction_only(self):
        child = self.mix(12)
        time.sleep(1.5)
        blocked = time.time()
        self.firewall('h2', 'meta l4proto udp drop')
        out, slow = self.result(child)
        self.assertIn(LINE, out)
        self.assert_goes_on(slow, blocked)

    def test_without_a_way_by_tcp_it_waits_and_then_goes_on(self):
        child = self.mix(12)
        time.sleep(1)
        ports = f'{FIRST}-{LAST}'
        for rule in (f'tcp dport {ports} reject with tcp reset', f'tcp dport {ports} drop'):
            for host in ('h1', 'h2', 'h3'):
                self.firewall(host, rule)
            self.lab('fault', 'loss', '100%')
            time.sleep(2)
            for host in ('h1', 'h2', 'h3'):
                self.firewall(host)
            time.sleep(2.5)
            self.lab('fault', 'heal')
        self.result(child)

    def test_connections_that_are_cut_again_and_again(self):
        self.lab('fault', 'loss', '100%')
        child = self.mix(8)
        ports = f'{FIRST}-{LAST}'
        for _ in range(4):
            self.firewall('h2', f'tcp dport {ports} reject with tcp reset', f'tcp sport {ports} reject with tcp reset')
            time.sleep(0.2)
            self.firewall('h2')
            time.sleep(1)
        healed = time.time()
        _, slow = self.result(child)
        self.assert_goes_on(slow, healed)

    def test_connections_that_are_blackholed(self):
        self.lab('fault', 'loss', '100%')
        child = self.mix(10)
        ports = f'{FIRST}-{LAST}'
        time.sleep(1)
        self.firewall('h2', f'tcp dport {ports} drop', f'tcp sport {ports} drop')
        time.sleep(3)
        self.firewall('h2')
        self.result(child)

    def test_strangers_are_refused_and_counted(self):
        child = self.mix(10, 'HERALD_VERBOSE=1')
        done = self.lab('exec', 'h3', sys.executable, '-c', STRANGER, self.address('h1'))
        self.assertEqual(done.stdout, 'closed 4\n')
        out, _ = self.result(child)
        counts = [int(count) for count in re.findall(r'TCP connections and probes refused: (\d+)', out)]
        self.assertGreaterEqual(sum(counts), 4, out)
        self.assertNotIn(LINE, out)

    def test_ports_that_are_used_up_or_wrong(self):
        for value, words in (('20000-20001', 'HERALD_PORTS=20000-20001: all these ports of'), ('20000', 'a range of ports')):
            done = self.lab('run', '--engine', self.engine, '--timeout', 60, '-n', 6, '--env', f'HERALD_PORTS={value}', '--env',
                            'HERALD_PATH=udp,tcp', PROGRAM, '1', '1', code=None)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn(words, done.stdout + done.stderr)

    def test_no_udp_at_all_by_choice(self):
        self.lab('fault', 'loss', '100%')
        out, _ = self.result(self.mix(4, 'HERALD_PATH=shm,tcp'))
        self.assertNotIn(LINE, out)

    def test_encrypted(self):
        self.lab('fault', 'loss', '100%')
        out, _ = self.result(self.mix(4, 'HERALD_SECURE=encrypt'))
        self.assertIn(LINE, out)


if __name__ == '__main__':
    main()
