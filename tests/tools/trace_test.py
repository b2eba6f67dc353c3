#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a timeline is not JSON, lacks events, or is lost when the job aborts; merged timelines are out
of order or misaligned; another file is accepted as a timeline."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:]
LIMIT = 120


def run(*words, **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith('HERALD_')}
    full.update(env)
    return subprocess.run(words, capture_output=True, text=True, env=full, timeout=LIMIT)


class Timelines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def job(self, ranks, program, *words, **env):
        return run(BUILD + '/bin/mpiexec', '-n', str(ranks), BUILD + '/tests/programs/' + program, *words, **env)

    def load(self, name):
        with open(f'{self.dir}/{name}', encoding='utf-8') as file:
            return json.load(file)

    def write(self, name, **more):
        facts = {'rank': 0, 'size': 2, 'host': 'a', 'clock': 'x', 'start_ns': 0, 'lost': 0, **more.pop('facts', {})}
        with open(f'{self.dir}/{name}', 'w', encoding='utf-8') as file:
            json.dump({'herald': facts, 'traceEvents': [], **more}, file)
        return f'{self.dir}/{name}'

    def test_timeline_of_a_job(self):
        done = self.job(4, 'coll_blocking', HERALD_TRACE=self.dir + '/t-%r.json')
        self.assertEqual(done.returncode, 0, done.stderr)
        files = [f'{self.dir}/t-{rank}.json' for rank in range(4)]
        for rank in range(4):
            line = self.load(f't-{rank}.json')
            self.assertEqual((line['herald']['rank'], line['herald']['size']), (rank, 4))
            events = line['traceEvents']
            open_ones = {}
            for event in events:
                if event['ph'] == 'b':
                    open_ones[event['id']] = event
                elif event['ph'] == 'e':
                    self.assertLessEqual(open_ones.pop(event['id'])['ts'], event['ts'])
            names = {event['name'] for event in events}
            self.assertLessEqual({'send', 'receive', 'collective', 'wait', 'MPI_Bcast', 'MPI_Allreduce'}, names)
            self.assertNotIn('MPI_Comm_rank', names)  # calls in which nothing happens are left out
            self.assertTrue(any(event.get('args', {}).get('operation') == 'bcast' for event in events))
        done = run(BUILD + '/bin/herald', 'trace', *files, '-o', self.dir + '/all.json')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 6)
        events = self.load('all.json')['traceEvents']
        times = [event['ts'] for event in events if 'ts' in event]
        self.assertEqual(times, sorted(times))
        arrows = [event for event in events if event.get('cat') == 'message']
        self.assertEqual(len(times) - len(arrows), sum(len(self.load(f't-{rank}.json')['traceEvents']) - 2 for rank in range(4)))

    def test_calls_have_arguments_and_messages_are_arrows(self):
        self.assertEqual(self.job(2, 'p2p_basic', HERALD_TRACE=self.dir + '/t.json').returncode, 0)
        files = [f'{self.dir}/t.{rank}.json' for rank in range(2)]
        done = run(BUILD + '/bin/herald', 'trace', *files, '-o', self.dir + '/all.json')
        self.assertEqual(done.returncode, 0, done.stderr)
        events = self.load('all.json')['traceEvents']
        names = {event['name'] for event in events if event['ph'] == 'X'}
        self.assertTrue(any(re.fullmatch(r'MPI_Send to 1, \d+ bytes, tag \d+', name) for name in names), names)
        self.assertTrue(any(re.fullmatch(r'MPI_Recv from [01], tag \d+', name) for name in names), names)
        begins = {event['id']: event for event in events if event['ph'] == 's'}
        ends = {event['id']: event for event in events if event['ph'] == 'f'}
        self.assertEqual(set(begins), set(ends))
        self.assertGreater(len(begins), 10)
        for number, begin in begins.items():
            self.assertLessEqual(begin['ts'], ends[number]['ts'])
        with open(self.dir + '/all.html', encoding='utf-8') as file:
            page = file.read()
        self.assertIn('MPI_Send to 1', page)
        self.assertNotIn('DATA*/', page)
        self.assertNotIn('http', page.replace('http-equiv', ''))  # it loads nothing

    def test_prepared_plans_and_their_hits_are_events(self):
        done = self.job(2, 'coll_prepare', HERALD_TRACE=self.dir + '/t.json', HERALD_TRACE_EVENTS='1000000')
        self.assertEqual(done.returncode, 0, done.stderr)
        hits = [event for event in self.load('t.0.json')['traceEvents'] if event['name'] == 'prepared plan used']
        self.assertTrue(any(event['args']['operation'] == 'allreduce' for event in hits), hits[:3])
        self.assertIn('plan prepared', {event['name'] for event in self.load('t.1.json')['traceEvents']})

    def test_names_do_not_leave_the_script_of_the_page(self):
        event = {'name': '</script><script>alert(1)', 'cat': 'call', 'ph': 'X', 'ts': 1.0, 'dur': 2.0, 'pid': 0, 'tid': 0}
        file = self.write('evil', traceEvents=[event])
        self.assertEqual(run(BUILD + '/bin/herald', 'trace', file, '-o', self.dir + '/all.json').returncode, 0)
        with open(self.dir + '/all.html', encoding='utf-8') as page:
            self.assertEqual(page.read().count('</script>'), 1)

    def test_every_send_has_a_receive(self):
        self.assertEqual(self.job(2, 'p2p_basic', HERALD_TRACE=self.dir + '/t.json').returncode, 0)
        count = {}
        for rank in range(2):
            for event in self.load(f't.{rank}.json')['traceEvents']:
                if event['name'] in ('send', 'receive') and event['ph'] == ('b' if event['name'] == 'send' else 'e'):
                    count[event['name']] = count.get(event['name'], 0) + 1
        self.assertGreater(count['send'], 10)
        self.assertGreater(count['receive'], 10)

    def test_timeline_of_an_aborted_job(self):
        self.assertNotEqual(self.job(4, 'p2p_fatal', 'abort', HERALD_TRACE=self.dir + '/t.json').returncode, 0)
        self.assertTrue(any(self.load(name)['traceEvents'] for name in os.listdir(self.dir)))

    def test_unwritable_file_is_reported_and_the_job_continues(self):
        done = self.job(2, 'p2p_basic', HERALD_TRACE=self.dir + '/no/such/%r')
        self.assertEqual(done.returncode, 0)
        self.assertIn('HERALD_TRACE: ', done.stderr)
        self.assertIn('No such file', done.stderr)

    def test_files_that_are_not_ours_stay_as_they_are(self):
        """A file with other content, links of both kinds; what an earlier job wrote is replaced."""
        def written(name):
            done = self.job(1, 'p2p_basic', HERALD_TRACE=f'{self.dir}/{name}')
            self.assertEqual(done.returncode, 0)
            self.assertEqual('no timeline of yours' in done.stderr, 'HERALD_TRACE' in done.stderr, done.stderr)
            return 'HERALD_TRACE' not in done.stderr

        valuable = self.dir + '/valuable'
        with open(valuable, 'w', encoding='utf-8') as file:
            file.write('results of a year')
        with open(self.dir + '/empty', 'w', encoding='utf-8'):
            pass
        os.symlink(valuable, self.dir + '/link')
        os.symlink(self.dir + '/absent', self.dir + '/dangling')
        os.link(valuable, self.dir + '/hard')
        os.mkfifo(self.dir + '/fifo')
        for name in ('valuable', 'link', 'dangling', 'hard', 'fifo'):
            self.assertFalse(written(name), name)
        with open(valuable, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'results of a year')
        self.assertFalse(os.path.exists(self.dir + '/absent'))
        for name in ('new', 'new', 'empty'):
            self.assertTrue(written(name), name)
            self.load(name)
        if os.geteuid() == 0:  # of another user, also to root
            os.chown(self.dir + '/new', 65534, 65534)
            self.assertFalse(written('new'))

    def test_clocks(self):
        """The same clock: exact alignment. Different clocks: equal start times."""
        event = {'name': 'resent', 'ph': 'i', 'ts': 5.0, 'tid': 0}
        files = [self.write('a', facts={'rank': 0, 'start_ns': 2000}, traceEvents=[{**event, 'pid': 0}]),
                 self.write('b', facts={'rank': 1, 'start_ns': 1000}, traceEvents=[{**event, 'pid': 1}]),
                 self.write('c', facts={'rank': 2, 'start_ns': 777000, 'clock': 'y'}, traceEvents=[{**event, 'pid': 2}])]
        self.assertEqual(run(BUILD + '/bin/herald', 'trace', *files, '-o', self.dir + '/all').returncode, 0)
        self.assertEqual([(one['pid'], one['ts']) for one in self.load('all')['traceEvents']], [(1, 5.0), (2, 5.0), (0, 6.0)])

    def test_other_files_are_rejected(self):
        good = self.write('good')
        for name, text in (('empty', ''), ('other', '{"traceEvents": []}'), ('list', '[1]'), ('half', '{"herald": {')):
            with open(f'{self.dir}/{name}', 'w', encoding='utf-8') as file:
                file.write(text)
            done = run(BUILD + '/bin/herald', 'trace', good, f'{self.dir}/{name}')
            self.assertEqual(done.returncode, 2)
            self.assertIn(name, done.stderr)
        self.assertIn('rank 0 is in', run(BUILD + '/bin/herald', 'trace', good, good).stderr)
        self.assertEqual(run(BUILD + '/bin/herald', 'trace', self.dir + '/none').returncode, 2)


if __name__ == '__main__':
    unittest.main()
