#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a fault without effect, so that tests under it pass for the wrong reason; a rate without effect;
a heal that leaves a fault; a switch that handles multicast as another kind does."""
import json
import sys
import time

from lab_case import HERE, LabCase, main, wait_until

COUNT = 2000


class Faults(LabCase):
    hosts = 3

    def received(self, **more):
        return self.udp('h1', ['h2'], **more)[0]

    def test_nothing_is_lost_without_a_fault(self):
        self.assertEqual(self.received(), {'received': COUNT, 'different': COUNT, 'damaged': 0})

    def test_loss_drops_its_share(self):
        self.lab('fault', 'loss', '10%')
        share = 1 - self.received()['received'] / COUNT
        self.assertTrue(0.05 < share < 0.16, share)  # nine standard deviations
        rules = json.loads(self.lab('counters', '--json').stdout)['rules']
        self.assertGreater(rules['loss'], COUNT * 0.05)
        self.lab('fault', 'loss', '0')
        self.assertEqual(self.received()['received'], COUNT)

    def test_loss_on_one_link(self):
        self.lab('fault', 'loss', '50%', '--at', 'h3')
        self.assertEqual(self.received()['received'], COUNT)
        self.assertLess(self.udp('h1', ['h3'])[0]['received'], COUNT * 0.7)

    def test_duplicates(self):
        self.lab('fault', 'duplicate', '10%')
        found = self.received()
        self.assertEqual((found['different'], found['damaged']), (COUNT, 0))
        self.assertTrue(COUNT * 1.05 < found['received'] < COUNT * 1.17, found)

    def test_corruption_reaches_the_program(self):
        self.lab('fault', 'corrupt', '10%')
        found = self.received()
        self.assertEqual(found['received'], COUNT)
        self.assertTrue(COUNT * 0.05 < found['damaged'] < COUNT * 0.16, found)

    def reaches(self, source, to):
        code = ('import socket, sys\ntry: socket.create_connection((sys.argv[1], 9), 0.5)\n'
                'except ConnectionRefusedError: sys.exit(0)\nexcept OSError: sys.exit(1)')
        return self.lab('exec', source, sys.executable, '-c', code, to, code=None).returncode == 0

    def assert_reaches(self, *pairs):
        """Within seconds: a host repeats a failed address resolution only after a second."""
        for source, to in pairs:
            self.assertTrue(wait_until(lambda pair=(source, to): self.reaches(*pair)), (source, to))

    def test_partition_affects_both_directions_and_heals(self):
        self.lab('fault', 'partition', 'h1,h2')
        self.assert_reaches(('h1', 'h2'), ('h2', 'h1'))
        self.assertFalse(self.reaches('h1', 'h3') or self.reaches('h3', 'h2'))
        self.assert_reaches(('head', 'h1'), ('head', 'h3'))  # the launcher is not affected
        self.lab('fault', 'heal')
        self.assert_reaches(('h1', 'h3'), ('h3', 'h2'))

    def test_link_down_and_up(self):
        self.lab('fault', 'link', 'h3', 'down')
        self.assertEqual(self.lab('exec', 'h3', 'cat', '/sys/class/net/eth0/carrier').stdout, '0\n')
        self.assertFalse(self.reaches('h1', 'h3'))
        self.assertIn('links down: h3', self.lab('status').stdout)
        self.lab('fault', 'heal')
        self.assert_reaches(('h1', 'h3'))

    def test_killed_host(self):
        victim = self.start('h3', 'sleep', '1000')
        witness = self.start('h2', 'sleep', '1000')
        while 'running 2 ' not in self.lab('status').stdout:
            time.sleep(0.05)
        self.lab('fault', 'kill', 'h3')
        self.assertNotEqual(victim.wait(60), 0)
        self.assertIsNone(witness.poll())

    def test_ipv6_reaches(self):
        self.assert_reaches(('h1', 'fd77::2'))

    def test_usage_errors(self):
        for words in (('loss', '150%'), ('loss', 'much'), ('partition', 'h9'), ('partition', 'head'), ('link', 'h1'),
                      ('link', 'h1:eth7', 'down'), ('loss', '1%', '--at', 'h8')):
            done = self.lab('fault', *words, code=1)
            self.assertIn('herald-lab: ', done.stderr)
            self.assertNotIn('Traceback', done.stderr)
        self.assertIn('faults: none', self.lab('fault', 'heal').stdout)


class Rate(LabCase):
    hosts = 4
    options = ('--rate', '20mbit', '--buffer', '32k')

    def test_rate_limit(self):
        # 400 packets of 1514 + 24 bytes on the wire are 0.246 s at 20 Mbit/s; queues and burst shorten the measured time.
        start = time.monotonic()
        sender = self.start('h1', sys.executable, HERE + '/udp_tool.py', 'blast', '10.77.0.2', '400', '1472')
        self.assertEqual(sender.wait(60), 0)
        queue = (64 << 10) / 2.5e6
        self.assertGreater(time.monotonic() - start, 400 * 1538 * 8 / 20e6 - 2 * queue)

    def test_incast_drops_at_the_port_of_the_receiver(self):
        # Until there are drops: on a busy machine the three senders may not overlap at first.
        for i in (2, 3, 4):
            self.start(f'h{i}', sys.executable, HERE + '/udp_tool.py', 'blast', '10.77.0.1', '1000000', '1472')
        limit, found = time.monotonic() + 60, {'h1': {'drops': 0}}
        while found['h1']['drops'] <= 100 and time.monotonic() < limit:
            time.sleep(0.1)
            found = json.loads(self.lab('counters', '--json').stdout)['ports']
        self.assertGreater(found['h1']['drops'], 100)
        self.assertEqual([found[f'h{i}']['drops'] for i in (2, 3, 4)], [0, 0, 0])


class Multicast(LabCase):
    """Every kind of switch in turn, with two members."""
    hosts = 3
    GROUP = '239.77.1.1'

    def test_members_receive(self):
        self.assertEqual([found['received'] for found in self.udp('h1', ['h2', 'h3'], group=self.GROUP)], [COUNT] * 2)

    def test_loss_for_each_and_for_all(self):
        self.lab('fault', 'loss', '20%')
        first, second = (found['received'] for found in self.udp('h1', ['h2', 'h3'], group=self.GROUP))
        self.assertNotEqual(first, COUNT)
        self.lab('fault', 'loss', '20%', '--at', 'all')
        first, second = (found['received'] for found in self.udp('h1', ['h2', 'h3'], group=self.GROUP))
        self.assertTrue(COUNT * 0.7 < first < COUNT * 0.9, first)
        self.assertEqual(first, second)


class NoMulticast(LabCase):
    options = ('--switch', 'nomcast')

    def test_multicast_is_dropped_and_unicast_is_not(self):
        sink = self.start('h2', sys.executable, HERE + '/udp_tool.py', 'sink', '200', Multicast.GROUP)
        self.assertEqual(sink.stdout.readline(), 'ready\n')
        self.assertEqual(self.start('h1', sys.executable, HERE + '/udp_tool.py', 'blast', Multicast.GROUP, '50', '200').wait(60), 0)
        self.start('h1', sys.executable, HERE + '/udp_tool.py', 'send', '10.77.0.2', '7', '200')
        self.assertEqual(sink.stdout.readline(), '7 7 0\n')


class Links(LabCase):
    options = ('--links', '2', '--mtu', '9000', '--switch', 'querier')

    def test_two_links_with_large_packets_and_one_down(self):
        self.assertEqual(self.lab('exec', 'h1', 'cat', '/sys/class/net/eth1/mtu').stdout, '9000\n')
        self.assertIn('10.77.1.2 h2-eth1', self.lab('exec', 'h1', 'cat', '/etc/hosts').stdout)
        self.lab('fault', 'link', 'h2:eth1', 'down')
        carriers = self.lab('exec', 'h2', 'cat', '/sys/class/net/eth0/carrier', '/sys/class/net/eth1/carrier').stdout
        self.assertEqual(carriers, '1\n0\n')
        self.assertEqual(self.udp('h1', ['h2'], count=100, size=8000)[0]['received'], 100)


if __name__ == '__main__':
    main()
