#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong with multicast: on a switch that forwards none, or only to some hosts, forgets members, loses
packets or stops during a job, a collective hangs or delivers wrong data; the problem is not reported, or more than once,
or without cause."""
import re
import sys
import time

from lab_case import BUILD, HERE, main, wait_until
from lab_job import Job

PROGRAM = BUILD + '/tests/programs/lanes_hosts'
ALL = {'h1', 'h2', 'h3', 'h4'}


class Lanes(Job):
    def report_in(self, text):
        """The report about multicast: at most one line."""
        lines = [line for line in text.splitlines() if line.startswith('herald: ') and 'multicast' in line]
        self.assertLessEqual(len(lines), 1, text)
        return lines[0] if lines else None

    def reported(self, text, hosts):
        """The named hosts are among these: on a busy machine, some are detected too late to be named, or as hosts
        that lose much."""
        line = self.report_in(text)
        self.assertIsNotNone(line, text)
        self.assertIn('herald doctor', line)
        named = re.findall(r'(?:does not reach|of the multicast to) ([h0-9, ]+?)(?:;| is lost)', line)
        self.assertTrue(named, text)
        self.assertLessEqual(set(', '.join(named).split(', ')), hosts, text)

    @staticmethod
    def counters(text):
        return {name: int(value) for name, value in re.findall(r'^(\w+)=(\d+)$', text, re.MULTILINE)}

    def casts(self, seconds, communicators=1, rounds=1, **more):
        """Output and counters of a job."""
        done = self.run_job(PROGRAM, seconds, 100000, communicators, rounds, **more)
        return done.stdout + done.stderr, self.counters(done.stdout)


class Switches(Lanes):
    """One switch with different settings."""
    hosts = 4

    def bridge(self, *words):
        self.lab('exec', 'head', 'ip', 'link', 'set', 'br0', 'type', 'bridge', *words)

    def test_all_kinds_of_snooping(self):
        # A switch that forgets members drops IPv6's neighbour discovery too: later tests get one that floods.
        self.addCleanup(self.bridge, 'mcast_snooping', '0', 'mcast_querier', '0')
        # Without querier and without snooping the switch floods: no problem.
        for snooping in ('1', '0'):
            self.bridge('mcast_snooping', snooping)
            text, counted = self.casts(0.5)
            self.assertIsNone(self.report_in(text), text)
            self.assertGreater(counted['casts'], counted['casts_unicast'])
        # A querier with short intervals: all members receive multicast, and only they.
        self.bridge('mcast_snooping', '1', 'mcast_query_response_interval', '50', 'mcast_startup_query_interval', '50')
        self.bridge('mcast_query_interval', '100', 'mcast_querier', '1')
        time.sleep(0.7)  # until the switch uses the membership reports
        text, counted = self.casts(1)
        self.assertGreater(counted['fused'], 0)
        self.assertIsNone(self.report_in(text), text)
        self.assertGreater(counted['casts'], counted['casts_unicast'])
        # A switch that forgets members after a second and sends no queries.
        self.bridge('mcast_membership_interval', '100', 'mcast_query_interval', '30000')
        self.bridge('mcast_querier', '0')
        self.bridge('mcast_querier', '1')
        time.sleep(0.7)
        text, counted = self.casts(3)
        self.reported(text, ALL)
        self.assertGreater(counted['multicast_unheard'], 0)

    def test_ipv6_only(self):
        text, counted = self.casts(0.5, env=['HERALD_NET=fd77::/16'])
        self.assertIsNone(self.report_in(text), text)
        self.assertGreater(counted['casts'], 10 * counted['casts_unicast'])


class Faulty(Lanes):
    hosts = 4

    def test_no_multicast(self):
        self.lab('fault', 'multicast', '100%')
        text, counted = self.casts(1.5)
        self.reported(text, ALL)
        self.assertGreater(counted['multicast_unheard'], 0)

    def test_multicast_to_some_hosts_only(self):
        self.lab('fault', 'multicast', '100%', '--at', 'h2,h3')
        text, _ = self.casts(1.5)
        self.reported(text, {'h2', 'h3'})

    def test_high_loss(self):
        self.lab('fault', 'multicast', '40%')
        text, counted = self.casts(0.5, rounds=32)
        self.assertRegex(self.report_in(text) or '', r'% of the multicast to .* is lost and sent again')
        self.assertGreater(counted['casts_missed'], 0)

    def test_the_modes_of_the_paper(self):
        for mode in ('simple', 'push_pull'):
            for share in ('0%', '5%'):
                self.lab('fault', 'loss', share)
                self.casts(0, rounds=4, env=[f'HERALD_BASELINE=cast={mode}'])

    def interrupted(self, seconds):
        """Output of a job whose multicast stops and comes back; None if it ended before that."""
        child = self.begin(PROGRAM, str(seconds), '300000')
        for words in (['100%'], ['100%', '--at', 'h2,h3'], ['30%'], ['0%']):
            self.lab('fault', 'multicast', *words)
            time.sleep(0.8)
        under_way = child.poll() is None
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        return out if under_way else None

    def test_multicast_stops_and_recovers_during_a_job(self):
        out = self.interrupted(6) or self.interrupted(30)  # the machine may be busy
        self.assertIsNotNone(out)
        self.reported(out, ALL)
        self.assertGreater(self.counters(out)['multicast_heard_again'], 0)


class Links(Lanes):
    """Hosts with two interfaces."""
    hosts = 3
    options = ('--links', '2')

    def test_lanes_survive_that_one_of_two_links_fails(self):
        child = self.begin(PROGRAM, '6', '100000')
        for link in ('h2:eth1', 'h2:eth0'):  # the launcher needs eth0: it is restored
            self.lab('fault', 'link', link, 'down')
            time.sleep(1.2)
            self.lab('fault', 'link', link, 'up')
        self.must_pass(child)

    def test_two_interfaces_on_one_switch(self):
        """Each interface receives each datagram: the program must get it once, and no lane moves."""
        for words in ('add up0 type veth peer name up1', 'set up0 master br0 up', 'set up1 master br1 up'):
            self.lab('exec', 'head', 'ip', 'link', *words.split())
        for env in (), ['HERALD_NET=fd77::/16']:
            text, counters = self.casts(1, env=env)
            self.assertIsNone(self.report_in(text))
            self.assertGreater(counters['casts'], 10 * counters['casts_unicast'], text)
            self.assertEqual(counters['lanes_moved'], 0, text)


class Addresses(Lanes):
    """Multicast groups that jobs share, and the limit of memberships."""
    hosts = 3
    RANGE = ['HERALD_LANES_NET=239.195.7.0/28', 'HERALD_PORTS=21900-21999']

    def groups(self, host):
        """Groups that a job has joined on a host, as numbers."""
        text = self.lab('exec', host, 'cat', '/proc/net/igmp').stdout
        found = {int(word, 16) for word in re.findall(r'^\t+([0-9A-F]{8}) ', text, re.MULTILINE)}
        return {number for number in found if number & 0xff == 239}  # network byte order

    def disturbed(self, seconds):
        """A job that receives foreign packets; None if it ended before they came."""
        # With this key the address of the lane differs from the shared one.
        child = self.begin(PROGRAM, str(seconds), '20000', '1', '50', env=self.RANGE + ['HERALD_JOB_KEY=' + '4123456789abcdef' * 2])
        self.assertTrue(wait_until(lambda: len(self.groups('h2')) == 2 or child.poll() is not None))
        before = self.groups('h2')
        for number in before:
            address = '.'.join(str(number >> shift & 0xff) for shift in (0, 8, 16, 24))
            self.start('h3', sys.executable, HERE + '/udp_tool.py', 'blast', address, '400', '200', '21999').wait(60)
        if child.poll() is not None:
            return None
        self.assertTrue(wait_until(lambda: not before & self.groups('h2') or child.poll() is not None))
        return child

    def test_foreign_packets_make_the_lane_move(self):
        child = self.disturbed(3) or self.disturbed(15)  # the machine may be busy
        self.assertIsNotNone(child)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        counted = self.counters(out)
        self.assertGreaterEqual(counted['multicast_foreign'], 64)
        self.assertGreaterEqual(counted['lanes_moved'], 3)  # all members

    def heard_of_each_other(self, seconds):
        """Datagrams of the other job that each of two jobs received."""
        # With this number of communicators each job uses most of the sixteen addresses.
        first = self.begin(PROGRAM, str(seconds), '20000', '24', env=self.RANGE)
        text, counted = self.casts(1, communicators=24, env=self.RANGE)
        self.assertIsNone(self.report_in(text), text)
        out, _ = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 0, out)
        self.assertIn('passed', out)
        self.assertIsNone(self.report_in(out), out)
        return counted['multicast_foreign'] + self.counters(out)['multicast_foreign']

    def test_two_jobs_on_the_same_addresses(self):
        # On a busy machine the first job may end before the second starts.
        self.assertGreater(self.heard_of_each_other(3) or self.heard_of_each_other(15), 0)

    def test_communicators_share_a_group_at_the_membership_limit(self):
        self.addCleanup(self.lab, 'exec', 'all', 'sh', '-c', 'echo 20 > /proc/sys/net/ipv4/igmp_max_memberships')
        self.lab('exec', 'all', 'sh', '-c', 'echo 3 > /proc/sys/net/ipv4/igmp_max_memberships')
        child = self.begin(PROGRAM, '1', '20000', '12')
        self.assertLessEqual(len(self.groups('h2')), 3)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        self.assertIsNone(self.report_in(out), out)
        counted = self.counters(out)
        self.assertGreater(counted['casts'], counted['casts_unicast'])  # multicast is still used
        self.assertGreater(counted['lanes_moved'], 0)
        self.assertEqual(self.groups('h2'), set())


if __name__ == '__main__':
    main()
