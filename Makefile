# SPDX-License-Identifier: BSD-3-Clause
# The front door. Every target sets up what it needs (scripts/setup) and may be run alone on a fresh machine.
SHELL := /bin/bash
PREFIX ?= /usr/local
RELEASE := build/release

.PHONY: help demo build test format format-check lint bench bench-lab lab install clean

help:
	@echo "make demo                  build Herald and run a program on 4 ranks"
	@echo "make test                  build, and run all tests, some of them under sanitizers too"
	@echo "make build                 build only: $(RELEASE)/bin, lib and include are usable in place"
	@echo "make install PREFIX=DIR    build, and install below DIR (default $(PREFIX))"
	@echo "make bench                 compare with the other MPI libraries on this machine"
	@echo "make bench-lab             the same between hosts made from namespaces (needs root)"
	@echo "make lab                   build, and bring up 8 hosts made from namespaces (needs root; LAB=\"8 --rate 100mbit\")"
	@echo "make format                put all sources into the house format"
	@echo "make lint                  format, layer rules, clang-tidy, spelling: checks only"
	@echo "make clean                 remove build/"
	@echo "Missing packages are installed with apt (as root, or with sudo); SETUP=no leaves them alone."
	@echo "The library is built twice, the second time for what the first was seen to do; TRAIN=no: once."

ifeq ($(SETUP),no)
setup = @true
else
setup = @scripts/setup
endif

# Nobody who wants to see it for the first time waits until the library is trained.
demo:
	$(setup) build
	@TRAIN=no scripts/build
	@scripts/demo

build:
	$(setup) build
	@scripts/build

test:
	$(setup) test
	@scripts/test

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
	@scripts/build
	@python3 bench/run.py --herald $(RELEASE) $(BENCH)

bench-lab:
	$(setup) bench
	@scripts/build
	@python3 -B bench/lab.py --herald $(RELEASE) $(BENCH)

LAB ?= 8 --rate 100mbit
lab:
	$(setup) lab
	@scripts/build
	@$(RELEASE)/bin/mpicc -O2 -o $(RELEASE)/demo examples/demo.c -lm
	@lab/herald-lab up $(LAB)
	@echo "run a program on it:  lab/herald-lab run $(RELEASE)/demo      (--help tells more; docs/lab.md)"
	@echo "break the network:    lab/herald-lab fault loss 10%"
	@echo "take it down:         lab/herald-lab down"

install: build
	@cmake --install $(RELEASE) --prefix "$(PREFIX)"
	@echo "installed below $(PREFIX); programs are built with $(PREFIX)/bin/mpicc"

clean:
	rm -rf build
