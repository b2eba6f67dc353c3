#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: setup uses the network although nothing is missing, ignores a missing package, fails because
an optional package is not available, or hangs at a password. apt-get, sudo and id are stand-ins that log their
arguments; the real scripts/setup is copied into an empty tree."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1:3]
del sys.argv[1:]

# Commands of the table; a test has only those that it adds.
COMMANDS = ('g++', 'cmake', 'ninja', 'python3')
PLAIN = ('bash', 'sh', 'env', 'cat', 'grep', 'cut', 'dirname', 'mktemp', 'rm', 'mkdir', 'tail', 'true')


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.bin = self.root + '/bin'
        os.makedirs(self.bin)
        os.makedirs(self.root + '/tree/scripts')
        shutil.copy(SOURCE + '/scripts/setup', self.root + '/tree/scripts/setup')
        # Look for headers and files below the root of the test, not of this machine.
        with open(self.root + '/tree/scripts/setup', encoding='utf-8') as file:
            text = file.read()
        for path in ('/usr/include/', '/usr/local/include/', '/usr/sbin/', '/usr/lib/'):
            text = text.replace(path, self.root + path)
        with open(self.root + '/tree/scripts/setup', 'w', encoding='utf-8') as file:
            file.write(text)
        for name in PLAIN:
            os.symlink(shutil.which(name), f'{self.bin}/{name}')
        self.script('id', 'echo 0')

    def tearDown(self):
        self.folder.cleanup()

    def script(self, name, text):
        with open(f'{self.bin}/{name}', 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + text + '\n')
        os.chmod(f'{self.bin}/{name}', 0o755)

    def apt(self, failing=()):
        cases = ''.join(f'case " $* " in *" install "*" {name} "*) exit 100 ;; esac\n' for name in failing)
        self.script('apt-get', f'echo "$*" >>{self.root}/apt.log\n{cases}exit 0')

    def asked(self):
        try:
            with open(self.root + '/apt.log', encoding='utf-8') as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def have(self, *names):
        for name in names:
            self.script(name, 'echo 12')

    def have_build(self):
        self.have(*COMMANDS)
        for header in ('CLI/CLI.hpp', 'fmt/format.h', 'nlohmann/json.hpp', 'hwloc.h'):
            os.makedirs(os.path.dirname(f'{self.root}/usr/include/{header}'), exist_ok=True)
            open(f'{self.root}/usr/include/{header}', 'w', encoding='utf-8').close()

    def run_setup(self, what='build'):
        return subprocess.run([self.root + '/tree/scripts/setup', what], capture_output=True, text=True,
                              env={'PATH': self.bin, 'TMPDIR': self.root}, stdin=subprocess.DEVNULL, timeout=60)

    def test_nothing_missing_is_silent_and_calls_no_apt(self):
        self.have_build()
        self.apt()
        done = self.run_setup()
        self.assertEqual((done.returncode, done.stdout, done.stderr, self.asked()), (0, '', '', []))

    def test_missing_packages_are_installed_and_named(self):
        self.apt()
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('installing with apt', done.stdout)
        asked = self.asked()
        self.assertIn('update', asked[0])
        for name in ('g++', 'cmake', 'ninja-build', 'python3', 'libcli11-dev', 'libfmt-dev'):
            self.assertIn(name, asked[1].split())
        self.assertIn('--no-install-recommends', asked[1])

    def test_one_missing_header_is_installed(self):
        self.have_build()
        os.remove(f'{self.root}/usr/include/fmt/format.h')
        self.apt()
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(self.asked()[1].split()[-1], 'libfmt-dev')

    def test_failing_required_package_is_an_error(self):
        self.apt(failing=['cmake'])
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn('cmake', done.stderr)

    def test_failing_optional_package_is_remembered(self):
        self.have_build()
        self.apt(failing=['codespell'])
        done = self.run_setup('lint')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('codespell is not available here', done.stdout)
        self.assertNotIn('clang-tidy-14 cannot', done.stdout)
        self.have('clang-format-14', 'clang-tidy-14')
        before = self.asked()
        again = self.run_setup('lint')
        self.assertEqual((again.returncode, again.stdout, self.asked()), (0, '', before))

    def test_files_named_by_pattern_are_found(self):
        self.have_build()
        self.apt()
        self.run_setup('test')
        self.assertIn('libpmix-dev', self.asked()[-1])
        os.makedirs(self.root + '/usr/lib/any/pmix2/include')
        open(self.root + '/usr/lib/any/pmix2/include/pmix.h', 'w', encoding='utf-8').close()
        self.run_setup('test')
        self.assertNotIn('libpmix-dev', self.asked()[-1])

    def test_no_apt(self):
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn('there is no apt-get', done.stderr)
        self.assertIn('cmake', done.stderr)
        self.have_build()
        done = self.run_setup('lint')
        self.assertEqual(done.returncode, 0)
        self.assertIn('codespell', done.stdout)

    def test_no_root_and_no_sudo(self):
        self.script('id', 'echo 1000')
        self.apt()
        done = self.run_setup()
        self.assertEqual((done.returncode, self.asked()), (1, []))
        self.assertIn('no sudo', done.stderr)

    def test_sudo_is_used_without_waiting_for_a_password(self):
        self.script('id', 'echo 1000')
        self.apt()
        self.script('sudo', f'echo "$*" >>{self.root}/sudo.log\n[ "$1" = -n ] && shift\nexec "$@"')
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(len(self.asked()), 3)  # the lists, what must be there, and what may be
        self.script('sudo', 'exit 1')
        done = self.run_setup()
        self.assertEqual(done.returncode, 1)
        self.assertIn('password', done.stderr)

    def test_old_compiler_gets_a_newer_one_installed(self):
        self.have_build()
        self.script('g++', 'echo 11')
        self.apt()
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(self.asked()[1].split()[-1], 'g++-12')

    def test_usage_error(self):
        self.assertEqual(self.run_setup('nonsense').returncode, 2)


if __name__ == '__main__':
    unittest.main()
