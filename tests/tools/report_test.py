#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: the page of `herald model report` loads something from elsewhere, its script fails in a browser,
it is half-written on a full disk, or a damaged file gives a page; `herald model compare` mixes up its columns."""
import json
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
MODEL = SOURCE + '/tests/tools/four_hosts.model'
BROWSER = next((path for name in ('chromium', 'chromium-browser', 'google-chrome') if (path := shutil.which(name))), None)


def run(*words, **env):
    return subprocess.run((HERALD, 'model') + words, capture_output=True, text=True, env={**os.environ, **env})


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.page = self.folder.name + '/page.html'

    def tearDown(self):
        self.folder.cleanup()

    def write(self, *words):
        done = run('report', '--from', MODEL, '-o', self.page, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        with open(self.page, encoding='utf-8') as file:
            return file.read()

    def data(self, page):
        return json.loads(re.search(r'const data = (\{.*\});\n', page).group(1))

    def test_page_is_whole_and_loads_nothing(self):
        page = self.write()
        self.assertNotRegex(page, r'https?://|<link|src=|@import|url\(')
        data = self.data(page)
        self.assertEqual(data['hosts'], ['node1', 'node2', 'node3', 'node4'])
        self.assertIn('limited by', data['bottleneck'])
        for curve in data['curves']:
            for hosts in curve['hosts']:
                for size, ns, low, high in hosts['rows']:
                    self.assertTrue(0 < low <= ns <= high, (curve['op'], hosts['n'], size))

    def test_page_has_the_other_models(self):
        rows = [row for each in self.data(self.write())['baselines'] for row in each['rows']]
        self.assertGreater(len(rows), 30)
        for _, ours, logp, postal in rows:
            self.assertTrue(min(ours, logp, postal) > 0 and max(logp, postal) < 100 * ours)
        self.assertTrue(any(abs(logp / ours - 1) > 0.1 for _, ours, logp, _ in rows))
        self.assertTrue(any(abs(postal / ours - 1) > 0.1 for _, ours, _, postal in rows))

    def test_measured_times_become_dots(self):
        times = self.folder.name + '/times'
        with open(times, 'w', encoding='utf-8') as file:
            file.write('gather=linear    4 hosts     1024 B  measured      900.5 us  predicted  1.0 us  error 1 %\n')
        self.assertEqual(self.data(self.write('--measured', times))['measured'], [['gather', 'linear', 4, 1024, 900500]])
        with open(times, 'w', encoding='utf-8') as file:
            file.write('nonsense\n')
        done = run('report', '--from', MODEL, '-o', self.page, '--measured', times)
        self.assertEqual(done.returncode, 2)
        self.assertIn('line 1', done.stderr)

    def test_refuses_bad_input_and_leaves_the_old_page(self):
        with open(self.page, 'w', encoding='utf-8') as file:
            file.write('old')
        bad = self.folder.name + '/bad.model'
        with open(MODEL, encoding='utf-8') as file:
            text = file.read()
        for change in (('herald-model 1', 'herald-model 2'), ('end\n', ''), ('O_s 0:', 'O_s -1:'),
                       ('interference_share 0', 'interference_share 7'), ('link_mbit 100', 'link_mbit 1e99')):
            self.assertIn(change[0], text)
            with open(bad, 'w', encoding='utf-8') as file:
                file.write(text.replace(change[0], change[1], 1))
            done = run('report', '--from', bad, '-o', self.page)
            self.assertEqual((done.returncode, done.stdout), (2, ''), change)
            self.assertIn(bad, done.stderr)
        done = run('report', '-o', self.page, XDG_CACHE_HOME='/nonexistent')
        self.assertEqual(done.returncode, 2)
        self.assertIn('herald model measure', done.stderr)
        with open(self.page, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'old')

    def test_a_full_disk_leaves_nothing(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('there is no /dev/full')
        os.symlink('/dev/full', self.page + '.part')
        done = run('report', '--from', MODEL, '-o', self.page)
        self.assertEqual(done.returncode, 2)
        self.assertIn('No space left', done.stderr)
        self.assertFalse(os.path.exists(self.page))

    def test_compare_shows_the_change(self):
        faster = self.folder.name + '/faster.model'
        with open(MODEL, encoding='utf-8') as file:
            text = file.read()
        with open(faster, 'w', encoding='utf-8') as file:
            file.write(text.replace('link_mbit 100', 'link_mbit 200').replace('wake_ns 5000', 'wake_ns 10000'))
        done = run('compare', MODEL, faster)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertRegex(done.stdout, r'(?m)^link, Mbit/s +100 +200 +\+100 %$')
        self.assertRegex(done.stdout, r'(?m)^wake_ns +5000 +10000 +\+100 %$')
        self.assertRegex(done.stdout, r'(?m)^udp O_s of 8 B +\S+ \S+ +\S+ \S+ +=$')
        self.assertEqual(run('compare', MODEL, '/nonexistent.model').returncode, 2)

    @unittest.skipIf(BROWSER is None, 'there is no Chromium')
    def test_page_draws_in_a_browser(self):
        self.write()
        done = subprocess.run(
            [BROWSER, '--headless', '--no-sandbox', '--disable-gpu', '--user-data-dir=' + self.folder.name + '/profile',
             '--host-resolver-rules=MAP * 0.0.0.0', '--virtual-time-budget=5000', '--dump-dom', 'file://' + self.page],
            capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(done.stdout.count('<svg'), 25)
        self.assertGreater(done.stdout.count('<polyline'), 60)
        self.assertIn('class="win"', done.stdout)
        self.assertNotIn('NaN', done.stdout.split('<script>')[0])


unittest.main(verbosity=2)
