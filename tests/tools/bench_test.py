#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: `herald bench` does not find its files or another MPI library, writes into the installation, or
gives no table, plot or JSON."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1:3]
del sys.argv[1:]


class Bench(unittest.TestCase):
    def run_in(self, folder, *words):
        env = {k: v for k, v in os.environ.items() if not k.startswith(('HERALD_', 'PMI'))}
        return subprocess.run([BUILD + '/bin/herald', 'bench', '--', *words], capture_output=True, text=True, cwd=folder,
                              env=env, timeout=250)

    def test_table_plots_and_result(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_in(folder, '--mpi', f'twin={BUILD}', '--libraries', 'twin', '--only', 'p2p', '--rounds', '1',
                               '--largest', '64', '--seconds', '0.01', '--kinds', 'latency')
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r'(?m)^ +herald +twin +herald / best other$')
            self.assertRegex(done.stdout, r'(?m) us .* x$')
            with open(folder + '/herald-bench/latency.svg') as file:
                self.assertIn('twin', file.read())
            with open(folder + '/herald-bench/result.json') as file:
                self.assertEqual(set(json.load(file)['rows'][0]['value']), {'herald', 'twin'})

    def test_a_library_in_path_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + '/other-mpi/bin')
            for name in ('mpicc', 'mpiexec'):
                path = f'{folder}/other-mpi/bin/{name}'
                with open(path, 'w') as file:
                    file.write(f'#!/bin/sh\nexec {BUILD}/bin/{name} "$@"\n')
                os.chmod(path, 0o755)
            words = [sys.executable, '-B', '-c', 'import run; print(sorted(run.libraries(%r)))' % BUILD]
            done = subprocess.run(words, capture_output=True, text=True, cwd=BUILD + '/share/herald/bench', timeout=100,
                                  env={**os.environ, 'PATH': folder + '/other-mpi/bin:' + os.environ['PATH']})
            self.assertIn("'other-mpi'", done.stdout, done.stderr)

    def test_help(self):
        self.assertIn('--libraries', self.run_in('.', '--help').stdout)


if __name__ == '__main__':
    unittest.main(verbosity=2)
