#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a build system cannot parse the output of a wrapper; a compile-only call gets link flags; blanks
split a path or an argument; the wrapper does not find its prefix.

A stand-in for the compiler prints its arguments, one a line."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1:3]
del sys.argv[1:]
MPICC, MPICXX = BUILD + '/bin/mpicc', BUILD + '/bin/mpicxx'
INC, LIB = f'-I{BUILD}/include', f'-L{BUILD}/lib'
LINK = [LIB, f'-Wl,-rpath,{BUILD}/lib', '-Wl,--enable-new-dtags', '-lmpi_abi']


def run(*words, env=None, check=True):
    full = {k: v for k, v in os.environ.items() if not k.startswith('HERALD_')}
    full.update(env or {})
    done = subprocess.run(words, capture_output=True, text=True, env=full)
    if check and done.returncode != 0:
        raise AssertionError(f'{words}: exit code {done.returncode}: {done.stderr}')
    return done


class Wrappers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.echo = self.folder.name + '/echo-cc'
        with open(self.echo, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nfor w in "$@"; do printf "%s\\n" "$w"; done\n')
        os.chmod(self.echo, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def args(self, *words, wrapper=MPICC, switch='-cc'):
        return run(wrapper, f'{switch}={self.echo}', *words).stdout.split('\n')[:-1]

    def test_link_gets_all_flags(self):
        self.assertEqual(self.args('a.c', '-o', 'a', '-lm'), ['a.c', '-o', 'a', '-lm', INC] + LINK)

    def test_compile_only_gets_no_link_flags(self):
        for word in ('-c', '-S', '-E', '-M', '-MM', '-fsyntax-only'):
            self.assertEqual(self.args(word, 'a.c'), [word, 'a.c', INC])

    def test_plans_use_clang_and_the_plugin_of_its_version(self):
        tested = 0
        for version in ('14', '19'):
            plugin = f'{BUILD}/lib/herald/herald-plans-{version}.so'
            if not os.path.exists(plugin) or shutil.which('clang-' + version) is None:
                continue
            tested += 1
            for words, mode in ((['--plans'], 'prepare'), (['--plans=convert'], 'convert')):
                shown = run(MPICC, '-show', '-cc=clang-' + version, *words, 'a.c').stdout.split()
                self.assertEqual(shown[0], 'clang-' + version)
                self.assertIn('-fpass-plugin=' + plugin, shown)
                self.assertIn('-herald-plans=' + mode, shown)
                self.assertNotIn(words[0], shown)
            shown = run(MPICXX, '-show', '-cxx=clang++-' + version, '--plans', 'a.cc').stdout.split()
            self.assertEqual(shown[0], 'clang++-' + version)
        if tested == 0:
            self.skipTest('no clang, or herald-plans is not built for it')

    def test_plans_with_lto_run_in_the_link_step(self):
        tested = 0
        for version in ('14', '19'):
            plugin = f'{BUILD}/lib/herald/herald-plans-{version}.so'
            if not os.path.exists(plugin) or shutil.which('clang-' + version) is None:
                continue
            tested += 1
            command = [MPICC, '-show', '-cc=clang-' + version, '--plans', '-flto=thin']
            load = '-Wl,--load-pass-plugin=' + plugin
            done = run(*command, 'a.o')
            if version != '14' and os.path.exists(f'/usr/lib/llvm-{version}/bin/ld.lld'):
                self.assertIn(load, done.stdout.split())
                self.assertIn('-fuse-ld=lld', done.stdout.split())
                self.assertEqual(done.stderr, '')
            else:
                self.assertNotIn(load, done.stdout.split())
                self.assertIn('use clang 15 or newer' if version == '14' else 'install lld-' + version, done.stderr)
            for words in (['-c', 'a.c'], ['-fno-lto', 'a.o'], ['--plans=none', 'a.o']):
                done = run(*command, *words)
                self.assertNotIn(load, done.stdout.split())
                self.assertEqual(done.stderr, '')
            done = run(*command, '-fuse-ld=gold', 'a.o')
            self.assertNotIn(load, done.stdout.split())
            self.assertIn('does not look into functions of other files', done.stderr)
        if tested == 0:
            self.skipTest('no clang, or herald-plans is not built for it')

    def test_plans_without_clang_say_what_to_install(self):
        folder = self.folder.name + '/bin'
        os.mkdir(folder)
        for name in ('sh', 'dirname', 'readlink', 'grep', 'cat'):
            os.symlink(shutil.which(name), f'{folder}/{name}')
        done = run(MPICC, '--plans', 'a.c', env={'PATH': folder}, check=False)
        self.assertEqual(done.returncode, 127)
        self.assertIn('install clang-14 and llvm-14-dev', done.stderr)
        done = run(MPICC, '--plans=fast', 'a.c', check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn('--plans=convert', done.stderr)

    def test_dependency_output_does_not_prevent_linking(self):
        self.assertEqual(self.args('-MD', 'a.c'), ['-MD', 'a.c', INC] + LINK)

    def test_version_queries_do_not_link(self):
        for word in ('--version', '-v', '-dumpversion', '-V'):
            self.assertEqual(self.args(word), [word, INC])

    def test_fortran_links_its_library_too(self):
        if not os.path.exists(BUILD + '/bin/mpifort'):
            self.skipTest('built without a Fortran compiler')
        both = LINK[:-1] + ['-lmpifort_abi', '-lmpi_abi']
        for name in ('mpifort', 'mpif90', 'mpif77'):
            wrapper = f'{BUILD}/bin/{name}'
            self.assertEqual(self.args('a.f90', wrapper=wrapper, switch='-fc'), ['a.f90', INC] + both)
            self.assertEqual(self.args('-c', 'a.f90', wrapper=wrapper, switch='-fc'), ['-c', 'a.f90', INC])
        self.assertEqual(run(wrapper, '-showme:libs').stdout.split(), ['mpifort_abi', 'mpi_abi'])
        self.assertEqual(run(wrapper, '-c', 'a.f90', env={'HERALD_FC': self.echo}).stdout.split(), ['-c', 'a.f90', INC])

    def test_fortran_show(self):
        if not os.path.exists(BUILD + '/bin/mpifort'):
            self.skipTest('built without a Fortran compiler')
        mine = {'HERALD_FC': 'myfc'}
        both = LINK[:-1] + ['-lmpifort_abi', '-lmpi_abi']
        for name in ('mpifort', 'mpif90', 'mpif77'):
            wrapper = f'{BUILD}/bin/{name}'
            for option in ('-show', '-showme', '-link-info'):
                self.assertEqual(run(wrapper, option, env=mine).stdout.split(), ['myfc', INC] + both)
            self.assertEqual(run(wrapper, '-show', '-c', 'a.f', env=mine).stdout.split(), ['myfc', '-c', 'a.f', INC])
            self.assertEqual(run(wrapper, '-compile-info', env=mine).stdout.split(), ['myfc', INC])
            self.assertEqual(run(wrapper, '-fc=other', '-compile-info', env=mine).stdout.split(), ['other', INC])

    def test_arguments_with_blanks_stay_whole(self):
        self.assertEqual(self.args('-DX="a b"', '-c', 'my file.c', '-DY=$HOME', '*', ''),
                         ['-DX="a b"', '-c', 'my file.c', '-DY=$HOME', '*', '', INC])

    def test_output_named_like_an_option_is_no_input(self):
        self.assertEqual(self.args('-v', '-o', 'x'), ['-v', '-o', 'x', INC])

    def test_show(self):
        for option in ('-show', '-showme', '--showme', '-link-info'):
            words = run(MPICC, option, env={'HERALD_CC': 'mycc'}).stdout.split()
            self.assertEqual(words, ['mycc', INC] + LINK)
        self.assertEqual(run(MPICC, '-show', '-c', 'a.c', env={'HERALD_CC': 'mycc'}).stdout.split(),
                         ['mycc', '-c', 'a.c', INC])
        self.assertEqual(run(MPICC, '-compile-info', env={'HERALD_CC': 'mycc'}).stdout.split(), ['mycc', INC])

    def test_showme(self):
        for dash in ('-', '--'):
            def ask(what):
                return run(MPICC, f'{dash}showme:{what}').stdout.strip()
            self.assertEqual(ask('compile'), INC)
            self.assertEqual(ask('link').split(), LINK)
            self.assertEqual(ask('incdirs'), BUILD + '/include')
            self.assertEqual(ask('libdirs'), BUILD + '/lib')
            self.assertEqual(ask('libs'), 'mpi_abi')
            self.assertRegex(ask('version'), r'Herald \d+\.\d+\.\d+')
            self.assertTrue(ask('command'))
        wrong = run(MPICC, '-showme:nonsense', check=False)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn('-showme:nonsense', wrong.stderr)

    def test_compiler_from_option_and_environment(self):
        self.assertEqual(run(MPICC, '-showme:command', env={'HERALD_CC': 'ccache gcc'}).stdout, '"ccache gcc"\n')
        self.assertEqual(run(MPICC, '-c', 'x.c', env={'HERALD_CC': f'env {self.echo}'}).stdout.split(),
                         ['-c', 'x.c', INC])
        self.assertEqual(self.args('-c', 'a.cc', wrapper=MPICXX, switch='-cxx'), ['-c', 'a.cc', INC])
        missing = run(MPICC, '-cc=no-such-compiler', 'a.c', check=False)
        self.assertEqual(missing.returncode, 127)
        self.assertIn('no-such-compiler', missing.stderr)
        self.assertIn('HERALD_CC', missing.stderr)

    def test_exit_code_of_the_compiler_is_kept(self):
        self.assertEqual(run(MPICC, '-cc=false', 'a.c', check=False).returncode, 1)

    def test_found_through_symbolic_links_and_path(self):
        link = self.folder.name + '/my-mpicc'
        os.symlink(os.path.relpath(MPICC, os.path.realpath(self.folder.name)), link)
        self.assertEqual(run(link, '-showme:incdirs').stdout.strip(), BUILD + '/include')
        path = BUILD + '/bin:' + os.environ['PATH']
        for name in ('mpicc', 'mpicxx', 'mpic++', 'mpiCC'):
            self.assertEqual(run('sh', '-c', f'{name} -showme:libdirs', env={'PATH': path}).stdout.strip(), BUILD + '/lib')

    def test_prefix_with_blanks(self):
        home = self.folder.name + '/my mpi'
        os.makedirs(home + '/bin')
        with open(MPICC, encoding='utf-8') as file, open(home + '/bin/mpicc', 'w', encoding='utf-8') as copy:
            copy.write(file.read())
        os.chmod(home + '/bin/mpicc', 0o755)
        real = os.path.realpath(home)
        self.assertEqual(run(home + '/bin/mpicc', f'-cc={self.echo}', '-c', 'a.c').stdout.split('\n')[:-1],
                         ['-c', 'a.c', f'-I{real}/include'])
        self.assertEqual(run(home + '/bin/mpicc', '-showme:compile').stdout.strip(), f'"-I{real}/include"')


if __name__ == '__main__':
    unittest.main()
