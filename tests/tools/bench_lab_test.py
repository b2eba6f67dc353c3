#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong with the lab's figures: a wrong payload rate of a link, an inverted ratio, a missed goal that is
reported as reached, a row that names an unknown network or row, or is compared with a row that was not measured in the
same run; mixed sizes of a sweep, a plot that fails because a library has fewer results."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(sys.argv[2])
del sys.argv[1:3]
sys.path[:0] = [SOURCE + '/bench', SOURCE + '/lab']
import lab_report  # noqa: E402
import lab_rows  # noqa: E402


def one(title, samples, floors=(), drops=None, own=None):
    row = next(row for row in lab_rows.ROWS if row.title == title)
    return lab_report.summarise(row, samples, list(floors), drops or {}, own)[0]


class Figures(unittest.TestCase):
    def test_payload_rate_of_a_link(self):
        self.assertAlmostEqual(lab_rows.payload_rate(100e6), 11963589, 0)  # 1472 of 1538 bytes
        self.assertAlmostEqual(lab_rows.payload_rate(1e9, mtu=9000) * 9038 / 8972, 125e6, 0)
        self.assertAlmostEqual(lab_rows.payload_rate(100e6, lost=0.1), 11963589 * 0.9, 0)

    def test_times(self):
        title = '8 B round trip, spinning'
        fast = one(title, {('herald', 8): [9e-6, 1e-5, 3e-5], ('openmpi', 8): [2e-5]}, [1e-5])
        self.assertAlmostEqual(fast['to_floor'], 1.0)
        self.assertAlmostEqual(fast['to_best'], 0.5)
        self.assertIs(fast['reached'], True)
        self.assertIs(one(title, {('herald', 8): [1.3e-5], ('openmpi', 8): [2e-5]}, [1e-5])['reached'], False)
        self.assertIs(one(title, {('herald', 8): [1e-5], ('openmpi', 8): [9e-6]}, [1e-5])['reached'], False)
        self.assertIsNone(one(title, {('openmpi', 8): [2e-5]}, [1e-5])['reached'])

    def test_rates(self):
        title, size = '1 MiB at 100 Mbit/s', 1 << 20
        whole = size / lab_rows.payload_rate(100e6)
        self.assertAlmostEqual(one(title, {('herald', size): [whole / 0.98]})['to_floor'], 0.98)
        self.assertIs(one(title, {('herald', size): [whole / 0.98]})['reached'], True)
        self.assertIs(one(title, {('herald', size): [whole / 0.96]})['reached'], False)

    def test_early_receivers_are_compared_with_the_best_other_library(self):
        found = one('early receiver', {('herald', 4): [1e-5], ('push-zero', 4): [2e-5], ('push-all', 4): [9e-6]})
        self.assertAlmostEqual(found['to_floor'], 1e-5 / 9e-6)
        self.assertIs(found['reached'], False)

    def test_row_compared_with_another_row(self):
        title, floor, size = 'bcast 1 MiB, 16 hosts against 2', 'bcast 1 MiB, 2 hosts', 1 << 20
        own = {floor: lab_report.medians({('herald', size): [0.1, 0.09, 0.2], ('herald', 8): [1e-5], ('lam', size): [0.05]}),
               title: {size: 0.107}}
        near = one(title, {('herald', size): [0.107], ('lam', size): [0.7]}, own=own)
        self.assertAlmostEqual(near['to_floor'], 1.07)  # of Herald's own time, at this size
        self.assertIs(near['reached'], True)
        self.assertIs(one(title, {('herald', size): [0.112]}, own=own)['reached'], False)
        self.assertIsNone(one(title, {('herald', size): [0.112]}, own={floor: {8: 1.0}})['reached'])
        for word in ('against 2', 'sixteen', title):  # selecting one row selects the other too
            self.assertEqual([row.title for row in lab_rows.chosen(lab_rows.ROWS, word)], [floor, title])
        self.assertEqual(lab_rows.chosen(lab_rows.ROWS, ''), lab_rows.ROWS)

    def test_intervals(self):
        steady = [{'herald': [1.0, 1.1], 'push-zero': [3.0, 3.1], 'push-all': [1.0, 1.1]}] * 6
        row = next(row for row in lab_rows.ROWS if row.floor == 'best')
        rounds = [{(name, 64): values for name, values in one.items()} for one in steady]
        self.assertEqual(lab_report.interval_of(row, 64, rounds), [1.0, 1.0])
        self.assertIsNone(lab_report.interval_of(row, 64, rounds[:3]))  # too few
        self.assertIsNone(lab_report.interval_of(row, 65, rounds))
        self.assertIsNone(lab_report.interval_of(row._replace(floor='link'), 64, rounds))
        noisy = [{**one, ('herald', 64): [1.0 + turn / 10]} for turn, one in enumerate(rounds)]
        low, high = lab_report.interval_of(row, 64, noisy)
        self.assertLess(low, high)

    def test_floors(self):
        titles = [row.title for row in lab_rows.ROWS]
        self.assertEqual(len(titles), len(set(titles)))
        for row in lab_rows.ROWS:
            if isinstance(row.floor, lab_rows.OfRow):
                other = lab_rows.ROWS[titles.index(row.floor.title)]
                self.assertEqual((other.mode, other.words[0]), (row.mode, row.words[0]))
                self.assertFalse(lab_rows.has_program(row.floor))
            elif lab_rows.has_program(row.floor):
                self.assertIn(row.floor[0], ('spin', 'sleep', 'half', 'exchange', 'to_five'))

    def test_several_sizes_of_a_row(self):
        row = next(row for row in lab_rows.SWEEP if row.title == 'allgather, 8 hosts')
        samples = {('herald', 8): [3e-4], ('herald', 65536): [0.04], ('lam', 8): [2e-4]}
        short, long = lab_report.summarise(row, samples, [], {})
        self.assertEqual((short['bytes'], long['bytes'], short['hosts']), (8, 65536, 8))
        self.assertAlmostEqual(short['to_best'], 1.5)
        self.assertNotIn('to_best', long)
        self.assertAlmostEqual(long['floor'], 7 * 65536 / lab_rows.payload_rate(100e6))
        text = lab_report.table([short, long], ['herald', 'lam'])
        self.assertIn('allgather, 8 hosts, 65536 B', text)
        self.assertEqual(len(lab_report.summarise(row, {}, [], {})), len(row.words[0].split(',')))

    def test_plots_over_sizes_and_hosts(self):
        found = [python for python in (sys.executable, '/usr/bin/python3')
                 if subprocess.run([python, '-c', 'import matplotlib'], capture_output=True, check=False).returncode == 0]
        if not found:
            self.skipTest('python3-matplotlib is not installed')
        results = []
        for row in lab_rows.SWEEP:
            samples = {('herald', int(size)): [1e-4 + int(size) / 1e7] for size in row.words[0].split(',')}
            samples['lam', 8] = [2e-4]  # only this size
            results += lab_report.summarise(row, samples, [], {})
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + '/lab-sweep.json', 'w', encoding='utf-8') as file:
                json.dump({'rows': results}, file)
            words = [found[0], '-B', SOURCE + '/bench/lab_plots.py', folder + '/lab-sweep.json']
            done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, 'MPLCONFIGDIR': folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            made = sorted(name for name in os.listdir(folder) if name.endswith('.png'))
            self.assertEqual(made, ['lab-sweep-hosts.png', 'lab-sweep-sizes.png'])

    def test_rows_and_table(self):
        for row in lab_rows.ROWS + lab_rows.SWEEP:
            self.assertIn(row.network, lab_rows.NETWORKS)
            self.assertLessEqual(row.ranks, 2 * lab_rows.NETWORKS[row.network][0])  # at most two on a host
            self.assertTrue(os.path.exists(f'{SOURCE}/bench/{row.program}.c'))
        title = '7 to 1, 1 MiB each, 256 KiB buffer'
        found = one(title, {('herald', 1 << 20): [0.63]}, drops={'herald': 0.0005})
        self.assertIn('0.050 %', lab_report.table([found], ['herald']))
        self.assertIs(found['reached'], True)
        for title in ('gather 1 MiB', 'scatter 1 MiB'):  # all ranks count
            for share in (0.0, 0.0005):
                found = one(title, {('herald', 1 << 20): [0.62]}, drops={'herald': share})
                self.assertIs(found['reached'], share == 0)
        self.assertIn('- ', lab_report.table([one(title, {})], ['herald']))

    def test_compared_algorithms_have_separate_tables(self):
        size = 1 << 20
        plain = one('gather 1 MiB', {('herald', size): [0.62], ('lam', size): [0.63]}, drops={'herald': 0.0})
        ways = one('bcast 1 MiB, by channels', {('herald', size): [0.09], ('channels-4', size): [0.1]})
        first, second = lab_report.tables([plain, ways], lab_rows.ALL).split('\n\n')
        self.assertIn('lam', first)
        self.assertNotIn('channels-4', first)
        self.assertIn('channels-4', second)
        self.assertNotIn('lam', second)


if __name__ == '__main__':
    unittest.main()
