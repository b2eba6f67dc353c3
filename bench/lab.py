#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares Herald with other MPI libraries, and with plain UDP sockets, between hosts of the lab (docs/lab.md): one
source for all, run in turns on the same network, medians. Needs root.

    bench/lab.py [--herald build/release] [--rounds 3] [--only WORD] [--players herald,lam] [--list]
    bench/lab.py --sweep [--rounds 1] ...      collectives over sizes and over numbers of hosts
    bench/lab.py --fast [--rounds 1] ...       fast links: no rate, 10 Gbit/s, 1 Gbit/s; processor time beside the time

Prints a table of ratios and writes JSON with machine, kernel and commit; and plots, where matplotlib is installed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import lab_players  # noqa: E402
import lab_report  # noqa: E402
import lab_rows  # noqa: E402
import run as plain  # noqa: E402
from progress import Progress  # noqa: E402
from heraldlab import cli, counters, hosts, labs, state, tool  # noqa: E402


NAME = f'bench-{os.getpid()}'


def command(*words):
    """Runs a command of herald-lab without output."""
    out, sys.stdout = sys.stdout, open(os.devnull, 'w', encoding='utf-8')
    try:
        if cli.main([words[0], '--name', NAME, *words[1:]]) != 0:
            raise tool.LabError(f'herald-lab {" ".join(words)} failed')
    finally:
        sys.stdout.close()
        sys.stdout = out


def port_counts(lab, names):
    """Packets that left these ports of the switch, and packets dropped there."""
    ports = counters.read(lab, hosts.in_network)['ports']
    there = [ports[name] for name in names if name in ports]  # a row may name more hosts than its network has
    return sum(port['packets'] for port in there), sum(port['drops'] for port in there)


class Figures:
    """Samples of one row, as they come in."""

    def __init__(self, row):
        self.row, self.samples, self.floors, self.counts, self.failed = row, {}, [], {}, {}
        self.rounds = []  # [{(player, size): [seconds]}]
        self.cpu = {}  # {(player, size): [processor seconds of one call, all ranks together]}

    def take(self, libraries, player):
        row = self.row
        ports, _ = lab_rows.COUNTED.get(row.mode, ([], True))
        before = port_counts(libraries.lab, ports) if ports else None
        out, why = libraries.run(player.library, player.env, row.ranks, [row.mode] + row.words, row.seconds, row.program)
        if why:
            self.failed[player.name] = why
        for line in (out or '').splitlines():
            words = line.split()
            if len(words) != 3:  # a message of the library or its launcher
                self.failed[player.name] = line[:300]
                continue
            mode, size, value = words
            if mode == 'cpu':
                self.cpu.setdefault((player.name, int(size)), []).append(float(value))
            if mode == row.mode:
                self.samples.setdefault((player.name, int(size)), []).append(float(value))
                self.rounds[-1].setdefault((player.name, int(size)), []).append(float(value))
        if ports:
            after = port_counts(libraries.lab, ports)
            sums = self.counts.setdefault(player.name, [0, 0])
            sums[0] += after[0] - before[0]
            sums[1] += after[1] - before[1]

    def take_floor(self, libraries):
        if not lab_rows.has_program(self.row.floor):
            return
        out, why = libraries.run('floor', {}, self.row.ranks, list(self.row.floor), 60)
        if why:
            self.failed['floor'] = why
        else:
            self.floors += [float(line.split()[2]) for line in out.splitlines()]

    def cpu_per_gib(self, size):
        """Processor seconds per GiB that one rank passes to the call, by player."""
        return {name: statistics.median(values) * (1 << 30) / size for (name, of), values in self.cpu.items() if of == size}

    def drops(self):
        """The share of packets that the switch dropped, by player."""
        return {name: lost / max(1, sent + lost) for name, (sent, lost) in self.counts.items()}

    def result(self, own):
        result = lab_report.summarise(self.row, self.samples, self.floors, self.drops(), own, self.rounds)
        if self.row.network in lab_rows.FAST_NETWORKS:
            for one in result:
                one['cpu_per_gib'] = self.cpu_per_gib(one['bytes'])
        return result


def measure(network, rows, libraries, options):
    """All rows of one network, in turns."""
    count, words, _ = lab_rows.NETWORKS[network]
    all_figures = [Figures(row) for row in rows]
    steps = Progress(options.rounds * sum(player.library in options.players for row in rows for player in row.players))
    command('up', str(count), *words)
    try:
        libraries.lab = state.load(NAME)
        for turn in range(options.rounds):
            for figures in all_figures:
                command('fault', *(figures.row.fault or ('heal',)))
                figures.rounds.append({})
                for player in figures.row.players[:: 1 if turn % 2 == 0 else -1]:  # no player is always first
                    if player.library not in options.players or player.name in figures.failed:
                        continue
                    steps.step(f'{network}: round {turn + 1} of {options.rounds}, {figures.row.title}, {player.name}')
                    figures.take(libraries, player)
                if 'floor' in options.players:
                    figures.take_floor(libraries)
        command('fault', 'heal')
    finally:
        labs.down(NAME)
        steps.end()
    return all_figures


def draw(path):
    """Plots of the figures in a file, by this Python or the system's, whichever has matplotlib."""
    for python in (sys.executable, '/usr/bin/python3'):
        if subprocess.run([python, '-c', 'import matplotlib'], capture_output=True, check=False).returncode == 0:
            subprocess.run([python, '-B', HERE + '/lab_plots.py', path], check=True)
            return
    print('no plots: python3-matplotlib is not installed')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--herald', default=lab_players.ROOT + '/build/release')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', default='', help='rows whose title or network holds this word')
    parser.add_argument('--players', default='herald,openmpi,mpich,lam,floor', help='only these libraries')
    parser.add_argument('--sweep', action='store_true', help='rows for plots over sizes and hosts, instead of those with goals')
    parser.add_argument('--fast', action='store_true', help='rows of fast links, instead of those with goals')
    parser.add_argument('--list', action='store_true', help='print the rows')
    options = parser.parse_args()
    options.players = options.players.split(',')
    return options


def main():
    options = arguments()
    rows = lab_rows.chosen(lab_rows.SWEEP if options.sweep else lab_rows.FAST if options.fast else lab_rows.ROWS, options.only)
    if options.list:
        print('\n'.join(f'{row.network:<15}{row.title}' for row in rows))
        return 0
    reason = tool.why_not()
    if reason:
        sys.exit(f'bench-lab: {reason}')
    folder = os.path.abspath(options.herald) + '/bench'
    libraries = lab_players.Libraries(os.path.abspath(options.herald), folder)
    libraries.build()
    figures = []
    for network in lab_rows.NETWORKS:
        mine = [row for row in rows if row.network == network]
        if mine:
            figures += measure(network, mine, libraries, options)
    own = {each.row.title: lab_report.medians(each.samples) for each in figures}
    results = [one for each in figures for one in each.result(own)]
    facts = plain.machine()
    print(f'{facts["cpu"]}, {facts["cores"]} cores, Linux {facts["kernel"]}, commit {facts["commit"]}; '
          f'medians of {options.rounds} rounds run in turns')
    print(lab_report.tables(results, lab_rows.ALL))
    for each in figures:
        for name, why in each.failed.items():
            partly = any(name == of for of, _ in each.samples)
            print(f'{each.row.title}: {name} {"counts as far as it came" if partly else "is left out"}: {why}')
    path = f'{folder}/lab{"-sweep" if options.sweep else "-fast" if options.fast else ""}.json'
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'machine': facts, 'rounds': options.rounds, 'rows': results}, file, indent=1)
    print(f'written to {os.path.relpath(path)}')
    draw(path)
    return 0


if __name__ == '__main__':
    sys.exit(main())
