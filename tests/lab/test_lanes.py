#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong with multicast: on a switch that forwards none, to some hosts only, forgets who joined, loses much, or
stops in the middle, a collective hangs, brings a wrong byte, or nobody is told; a person is told by every rank, again and
again, or where all is well."""
import re
import time

from lab_case import BUILD, main
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
        self.assertIsNone(self.told(text), text)
        self.assertGreater(counted['casts'], counted['casts_unicast'])
        # One that forgets members after a second and does not ask them again.
        self.bridge('mcast_membership_interval', '100', 'mcast_query_interval', '30000')
        self.bridge('mcast_querier', '0')
        self.bridge('mcast_querier', '1')
        time.sleep(0.7)
        text, counted = self.casts(4)
        self.reported(text, ALL)
        self.assertGreater(counted['multicast_unheard'], 0)


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

    def test_it_stops_in_the_middle_and_begins_again(self):
        child = self.begin(PROGRAM, '5', '300000')
        for words in (['100%'], ['100%', '--at', 'h2,h3'], ['30%'], ['0%']):
            self.lab('fault', 'multicast', *words)
            time.sleep(1)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        self.reported(out, ALL)
        self.assertGreater(self.counters(out)['multicast_heard_again'], 0)


if __name__ == '__main__':
    main()
