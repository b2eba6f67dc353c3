#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong with multicast: on a switch that forwards none, to some hosts only, forgets who joined, loses much, or
stops in the middle, a collective hangs, brings a wrong byte, or nobody is told; a person is told by every rank, again and
again, or where all is well."""
import re
import sys
import time

from lab_case import BUILD, HERE, main, wait_until
from lab_job import Job

PROGRAM = BUILD + '/tests/programs/lanes_hosts'
ALL = {'h1', 'h2', 'h3', 'h4'}


class Lanes(Job):
    def told(self, text):
        """The lines that a person is told of multicast: there is at most one."""
        lines = [line for line in text.splitlines() if line.startswith('herald: ') and 'multicast' in line]
        self.assertLessEqual(len(lines), 1, text)
        return lines[0] if lines else None

    def unreached(self, text):
        line = self.told(text)
        self.assertIsNotNone(line, text)
        self.assertIn('herald doctor', line)
        return set(re.search(r'does not reach ([h0-9, ]+);', line).group(1).split(', '))

    def reported(self, text, hosts):
        """Those that are named are among these: on a busy machine, some are found too late to be named."""
        self.assertLessEqual(self.unreached(text), hosts, text)

    @staticmethod
    def counters(text):
        return {name: int(value) for name, value in re.findall(r'^(\w+)=(\d+)$', text, re.MULTILINE)}

    def casts(self, seconds, communicators=1, rounds=1, **more):
        """What a job printed, and its counters."""
        done = self.run_job(PROGRAM, seconds, 100000, communicators, rounds, **more)
        return done.stdout + done.stderr, self.counters(done.stdout)


class Switches(Lanes):
    """One switch that is set in different ways."""
    hosts = 4

    def bridge(self, *words):
        self.lab('exec', 'head', 'ip', 'link', 'set', 'br0', 'type', 'bridge', *words)

    def test_snooping_of_every_kind(self):
        # Nobody asks: the switch floods. No snooping: it does so, too. All is well.
        for snooping in ('1', '0'):
            self.bridge('mcast_snooping', snooping)
            text, counted = self.casts(0.5)
            self.assertIsNone(self.told(text), text)
            self.assertGreater(counted['casts'], counted['casts_unicast'])
        # A querier, with short times: only members hear, and all members do.
        self.bridge('mcast_snooping', '1', 'mcast_query_response_interval', '50', 'mcast_startup_query_interval', '50')
        self.bridge('mcast_query_interval', '100', 'mcast_querier', '1')
        time.sleep(0.7)  # from then on it relies on what it was told
        text, counted = self.casts(1)
        self.assertGreater(counted['musters'], 0)
        self.assertIsNone(self.told(text), text)
        self.assertGreater(counted['casts'], counted['casts_unicast'])
        # One that forgets members after a second and does not ask them again.
        self.bridge('mcast_membership_interval', '100', 'mcast_query_interval', '30000')
        self.bridge('mcast_querier', '0')
        self.bridge('mcast_querier', '1')
        time.sleep(0.7)
        text, counted = self.casts(3)
        self.reported(text, ALL)
        self.assertGreater(counted['multicast_unheard'], 0)

    def test_family_6_alone(self):
        text, counted = self.casts(0.5, env=['HERALD_NET=fd77::/16'])
        self.assertIsNone(self.told(text), text)
        self.assertGreater(counted['casts'], 10 * counted['casts_unicast'])


class Broken(Lanes):
    hosts = 4

    def test_none_is_forwarded(self):
        self.lab('fault', 'multicast', '100%')
        text, counted = self.casts(1.5)
        self.reported(text, ALL)
        self.assertGreater(counted['multicast_unheard'], 0)

    def test_some_do_not_hear(self):
        self.lab('fault', 'multicast', '100%', '--at', 'h2,h3')
        text, _ = self.casts(1.5)
        self.reported(text, {'h2', 'h3'})

    def test_much_is_lost(self):
        self.lab('fault', 'multicast', '40%')
        text, counted = self.casts(0.5, rounds=32)
        self.assertRegex(self.told(text) or '', r'% of the multicast to .* is lost and sent again')
        self.assertGreater(counted['casts_missed'], 0)

    def test_the_modes_of_the_paper(self):
        for mode in ('simple', 'push_pull'):
            for share in ('0%', '5%'):
                self.lab('fault', 'loss', share)
                self.casts(0, rounds=4, env=[f'HERALD_LANES_MODE={mode}'])

    def test_it_stops_in_the_middle_and_begins_again(self):
        child = self.begin(PROGRAM, '6', '300000')
        for words in (['100%'], ['100%', '--at', 'h2,h3'], ['30%'], ['0%']):
            self.lab('fault', 'multicast', *words)
            time.sleep(0.8)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        self.reported(out, ALL)
        self.assertGreater(self.counters(out)['multicast_heard_again'], 0)


class Addresses(Lanes):
    """Groups of the kernel that jobs share, and that there are too few of."""
    hosts = 3
    RANGE = ['HERALD_LANES_NET=239.195.7.0/28', 'HERALD_LANES_PORT=21999']

    def groups(self, host):
        """That a job has joined there, as numbers."""
        text = self.lab('exec', host, 'cat', '/proc/net/igmp').stdout
        found = {int(word, 16) for word in re.findall(r'^\t+([0-9A-F]{8}) ', text, re.MULTILINE)}
        return {number for number in found if number & 0xff == 239}  # the order of the wire

    def disturbed(self, seconds):
        """A job of so long that hears strangers; None if it was over before they came."""
        # With this key the lane has another address of the sixteen than the one that lanes may share.
        child = self.begin(PROGRAM, str(seconds), '20000', '1', '50', env=self.RANGE + ['HERALD_JOB_KEY=' + '0123456789abcdef' * 2])
        self.assertTrue(wait_until(lambda: len(self.groups('h2')) == 2 or child.poll() is not None))
        before = self.groups('h2')
        for number in before:
            address = '.'.join(str(number >> shift & 0xff) for shift in (0, 8, 16, 24))
            self.start('h3', sys.executable, HERE + '/udp_tool.py', 'blast', address, '400', '200', '21999').wait(60)
        if child.poll() is not None:
            return None
        self.assertTrue(wait_until(lambda: not before & self.groups('h2') or child.poll() is not None))
        return child

    def test_strangers_on_the_address_make_the_lane_move(self):
        child = self.disturbed(3) or self.disturbed(15)  # the machine may be busy
        self.assertIsNotNone(child)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        counted = self.counters(out)
        self.assertGreaterEqual(counted['multicast_foreign'], 64)
        self.assertGreaterEqual(counted['lanes_moved'], 3)  # all members

    def heard_of_each_other(self, seconds):
        """Datagrams of the other one that two jobs saw, of which the first takes so long."""
        # With so many communicators each job uses most of sixteen addresses.
        first = self.begin(PROGRAM, str(seconds), '20000', '24', env=self.RANGE)
        text, counted = self.casts(1, communicators=24, env=self.RANGE)
        self.assertIsNone(self.told(text), text)
        out, _ = first.communicate(timeout=120)
        self.assertEqual(first.returncode, 0, out)
        self.assertIn('passed', out)
        self.assertIsNone(self.told(out), out)
        return counted['multicast_foreign'] + self.counters(out)['multicast_foreign']

    def test_two_jobs_on_the_same_addresses(self):
        # On a busy machine the first may be over before the second begins.
        self.assertGreater(self.heard_of_each_other(3) or self.heard_of_each_other(15), 0)

    def test_communicators_share_a_group_where_no_more_can_be_joined(self):
        self.addCleanup(self.lab, 'exec', 'all', 'sh', '-c', 'echo 20 > /proc/sys/net/ipv4/igmp_max_memberships')
        self.lab('exec', 'all', 'sh', '-c', 'echo 3 > /proc/sys/net/ipv4/igmp_max_memberships')
        child = self.begin(PROGRAM, '1', '20000', '12')
        self.assertLessEqual(len(self.groups('h2')), 3)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        self.assertIsNone(self.told(out), out)
        counted = self.counters(out)
        self.assertGreater(counted['casts'], counted['casts_unicast'])  # by multicast all the same
        self.assertGreater(counted['lanes_moved'], 0)
        self.assertEqual(self.groups('h2'), set())


if __name__ == '__main__':
    main()
