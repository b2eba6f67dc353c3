#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""lab_plots.py lab.json: plots of the figures of the lab, beside the file that lab.py wrote. Needs matplotlib."""
import json
import os
import sys

import matplotlib

matplotlib.use('Agg')
from matplotlib import pyplot, ticker  # noqa: E402  (the back end comes first)

# A library has the same colour and marker in every plot.
LOOKS = {'herald': ('#c00000', 'o'), 'openmpi': ('#0060c0', 's'), 'mpich': ('#008000', '^'), 'lam': ('#a06000', 'D')}

FULL = 16384  # bytes; below it the burst of a link of the lab (4 KiB) hides its rate


def size_text(size):
    for unit, name in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return f'{size // unit} {name}'
    return f'{size} B'


def save(figure, stem, word):
    path = f'{stem}-{word}.png'
    figure.savefig(path, dpi=110, bbox_inches='tight')
    pyplot.close(figure)
    return path


def _lines(axis, rows, along):
    """Milliseconds over a field of the rows, one line for each library; the floor is dashed."""
    for name in sorted({name for one in rows for name in one['seconds']}, key=lambda name: (name not in LOOKS, name)):
        colour, marker = LOOKS.get(name, (None, '.'))
        points = sorted((one[along], one['seconds'][name] * 1e3) for one in rows if name in one['seconds'])
        axis.plot(*zip(*points), marker=marker, markersize=4, color=colour, label=name)
    floors = sorted((one[along], one['floor'] * 1e3) for one in rows if one['floor'] and one['bytes'] >= FULL)
    if floors:
        axis.plot(*zip(*floors), linestyle='--', color='black', linewidth=1, label='link limit')
    axis.set_yscale('log')
    axis.set_xscale('log', base=2)
    axis.grid(True, which='major', color='#dddddd')
    places = sorted({one[along] for one in rows})
    axis.set_xticks(places)
    axis.set_xticklabels([size_text(place) if along == 'bytes' else str(place) for place in places],
                         rotation=45 if along == 'bytes' else 0)
    axis.minorticks_off()
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high / low < 1000 else (1,), numticks=20))
    axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f'{value:g}'))


def _legend(figure, axes):
    """One legend above all plots."""
    named = {name: line for axis in axes.flat for line, name in zip(*axis.get_legend_handles_labels())}
    figure.legend(named.values(), named.keys(), loc='lower center', bbox_to_anchor=(0.5, 1.0), ncol=len(named), frameon=False)


def _sizes(rows, stem):
    """Time over size, one plot per collective, on the network with the most sizes."""
    modes = list(dict.fromkeys(one['mode'] for one in rows))
    figure, axes = pyplot.subplots(1, len(modes), figsize=(5.5 * len(modes), 4.5), squeeze=False, constrained_layout=True)
    for axis, mode in zip(axes[0], modes):
        mine = [one for one in rows if one['mode'] == mode]
        counts = [one['hosts'] for one in mine]
        hosts = max(set(counts), key=counts.count)
        _lines(axis, [one for one in mine if one['hosts'] == hosts], 'bytes')
        axis.set(title=f'{mode}, {hosts} hosts', xlabel='size', ylabel='ms')
    _legend(figure, axes)
    return save(figure, stem, 'sizes')


def _hosts(rows, stem):
    """Time over the number of hosts: a row of plots per collective, one for each size that all have."""
    modes = list(dict.fromkeys(one['mode'] for one in rows))
    common = {}
    for mode in modes:
        by_hosts = {}
        for one in rows:
            if one['mode'] == mode:
                by_hosts.setdefault(one['hosts'], set()).add(one['bytes'])
        common[mode] = sorted(set.intersection(*by_hosts.values()))
    wide = max(len(sizes) for sizes in common.values())
    if wide == 0:
        return None
    figure, axes = pyplot.subplots(len(modes), wide, figsize=(3.6 * wide, 3.2 * len(modes)), squeeze=False, constrained_layout=True)
    for line, mode in zip(axes, modes):
        for axis in line[len(common[mode]):]:
            axis.set_axis_off()
        for axis, size in zip(line, common[mode]):
            _lines(axis, [one for one in rows if one['mode'] == mode and one['bytes'] == size], 'hosts')
            axis.set(title=f'{mode} {size_text(size)}', xlabel='hosts', ylabel='ms')
    _legend(figure, axes)
    return save(figure, stem, 'hosts')


def _skews(results, stem):
    """Early and late receivers: time over size, one line per protocol."""
    titles = sorted({one['title'] for one in results if 'receiver' in one['title']})
    if not titles:
        return None
    figure, axes = pyplot.subplots(1, len(titles), figsize=(6 * len(titles), 4.5), squeeze=False)
    for axis, title in zip(axes[0], titles):
        rows = [one for one in results if one['title'] == title]
        for name in sorted({name for one in rows for name in one['seconds']}):
            points = [(one['bytes'], one['seconds'][name] * 1e6) for one in rows if name in one['seconds']]
            axis.plot(*zip(*points), marker='.', label=name)
        axis.set(title=title, xlabel='bytes', ylabel='microseconds', xscale='log', yscale='log')
        axis.legend()
    return save(figure, stem, 'receivers')


def _shares(results, stem):
    """Rates as a share of what the link carries as payload."""
    rows = [one for one in results if one['shown'] == 'rate' and one['floor'] and one['seconds']]
    if not rows:
        return None
    names = sorted({name for one in rows for name in one['seconds']})
    figure, axis = pyplot.subplots(figsize=(9, 1 + 0.7 * len(rows)))
    for i, name in enumerate(names):
        places = [at + 0.8 * i / len(names) for at in range(len(rows))]
        axis.barh(places, [one['floor'] / one['seconds'][name] if name in one['seconds'] else 0 for one in rows],
                  0.7 / len(names), label=name)
    axis.set(xlabel='share of the floor', yticks=[at + 0.4 for at in range(len(rows))])
    axis.set_yticklabels([one['title'] for one in rows])
    axis.axvline(1, color='black', linewidth=0.8)
    axis.legend()
    return save(figure, stem, 'rates')


def draw(results, stem):
    """Paths of the plots: stem-WORD.png."""
    swept = [one for one in results if sum(one['title'] == other['title'] for other in results) > 1 and one['seconds']
             and 'receiver' not in one['title']]
    made = [_skews(results, stem), _shares(results, stem)] + ([_sizes(swept, stem), _hosts(swept, stem)] if swept else [])
    return [path for path in made if path]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding='utf-8') as file:
        results = json.load(file)['rows']
    for path in draw(results, os.path.splitext(sys.argv[1])[0]):
        print(f'written to {os.path.relpath(path)}')


if __name__ == '__main__':
    main()
