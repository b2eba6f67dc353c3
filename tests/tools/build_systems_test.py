#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a program does not build through CMake's FindMPI, Meson, autoconf or pkg-config, or from an
installation that was moved. Each check builds a real program and runs it on 2 ranks."""
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE, CHECK = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
SKIP = 77


def run(*words, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('MPI', 'OMPI', 'HERALD_', 'PMI', 'SLURM'))}
    env.update(more.pop('env', {}))
    done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=120, stdin=subprocess.DEVNULL, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(words)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def need(command):
    if shutil.which(command) is None:
        print(f'skipped: {command} is not on this machine')
        sys.exit(SKIP)


def expect_two_ranks(program, home=BUILD):
    out = run(home + '/bin/mpiexec', '-n', '2', program)
    for rank in range(2):
        if f'rank {rank} of 2' not in out:
            sys.exit(f'{program}: rank {rank} did not speak:\n{out}')
    libraries = run('ldd', program)
    used = [os.path.realpath(line.split()[2]) for line in libraries.splitlines() if 'libmpi_abi.so.1 =>' in line]
    if used != [os.path.realpath(home + '/lib/libmpi_abi.so.1')]:
        sys.exit(f'{program} does not use the library it was built with:\n{libraries}')


def in_place(folder):
    for wrapper, name in (('mpicc', 'hello.c'), ('mpicxx', 'hello.cpp')):
        shutil.copy(HERE + '/findmpi/hello.c', f'{folder}/{name}')
        run(f'{BUILD}/bin/{wrapper}', '-Wall', '-Werror', '-o', f'{folder}/{wrapper}-hello', f'{folder}/{name}')
        expect_two_ranks(f'{folder}/{wrapper}-hello')
        run(f'{BUILD}/bin/{wrapper}', '-c', '-o', f'{folder}/hello.o', f'{folder}/{name}')
        run(f'{BUILD}/bin/{wrapper}', '-o', f'{folder}/{wrapper}-linked', f'{folder}/hello.o')
        expect_two_ranks(f'{folder}/{wrapper}-linked')


def findmpi(folder):
    shutil.copytree(HERE + '/findmpi', folder + '/findmpi')
    run('cmake', '-S', folder + '/findmpi', '-B', folder + '/out', '-G', 'Ninja', f'-DMPI_HOME={BUILD}')
    run('cmake', '--build', folder + '/out')
    expect_two_ranks(folder + '/out/hello_c')
    expect_two_ranks(folder + '/out/hello_cxx')
    found = run('cmake', '-LA', '-N', folder + '/out')
    if f'{BUILD}/bin/mpiexec' not in found:
        sys.exit(f'FindMPI took another mpiexec:\n{found}')


def meson(folder):
    need('meson')
    shutil.copytree(HERE + '/meson', folder + '/meson')
    shutil.copy(HERE + '/findmpi/hello.c', folder + '/meson/hello.c')
    # Meson looks for Open MPI's pkg-config file first, and uses the highest version among all mpicc.
    env = {'PATH': BUILD + '/bin:' + os.environ['PATH'], 'PKG_CONFIG_LIBDIR': '/nonexistent'}
    run('meson', 'setup', folder + '/out', folder + '/meson', env=env)
    run('ninja', '-C', folder + '/out')
    expect_two_ranks(folder + '/out/hello')


def autoconf(folder):
    need('autoconf')
    need('make')
    shutil.copytree(HERE + '/autoconf', folder + '/source')
    shutil.copy(HERE + '/findmpi/hello.c', folder + '/source/hello.c')
    run('autoconf', '-Wall', cwd=folder + '/source')
    # With AX_MPI, which searches the wrapper in PATH, and with CC=mpicc.
    path = {'PATH': BUILD + '/bin:' + os.environ['PATH']}
    for name, words, env in (('path', [], path), ('given', [f'CC={BUILD}/bin/mpicc'], {})):
        os.mkdir(f'{folder}/{name}')
        run('../source/configure', *words, cwd=f'{folder}/{name}', env=env)
        run('make', cwd=f'{folder}/{name}', env=env)
        expect_two_ranks(f'{folder}/{name}/hello')


def pkg_config(folder):
    need('pkg-config')
    for package in ('herald', 'mpi'):
        env = {'PKG_CONFIG_PATH': BUILD + '/lib/pkgconfig'}
        flags = run('pkg-config', '--cflags', '--libs', package, env=env).split()
        run('cc', '-o', f'{folder}/hello-{package}', HERE + '/findmpi/hello.c', *flags)
        expect_two_ranks(f'{folder}/hello-{package}')


def install(folder):
    run('cmake', '--install', BUILD, '--prefix', folder + '/first')
    home = os.path.realpath(folder) + '/moved'
    os.rename(folder + '/first', home)
    run(home + '/bin/mpicc', '-o', folder + '/hello', HERE + '/findmpi/hello.c')
    expect_two_ranks(folder + '/hello', home)
    if not os.path.islink(home + '/lib/libmpi_abi.so'):
        sys.exit('lib/libmpi_abi.so is missing: -lmpi_abi would not be found')
    for page in ('man1/mpicc.1', 'man1/herald.1', 'man1/herald-lab.1', 'man3/MPIX_Scatterv_open_group.3', 'man7/herald-knobs.7'):
        if not os.path.exists(f'{home}/share/man/{page}'):
            sys.exit(f'share/man/{page} is not installed')
    for file in ('README.md', 'LICENSE', 'examples/hello.c'):
        if not os.path.exists(f'{home}/share/doc/herald/{file}'):
            sys.exit(f'share/doc/herald/{file} is not installed')
    if home not in run(home + '/bin/herald', 'info'):
        sys.exit('herald does not find its own installation')
    run(home + '/bin/herald-lab', '--help')
    run(home + '/bin/herald', 'cast', '--help')
    allowed = {'bin', 'lib', 'libexec', 'include', 'share'}
    if os.listdir(home + '/libexec') != ['herald']:
        sys.exit(f'unexpected files: {os.listdir(home + "/libexec")}')
    modules = {'mpif.h', 'mpi.mod', 'mpi_f08.mod', 'mpi_f08_types.mod'}
    fortran = modules if os.path.exists(home + '/lib/libmpifort_abi.so.1') else set()
    if set(os.listdir(home)) - allowed or set(os.listdir(home + '/include')) != {'mpi.h', 'mpix.h'} | fortran:
        sys.exit(f'unexpected files: {os.listdir(home)} {os.listdir(home + "/include")}')


with tempfile.TemporaryDirectory() as place:
    globals()[CHECK](place)
