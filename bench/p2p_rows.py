# SPDX-License-Identifier: BSD-3-Clause
"""The part of run.py for messages inside a host: measurements, rounds, table and plots."""
import os
import statistics
import subprocess
import sys

import progress

SMALL = [8, 64, 512, 1024, 4096]
LONG = [16384, 65536, 262144, 1048576, 4194304, 16777216]
# what: (sizes, unit, factor for show, less is better)
KINDS = {
    'latency': (SMALL + LONG, 'us', 1e6, True),
    'bandwidth': (SMALL[3:] + LONG, 'MB/s', 1e-6, False),
    'bidirectional': (SMALL[3:] + LONG, 'MB/s', 1e-6, False),
    'rate': ([8, 64], 'M/s', 1e-6, False),
    'early': ([8, 4096, 65536, 1048576], 'us', 1e6, True),
    'late': ([8, 4096, 65536, 1048576], 'us', 1e6, True),
    'overlap': ([65536, 1048576], 'hidden', 1, False),
    'overlap_thread': ([65536, 1048576], 'hidden', 1, False),
    'alloc_mem': ([16384] + LONG[1:4], 'us', 1e6, True),
    'ring': ([], 'us', 1e6, True),
    'barrier': ([], 'us', 1e6, True),
    'line': ([], 'us', 1e6, True),
    'copy': ([], 'us', 1e6, True),
}
# Kinds that repeat another one with settings: with the progress thread of each library; with buffers of
# MPI_Alloc_mem.
UNDER = {
    'overlap_thread': ('overlap', {'HERALD_PROGRESS': 'thread', 'HERALD_SPIN_US': '0', 'MPICH_ASYNC_PROGRESS': '1'}),
    'alloc_mem': ('latency', {'BENCH_ALLOC': '1'}),
}
# Values of --kinds: crowd measures ring and barrier; the lower bounds (line, copy) are always measured.
ASKABLE = [kind for kind, row in KINDS.items() if row[0]] + ['crowd']


def gather(samples, name, text, kind=None):
    for line in text.splitlines():
        what, size, value = line.split()
        samples.setdefault((kind or what, int(size)), {}).setdefault(name, []).append(float(value))


def measure(found, folder, options, run):
    """{(what, bytes): {library: median}}; the floor of the machine goes by the name `floor`."""
    samples = {}
    floor = f'{folder}/floor'
    subprocess.run([os.environ.get('CC', 'cc'), '-O2', '-w', '-o', floor, os.path.join(os.path.dirname(__file__), 'floor.c')],
                   check=True)
    kinds = options.kinds.split(',') if options.kinds else ASKABLE
    for kind in kinds:
        if kind not in ASKABLE:
            sys.exit(f'bench: --kinds {kind}: there are {", ".join(ASKABLE)}; the floor is always measured')
    shown = progress.Progress(options.rounds * len(found) * len(kinds))
    for turn in range(options.rounds):
        gather(samples, 'floor', run([floor], 60))
        for name, (_, launcher) in found.items():
            for kind in kinds:
                shown.step(f'p2p: round {turn + 1} of {options.rounds}, {name}, {kind}')
                if kind == 'crowd':
                    # MPICH spins without end where ranks outnumber cores: a short time is plenty.
                    more = ['--mca', 'mpi_yield_when_idle', '1'] if name == 'openmpi' else []
                    words = launcher + more + ['-n', '16', f'{folder}/crowd.{name}', str(options.seconds)]
                else:
                    sizes = [str(n) for n in KINDS[kind][0] if n <= options.largest]
                    real, settings = UNDER.get(kind, (kind, {}))
                    words = ['env'] + [f'{key}={value}' for key, value in settings.items()] + launcher
                    words += ['-n', '2', f'{folder}/p2p.{name}', real, str(options.seconds)] + sizes
                gather(samples, name, run(words, 300, name == 'herald'), kind if kind in UNDER else None)
    shown.end()
    return {key: {name: statistics.median(values) for name, values in row.items()} for key, row in samples.items()}


def report(p2p, names, row_text):
    rows = []
    order = list(KINDS)
    for (what, size), row in sorted(p2p.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
        _, unit, factor, less = KINDS[what]
        others = [value for name, value in row.items() if name not in ('herald', 'floor')]
        best = (min if less else max)(others) if others else 0
        times = row['herald'] / best if 'herald' in row and best else None
        label = f'{what}, {size} ranks' if what in ('ring', 'barrier') else f'{what} {size} B'
        shown = dict(row)
        if 'floor' in shown:
            print(f'{label:<26}{shown["floor"] * factor:>11.3f} {unit}  (the memory itself)')
        else:
            print(row_text(label, shown, names,
                           lambda v, f=factor, u=unit: f'{v * f:.3f} {u}' if v * f < 10 else f'{v * f:.1f} {u}', times))
        rows.append({'what': what, 'bytes': size, 'value': row, 'ratio': times, 'unit': 's' if factor == 1e6 else unit})
    return rows


def plot(p2p, names, what, path):
    """A plot over size, both axes logarithmic, as SVG."""
    series = {name: [(size, row[name]) for (kind, size), row in sorted(p2p.items()) if kind == what and name in row]
              for name in names}
    points = [p for line in series.values() for p in line if p[1] > 0]
    if not points:
        return
    import math
    wide, high, edge = 640, 400, 60
    low_x, top_x = (math.log2(f(p[0] for p in points)) for f in (min, max))
    low_y, top_y = (math.log10(f(p[1] for p in points)) for f in (min, max))
    at = lambda p: (edge + (math.log2(p[0]) - low_x) / max(top_x - low_x, 1) * (wide - 2 * edge),
                    high - edge - (math.log10(p[1]) - low_y) / max(top_y - low_y, 1e-9) * (high - 2 * edge))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{wide / 2}" y="20" text-anchor="middle">{what} over message size</text>']
    for size in sorted({p[0] for p in points}):
        x, _ = at((size, points[0][1]))
        text = f'{size >> 20}M' if size >= 1 << 20 else f'{size >> 10}K' if size >= 1024 else str(size)
        out.append(f'<text x="{x:.0f}" y="{high - edge + 18}" text-anchor="middle">{text}</text>')
    unit = (1e6, 'us') if what == 'latency' else (1e-6, 'MB/s')
    for power in range(math.floor(low_y), math.ceil(top_y) + 1):
        if low_y <= power <= top_y:
            _, y = at((points[0][0], 10.0 ** power))
            out.append(f'<path d="M{edge} {y:.0f}H{wide - edge}" stroke="#ddd"/>'
                       f'<text x="{edge - 4}" y="{y + 4:.0f}" text-anchor="end">{10.0 ** power * unit[0]:g} {unit[1]}</text>')
    for i, (name, line) in enumerate(series.items()):
        colour = ('#c00', '#06c', '#080', '#a60', '#808')[i % 5]
        places = ' '.join(f'{x:.1f},{y:.1f}' for x, y in map(at, line))
        out.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{wide - edge + 4}" y="{40 + 16 * i}" fill="{colour}">{name}</text>')
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(out + ['</svg>', '']))
