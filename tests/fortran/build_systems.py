#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""build_systems.py BUILD CHECK: a Fortran program of each binding builds through CMake's FindMPI, Meson, autoconf or
pkg-config, and runs on 2 ranks."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, CHECK = sys.argv[1:3]
SKIP = 77
BINDINGS = {'mpif': ('', "include 'mpif.h'"), 'mpi': ('use mpi', ''), 'f08': ('use mpi_f08', '')}
PROGRAM = """program hello
{use}
implicit none
{include}
integer :: rank, ranks, ierr
call MPI_Init(ierr)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
print '(a, i0, a, i0)', 'rank ', rank, ' of ', ranks
call MPI_Finalize(ierr)
end program
"""
CMAKE = """cmake_minimum_required(VERSION 3.20)
project(hello Fortran C)
find_package(MPI REQUIRED COMPONENTS Fortran C)
if(NOT MPI_Fortran_HAVE_F77_HEADER OR NOT MPI_Fortran_HAVE_F90_MODULE OR NOT MPI_Fortran_HAVE_F08_MODULE)
  message(FATAL_ERROR "FindMPI does not find all bindings")
endif()
foreach(name mpif mpi f08)
  add_executable(${name} ${name}.f90)
  target_link_libraries(${name} MPI::MPI_Fortran)
endforeach()
"""
MESON = """project('hello', 'fortran')
mpi = dependency('mpi', language: 'fortran')
foreach name : ['mpif', 'mpi', 'f08']
  executable(name, name + '.f90', dependencies: mpi)
endforeach
"""
CONFIGURE = """AC_INIT([hello], [1])
AC_PROG_FC([mpifort])
AC_LANG([Fortran])
AC_MSG_CHECKING([whether a program of MPI links])
AC_LINK_IFELSE([AC_LANG_PROGRAM([], [      use mpi_f08
      call MPI_Init()])], [AC_MSG_RESULT([yes])], [AC_MSG_ERROR([no])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""
MAKEFILE = "all: mpif mpi f08\n%: @srcdir@/%.f90\n\t@FC@ @FCFLAGS@ -o $@ $<\n"


def run(*words, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('MPI', 'OMPI', 'HERALD_', 'PMI', 'SLURM'))}
    env.update(more.pop('env', {}))
    done = subprocess.run(words, capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL, check=False, **more)
    if done.returncode != 0:
        sys.exit(f'{" ".join(words)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def need(command):
    if shutil.which(command) is None:
        print(f'skipped: {command} is not on this machine')
        sys.exit(SKIP)


def expect(folder):
    for name in BINDINGS:
        out = run(f'{BUILD}/bin/mpiexec', '-n', '2', f'{folder}/{name}')
        if 'rank 0 of 2' not in out or 'rank 1 of 2' not in out:
            sys.exit(f'{name}: a rank did not speak:\n{out}')
        used = [line.split()[2] for line in run('ldd', f'{folder}/{name}').splitlines() if 'libmpi' in line]
        if any(not os.path.realpath(one).startswith(os.path.realpath(BUILD)) for one in used) or not used:
            sys.exit(f'{name} uses other libraries: {used}')


def findmpi(source, out):
    (source / 'CMakeLists.txt').write_text(CMAKE, encoding='utf-8')
    run('cmake', '-S', str(source), '-B', str(out), '-G', 'Ninja', f'-DMPI_HOME={BUILD}')
    run('cmake', '--build', str(out))


def meson(source, out):
    need('meson')
    (source / 'meson.build').write_text(MESON, encoding='utf-8')
    env = {'PATH': BUILD + '/bin:' + os.environ['PATH'], 'PKG_CONFIG_LIBDIR': '/nonexistent'}
    run('meson', 'setup', str(out), str(source), env=env)
    run('ninja', '-C', str(out))


def autoconf(source, out):
    need('autoconf')
    need('make')
    (source / 'configure.ac').write_text(CONFIGURE, encoding='utf-8')
    (source / 'Makefile.in').write_text(MAKEFILE, encoding='utf-8')
    env = {'PATH': BUILD + '/bin:' + os.environ['PATH']}
    run('autoconf', cwd=source)
    run(f'{source}/configure', cwd=out, env=env)
    run('make', cwd=out, env=env)


def pkg_config(source, out):
    need('pkg-config')
    env = {'PKG_CONFIG_PATH': BUILD + '/lib/pkgconfig'}
    flags = run('pkg-config', '--cflags', '--libs', 'mpi-fort', env=env).split()
    for name in BINDINGS:
        run('gfortran', f'{source}/{name}.f90', '-o', f'{out}/{name}', *flags)


with tempfile.TemporaryDirectory() as place:
    sources, outputs = pathlib.Path(place) / 'source', pathlib.Path(place) / 'out'
    sources.mkdir()
    outputs.mkdir()
    for binding, (use, include) in BINDINGS.items():
        (sources / f'{binding}.f90').write_text(PROGRAM.format(use=use, include=include), encoding='utf-8')
    globals()[CHECK](sources, outputs)
    expect(outputs)
