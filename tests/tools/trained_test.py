#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trained_test.py BUILD SOURCE: the compiler finds what was noted in training (scripts/train), for the files that matter most.

Without that it says nothing and builds as if there had been no training, since files that were not run have no notes.
"""
import json
import pathlib
import shlex
import subprocess
import sys
import unittest

BUILD, SOURCE = (pathlib.Path(word) for word in sys.argv[1:3])
FILES = ('src/engine/wait.cpp', 'src/rel/transmit.cpp', 'src/path/udp/sender.cpp', 'src/mpi/p2p_blocking.cpp')


def setting(name):
    for line in (BUILD / 'CMakeCache.txt').read_text().splitlines():
        if line.startswith(name + ':'):
            return line.partition('=')[2]
    return ''


def command_of(file):
    for each in json.loads((BUILD / 'compile_commands.json').read_text()):
        if pathlib.Path(each['file']) == SOURCE / file:
            return shlex.split(each['command'])
    raise AssertionError(f'{file} is not compiled')


class Trained(unittest.TestCase):
    def test_notes_are_found(self):
        for file in FILES:
            with self.subTest(file):
                words = [word for word in command_of(file) if word != '-Wno-missing-profile']
                at = words.index('-o') + 1
                words[at] = words[at].removesuffix('.o') + '.s'  # the notes are named after it
                words += ['-S', '-Werror=missing-profile']
                run = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, timeout=120)
                (BUILD / words[at]).unlink(missing_ok=True)
                self.assertEqual(run.returncode, 0, run.stderr + '\nIf it has another name since: scripts/train --again')


if __name__ == '__main__':
    if setting('HERALD_PROFILE') != 'use' or setting('HERALD_CAN_PROFILE') != 'ON':
        print('skipped: this tree is not trained')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
