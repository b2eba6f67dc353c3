# SPDX-License-Identifier: BSD-3-Clause
# Every target installs the packages it needs (scripts/setup) and can be run alone on a fresh machine.
SHELL := /bin/bash
PREFIX ?= /usr/local
RELEASE ?= build/release

.PHONY: help demo build test test-long soak format format-check lint bench bench-lab lab release wheel deb tarball install clean

help:
	@echo "make demo                  build Herald and run a program on 4 ranks"
	@echo "make test                  build, and run all tests, the unit tests under sanitizers too"
	@echo "make test-long             build, and run the tests that make test leaves out because they take long"
	@echo "make soak HOURS=8          simulated jobs with new seeds over all scenarios, on all processors"
	@echo "make build                 build only: bin, lib and include in build/release can be used in place"
	@echo "make release               build with profile-guided optimization, in build/pgo"
	@echo "make install PREFIX=DIR    make release, and install below DIR (default $(PREFIX); TRAIN=no: no profile)"
	@echo "make wheel                 herald-mpi for pip, in build/ (mpicc, mpiexec, mpi.h, library)"
	@echo "make deb                   Debian packages, in build/ (library, compiler wrappers, mpiexec and tools)"
	@echo "make tarball               herald-VERSION.tar.gz, in build/"
	@echo "make bench                 compare with the other MPI libraries on this machine"
	@echo "make bench-lab             the same between hosts made from network namespaces (needs root)"
	@echo "make lab                   build, and start 8 hosts made from namespaces (needs root; LAB=\"8 --rate 100mbit\")"
	@echo "make format                format all sources"
	@echo "make lint                  check format, layer rules, clang-tidy and spelling"
	@echo "make clean                 remove build/"
	@echo "bench, bench-lab and lab use build/release, or the tree that RELEASE=DIR names; BENCH=\"...\" are options."
	@echo "Missing packages are installed with apt (as root, or with sudo); SETUP=no disables this."

ifeq ($(SETUP),no)
setup = @true
else
setup = @scripts/setup
endif

# A tree that the user names is used as it is.
ifeq ($(RELEASE),build/release)
build_tree = @scripts/build
else
build_tree = @test -x $(RELEASE)/bin/mpicc || { echo "herald: RELEASE=$(RELEASE) has no bin/mpicc" >&2; exit 1; }
endif

# The tools take a third of the build, and the demo does not need them.
demo:
	$(setup) build
	@scripts/build mpi_abi mpiexec
	@scripts/demo

build:
	$(setup) build
	@scripts/build

test:
	$(setup) test
	@scripts/test

test-long:
	$(setup) test
	@scripts/configure release -DHERALD_TESTS=ON
	@ninja -C build/release
	@ctest --preset release -L '^long$$'

HOURS ?= 8
soak:
	$(setup) test
	@scripts/soak $(HOURS)

format:
	$(setup) lint
	@scripts/format

format-check:
	$(setup) lint
	@scripts/format --check

lint:
	$(setup) test
	@scripts/lint

bench:
	$(setup) bench
	$(build_tree)
	@python3 bench/run.py --herald $(RELEASE) $(BENCH)

bench-lab:
	$(setup) bench
	$(build_tree)
	@python3 -B bench/lab.py --herald $(RELEASE) $(BENCH)

LAB ?= 8 --rate 100mbit
lab:
	$(setup) lab
	$(build_tree)
	@$(RELEASE)/bin/mpicc -O2 -o $(RELEASE)/demo examples/demo.c -lm
	@lab/herald-lab up $(LAB)
	@echo "run a program:       lab/herald-lab run $(RELEASE)/demo      (see --help and docs/lab.md)"
	@echo "inject a fault:      lab/herald-lab fault loss 10%"
	@echo "remove the lab:      lab/herald-lab down"

release:
	$(setup) build
	@scripts/release

wheel:
	$(setup) build
	@scripts/wheel

deb:
	$(setup) deb
	@scripts/deb

tarball:
	@scripts/tarball

install:
	$(setup) build
	@scripts/release --install "$(PREFIX)"

clean:
	rm -rf build
