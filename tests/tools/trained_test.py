#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""trained_test.py BUILD SOURCE: profile-guided optimization (scripts/train, scripts/release, cmake/flags.cmake).

What could go wrong: a daily build trains, a profile of other sources is used, one failed run ends the training, the
compiler does not find the counts (it says nothing and optimizes as without), flags differ between two equal builds.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[2])

# Stand-ins for the build: mpiexec fails as often as the file `failures` says, and leaves counts.
NINJA = """#!/bin/sh
mkdir -p build/train/bin
cat >build/train/bin/mpiexec <<'END'
#!/bin/sh
left=$(cat failures)
[ "$left" -eq 0 ] || { echo $((left - 1)) >failures; exit 1; }
mkdir -p build/train/counts
echo >>build/train/counts/runs
END
printf '#!/bin/sh\\n' >build/train/bin/mpicc
chmod +x build/train/bin/*
"""
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(small LANGUAGES C CXX)
find_package(Threads REQUIRED)
include({source}/cmake/flags.cmake)
add_executable(small small.cpp)
if(HERALD_PROFILE STREQUAL "use")  # options of a source file come last
  set_source_files_properties(small.cpp PROPERTIES COMPILE_OPTIONS -Werror=missing-profile)
endif()
target_link_libraries(small PRIVATE herald_flags herald_inner)
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')
    path.chmod(0o755)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)


class Train(InFolder):
    def setUp(self):
        super().setUp()
        for name in ('train', 'release', 'build'):
            write(self.root / 'scripts' / name, (SOURCE / 'scripts' / name).read_text(encoding='utf-8'))
        write(self.root / 'scripts/configure', '#!/bin/sh\n[ "$1" != --compiler ] || { echo ${CXX:-g++}; exit; }\n'
              'echo configure "$@" >>log\nmkdir -p build/$1\n')
        write(self.root / 'tools/ninja', NINJA)
        write(self.root / 'tools/cmake', '#!/bin/sh\necho cmake "$@" >>log\n')
        write(self.root / 'src/a.cpp', 'int a;\n')
        write(self.root / 'cmake/a.cmake', '\n')
        write(self.root / 'CMakeLists.txt', '\n')
        self.fail(0)

    def fail(self, times):
        (self.root / 'failures').write_text(f'{times}\n', encoding='utf-8')

    def script(self, name, *arguments, code=0, **environment):
        path = f'{self.root}/tools:{os.environ["PATH"]}'
        done = subprocess.run([self.root / 'scripts' / name, *arguments], env={**os.environ, 'PATH': path, **environment},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def key(self):
        return self.script('train', '--key').stdout

    def test_key_follows_sources_of_the_library(self):
        key = self.key()
        self.assertTrue(key.startswith('gcc-'), key)
        write(self.root / 'docs/a.md', 'text\n')
        write(self.root / 'build/profile/x', 'text\n')
        self.assertEqual(self.key(), key)
        for name in ('src/a.cpp', 'cmake/a.cmake', 'CMakeLists.txt'):
            with self.subTest(name):
                text = (self.root / name).read_text(encoding='utf-8')
                write(self.root / name, text + '\n')
                self.assertNotEqual(self.key(), key)
                write(self.root / name, text)
                self.assertEqual(self.key(), key)

    def test_profile_is_recorded_once_and_its_key_and_age_are_printed(self):
        first = self.script('train')
        folder = 'build/profile/' + self.key()
        self.assertEqual(first.stdout, folder)
        self.assertIn(self.key().strip() + ', recorded 0 minutes ago', first.stderr)
        again = self.script('train')
        self.assertEqual(again.stdout, folder)
        self.assertNotIn('training run', again.stderr)
        self.assertIn('training run', self.script('train', '--again').stderr)

    def test_two_failures_are_repeated_and_their_counts_discarded(self):
        self.script('train')
        runs = self.root / 'build/profile' / self.key().strip() / 'runs'
        expected = runs.read_text(encoding='utf-8')
        self.fail(2)
        self.assertIn('training run 3', self.script('train', '--again').stderr)
        self.assertEqual(runs.read_text(encoding='utf-8'), expected)

    def test_third_failure_ends_the_training(self):
        self.fail(3)
        self.assertIn('train-failed.log', self.script('train', code=1).stderr)
        self.assertFalse((self.root / 'build/profile').exists())
        # The next call starts afresh.
        self.script('train')

    def test_release_falls_back_to_the_plain_build(self):
        self.fail(3)
        self.assertIn('release is in build/release', self.script('release').stdout)
        self.assertIn('release is in build/pgo', self.script('release').stdout)
        self.assertIn(f'HERALD_PROFILE_DIR={self.root}/build/profile/{self.key().strip()}',
                      (self.root / 'log').read_text(encoding='utf-8'))
        self.assertIn('release is in build/release', self.script('release', TRAIN='no').stdout)

    def test_other_compilers_are_refused(self):
        write(self.root / 'tools/other', '#!/bin/sh\n[ "${1#-dump}" != "$1" ]\n')
        self.assertIn('needs GCC 12', self.script('train', code=1, CXX='other').stderr)

    def test_only_releases_train(self):
        for target in ('demo', 'build', 'test', 'lab', 'bench', 'bench-lab', 'release', 'install'):
            with self.subTest(target):
                done = subprocess.run(['make', '-n', target, 'SETUP=no'], cwd=SOURCE, capture_output=True, text=True,
                                      timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual('scripts/release' in done.stdout, target in ('release', 'install'))
        for name in ('build', 'test', 'demo'):
            self.assertNotIn('scripts/train', (SOURCE / 'scripts' / name).read_text(encoding='utf-8'))


@unittest.skipUnless(shutil.which('g++') and shutil.which('cmake') and shutil.which('ninja'), 'needs g++, cmake and ninja')
class Flags(InFolder):
    def configure(self, tree, **settings):
        command = ['cmake', '-G', 'Ninja', '-S', '.', '-B', tree, '-DCMAKE_CXX_COMPILER=g++', '-DCMAKE_C_COMPILER=gcc',
                   '-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON', '-DHERALD_FUZZ=OFF']
        command += [f'-D{name}={value}' for name, value in settings.items()]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60)

    def run_all(self, *commands):
        for command in commands:
            done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_counts_are_found_from_another_tree_with_equal_flags(self):
        write(self.root / 'CMakeLists.txt', PROJECT.format(source=SOURCE))
        write(self.root / 'small.cpp', 'int main(int n, char**) { return n > 5; }\n')
        done = self.configure('train', HERALD_PROFILE='generate', HERALD_PROFILE_DIR=self.root / 'counts')
        if done.returncode != 0 or int(subprocess.check_output(['g++', '-dumpversion']).split(b'.')[0]) < 12:
            self.skipTest('needs GCC 12')
        self.run_all(['ninja', '-C', 'train'], ['train/small'])
        commands = []
        for stamp in (1000, 2000):  # the age of the counts must not matter
            os.utime(self.root / 'counts', (stamp, stamp))
            done = self.configure('pgo', HERALD_PROFILE='use', HERALD_PROFILE_DIR=self.root / 'counts')
            self.assertEqual(done.returncode, 0, done.stderr)
            commands.append((self.root / 'pgo/compile_commands.json').read_text(encoding='utf-8'))
        self.assertEqual(commands[0], commands[1])
        self.assertIn('-fprofile-use=', commands[0])
        self.run_all(['ninja', '-C', 'pgo'])
        (self.root / 'small.cpp').rename(self.root / 'other.cpp')
        write(self.root / 'CMakeLists.txt', PROJECT.format(source=SOURCE).replace('small.cpp', 'other.cpp'))
        done = subprocess.run(['ninja', '-C', 'pgo'], cwd=self.root, capture_output=True, text=True, timeout=60)
        self.assertIn('missing-profile', done.stdout)

    def test_missing_counts_are_an_error(self):
        write(self.root / 'CMakeLists.txt', PROJECT.format(source=SOURCE))
        write(self.root / 'small.cpp', 'int main() {}\n')
        done = self.configure('pgo', HERALD_PROFILE='use', HERALD_PROFILE_DIR=self.root / 'counts')
        self.assertIn('does not exist', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
