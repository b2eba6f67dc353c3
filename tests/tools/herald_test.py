#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: `herald info` omits a setting or an unknown name; the manual omits a knob; `herald explain`
omits an algorithm, misreads a size, or does not select the cheapest algorithm."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1:3]
del sys.argv[1:]
HERALD = BUILD + '/bin/herald'


def run(*words, **env):
    full = {k: v for k, v in os.environ.items() if not k.startswith('HERALD_')}
    full.update(env)
    return subprocess.run((HERALD,) + words, capture_output=True, text=True, env=full)


def knob_names():
    with open(SOURCE + '/src/base/knobs.def', encoding='utf-8') as file:
        return [name.rstrip('_') for name in re.findall(r'^HERALD_KNOB_\w+\s*\((\w+),', file.read(), re.M)]


class Herald(unittest.TestCase):
    def test_info_lists_every_knob(self):
        done = run('info')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        names = knob_names()
        self.assertGreater(len(names), 3)
        for name in names:
            self.assertRegex(done.stdout, rf'(?m)^  HERALD_{name.upper()} ')
        self.assertIn(BUILD, done.stdout)

    def test_info_shows_changed_and_invalid_settings(self):
        done = run('info', HERALD_VERBOSE='2', HERALD_DETECT_MS='1', HERALD_NONSENSE='1')
        self.assertRegex(done.stdout, r'(?m)^\* HERALD_VERBOSE +2')
        self.assertRegex(done.stdout, r'(?m)^  HERALD_DETECT_MS ')
        self.assertIn('HERALD_DETECT_MS=1 is ignored', done.stderr)
        self.assertIn('HERALD_NONSENSE', done.stderr)

    def test_manual_has_every_knob_and_matches_the_build(self):
        done = run('info', '--man')
        for name in knob_names():
            self.assertIn(f'.B HERALD_{name.upper()}\n', done.stdout)
        with open(BUILD + '/share/man/man7/herald-knobs.7', encoding='utf-8') as file:
            self.assertEqual(file.read(), done.stdout)

    def test_explain_lists_all_and_marks_the_selected_one(self):
        with open(SOURCE + '/src/base/knobs.def', encoding='utf-8') as file:
            rows = re.findall(r'"(\w+)=auto\|([^";]+);?"', file.read())
        self.assertEqual(len(rows), 17)
        for op, names in rows:
            done = run('explain', op, '64k', '-n', '8')
            self.assertEqual((done.returncode, done.stderr), (0, ''), op)
            lines = re.findall(r'(?m)^([> ]) (\w+) +(does not fit|[\d.]+ [num]?s)  \S', done.stdout)
            self.assertEqual(sorted(line[1] for line in lines), sorted(names.split('|')), op)
            self.assertEqual([line[0] for line in lines], ['>'] + [' '] * (len(lines) - 1), op)
            self.assertIn(f'\n{lines[0][1]} is selected', done.stdout)

    def test_explain_has_no_time_for_an_algorithm_that_cannot_perform_the_call(self):
        done = run('explain', 'allreduce', '1M', '-n', '8', '--hosts', '8')
        self.assertRegex(done.stdout, r'(?m)^  fused +does not fit ')
        self.assertLess(max(map(len, done.stdout.splitlines())), 120)

    def test_help_without_a_command(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ''))
        self.assertEqual(done.stderr, run('--help').stdout)
        commands = re.findall(r'(?m)^  (\w+)  ', done.stderr.split('Subcommands:')[1])
        self.assertGreater(len(commands), 9)
        for command in commands:
            shown = run(command, '--help')
            self.assertEqual((shown.returncode, shown.stderr), (0, ''), command)
            self.assertNotIn('%%', shown.stdout, command)

    def test_the_build_tree_has_the_manual(self):
        for page in ('man1/mpicc.1', 'man1/mpiexec.1', 'man1/herald.1', 'man3/MPIX_Scatterv_open_group.3'):
            self.assertTrue(os.path.exists(f'{BUILD}/share/man/{page}'), page)
        if shutil.which('man'):
            path = f'{BUILD}/bin:{os.environ["PATH"]}'
            env = {name: value for name, value in os.environ.items() if name != 'MANPATH'}
            done = subprocess.run(('man', '-w', 'mpicc'), capture_output=True, text=True, env={**env, 'PATH': path})
            self.assertEqual(os.path.realpath(done.stdout.strip()), os.path.realpath(f'{BUILD}/share/man/man1/mpicc.1'))

    def test_explain_reads_sizes_ops_and_shapes(self):
        self.assertIn('bcast, 65536 bytes', run('explain', 'bcast', '64k').stdout)
        self.assertIn('allreduce, 2097152 bytes', run('explain', 'MPI_Iallreduce', '2MiB').stdout)
        one = run('explain', 'bcast', '8', '-n', '16').stdout
        self.assertRegex(one, r'(?m)^> shared ')
        self.assertNotEqual(one, run('explain', 'bcast', '8', '-n', '16', '--hosts', '4').stdout)
        self.assertRegex(run('explain', 'allreduce', '8M', '-n', '5', '--ordered').stdout, r'(?m)^  ring +does not fit')

    def test_explain_follows_the_settings(self):
        done = run('explain', 'bcast', '8', HERALD_COLL='bcast=scatter_allgather')
        self.assertIn('scatter_allgather is selected: HERALD_COLL names it', done.stdout)
        done = run('explain', 'bcast', '8', HERALD_COLL='bcast=nonsense')
        self.assertIn('shared is selected', done.stdout)
        self.assertRegex(done.stderr, r'HERALD_COLL=bcast=nonsense is ignored.*auto\|binomial')

    def test_explain_takes_hosts_and_ranks_of_each(self):
        done = run('explain', 'allreduce', '64k', '-n', '8x4')
        self.assertIn('32 ranks on 8 hosts', done.stdout)

    def test_predict_has_an_interval_and_grows_with_the_data(self):
        def times(*words):
            done = run('model', 'predict', *words, XDG_CACHE_HOME='/nonexistent')
            self.assertEqual((done.returncode, done.stderr), (0, ''), words)
            found = re.search(r': ([\d.]+) (\w+) \(between ([\d.]+) (\w+) and ([\d.]+) (\w+)\)', done.stdout)
            self.assertTrue(found, done.stdout)
            unit = {'ns': 1e-9, 'us': 1e-6, 'ms': 1e-3, 's': 1}
            words = found.groups()
            middle, low, high = (float(words[i]) * unit[words[i + 1]] for i in (0, 2, 4))
            self.assertTrue(0 < low <= middle <= high, done.stdout)
            return middle
        self.assertLess(times('bcast', '1m', '-n', '16'), times('bcast', '2m', '-n', '16'))
        self.assertGreater(times('bcast', '1m', '-n', '16', '--rate', '100'), (1 << 20) * 8 / 1e8)
        times('gather', '64k', '-n', '1000')
        times('allreduce', '1m', '-n', '1000', '--algorithm', 'ring')
        times('alltoall', '4k', '-n', '8x4')

    def test_predict_refuses_bad_input(self):
        with tempfile.NamedTemporaryFile('w', suffix='.model') as file:
            file.write('herald-model 7\n')
            file.flush()
            for words in (('bcast', '1m', '--from', file.name), ('bcast', '1m', '--from', '/nonexistent.model'),
                          ('bcast', '1m', '-n', '8y'), ('bcast', '1m', '-n', '0x4'), ('nonsense', '8'),
                          ('bcast', '8', '--algorithm', 'ring')):
                done = run('model', 'predict', *words)
                self.assertEqual(done.returncode, 2, words)
                self.assertTrue(done.stderr, words)
        self.assertEqual(run('model', 'measure').returncode, 2)
        self.assertIn('--host node1:2,node2:2', run('model', 'measure', '--host', 'node1,node2', '--show').stdout)

    def test_usage_errors(self):
        for words in ((), ('nonsense',), ('info', '--nonsense'), ('explain',), ('explain', 'nonsense', '8'),
                      ('explain', 'bcast', '8x'), ('explain', 'bcast', '8', '-n', '0'),
                      ('explain', 'bcast', '8', '-n', '2', '--hosts', '3')):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertTrue(done.stderr, words)
        self.assertRegex(run('--version').stdout, r'^herald \d+\.\d+\.\d+\n$')


if __name__ == '__main__':
    unittest.main()
