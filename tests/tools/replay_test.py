#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: `herald model replay` loses time of a real program or counts it twice, another network changes
nothing, a foreign, truncated or incomplete set of timelines is replayed, or an unknown change is ignored."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:]
LIMIT = 120
RANKS = 3


def run(*words, **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith('HERALD_')}
    full.update(env)
    return subprocess.run(words, capture_output=True, text=True, env=full, timeout=LIMIT)


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        done = run(BUILD + '/bin/mpiexec', '-n', str(RANKS), BUILD + '/tests/programs/coll_blocking',
                   HERALD_TRACE=cls.folder.name + '/t-%r.json')
        assert done.returncode == 0, done.stderr
        cls.files = [f'{cls.folder.name}/t-{rank}.json' for rank in range(RANKS)]

    def replay(self, *words, files=None):
        return run(BUILD + '/bin/herald', 'model', 'replay', *(files or self.files), *words,
                   XDG_CACHE_HOME=self.folder.name)

    def rows(self, *words, files=None):
        done = self.replay('--json', *words, files=files)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_real_program(self):
        """Every part of the time is counted once; ranks on hosts of their own take longer over slower links."""
        found = self.rows('--with', f'hosts={RANKS}', '--on', 'rate=100mbit')
        self.assertEqual((found['ranks'], found['hosts']), (RANKS, 1))
        self.assertEqual(len(found['rows']), 6)
        for row in found['rows']:
            parts = sum(value for name, value in row.items() if name.endswith('_ns'))
            self.assertAlmostEqual(parts / row['ns'], 1, delta=0.01, msg=row['name'])
        base, apart = found['rows'][:2]
        self.assertGreater(apart['ns'], base['ns'])
        self.assertGreater(apart['wire_ns'] + apart['contention_ns'], base['wire_ns'] + base['contention_ns'])
        fast = self.rows('--with', f'hosts={RANKS},rate=10gbit', '--on', 'rate=100mbit')['rows'][1]
        self.assertLess(fast['ns'], apart['ns'])

    def test_the_table(self):
        done = self.replay('--with', 'bcast=binomial')
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in (f'{RANKS} ranks on 1 host', 'as recorded, replayed', 'with bcast=binomial', 'which change pays'):
            self.assertIn(words, done.stdout)

    def test_unknown_changes_are_refused(self):
        for wrong in ('speed=x2', 'rate=fast', 'hosts=0', f'hosts={RANKS + 1}', 'bcast=fastest', 'rate'):
            done = self.replay('--with', wrong)
            self.assertNotEqual(done.returncode, 0, wrong)
            self.assertIn('--with', done.stderr)

    def write(self, name, text):
        with open(f'{self.folder.name}/{name}', 'w', encoding='utf-8') as file:
            file.write(text)
        return f'{self.folder.name}/{name}'

    def load(self, rank):
        with open(self.files[rank], encoding='utf-8') as file:
            return json.load(file)

    def test_other_files_are_refused(self):
        with open(self.files[0], encoding='utf-8') as file:
            whole = file.read()
        line = self.load(0)
        line['herald']['lost'] = 7
        odd = self.load(0)
        odd['traceEvents'].append({'name': 5, 'ph': 'b', 'ts': 'then', 'args': []})
        cases = {'foreign': '{"traceEvents": []}', 'truncated': whole[:len(whole) // 2], 'no_json': 'a,b\n1,2\n',
                 'lost': json.dumps(line), 'odd': json.dumps(odd)}
        for name, text in cases.items():
            done = self.replay(files=[self.write(name, text), *self.files[1:]])
            self.assertEqual(done.returncode, 2, name)
            self.assertIn('herald', done.stderr)
        self.assertIn('HERALD_TRACE_EVENTS', self.replay(files=[f'{self.folder.name}/lost', *self.files[1:]]).stderr)
        self.assertIn('rank 2 is missing', self.replay(files=self.files[:2]).stderr)


if __name__ == '__main__':
    unittest.main()
