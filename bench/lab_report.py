# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the lab as a table: median of each library, lower bound, ratios, goals."""
import statistics

import lab_intervals
from lab_rows import COUNTED, NETWORKS, OfRow, payload_rate
from heraldlab import faults


OTHER_WAYS = ('push-zero', 'push-all')  # baselines of paper 002


def medians(samples, player='herald'):
    """{size: seconds} of one player, from {(player, size): [seconds]}."""
    return {size: statistics.median(values) for (name, size), values in samples.items() if name == player}


def floor_of(row, size, cells, floors, own):
    """Seconds of the lower bound of a row, or None."""
    if isinstance(row.floor, OfRow):
        return own.get(row.floor.title, {}).get(size)
    if row.floor == 'link':
        lost = faults.part(row.fault[1]) / faults.MILLION if row.fault else 0
        return size * row.messages / payload_rate(NETWORKS[row.network][2], lost=lost)
    if row.floor == 'best':
        others = [cells[name] for name in OTHER_WAYS if name in cells]
        return min(others) if others else None
    if row.floor == 'dynamic':
        return cells.get('dynamic')
    if not floors or row.floor is None:
        return None
    each = statistics.median(floors)  # of a blast: seconds per packet
    return each if row.floor[0] in ('spin', 'sleep', 'exchange', 'stream', 'tcp') else each * size / int(row.floor[1])


def interval_of(row, size, rounds):
    """[low, high] of the ratio to the best baseline, if that is the lower bound and there were enough rounds; or None."""
    if row.floor != 'best':
        return None
    of_size = [{name: values for (name, of), values in one.items() if of == size} for one in rounds]
    found = lab_intervals.interval(of_size, 'herald', OTHER_WAYS)
    return list(found) if found else None


def summarise(row, samples, floors, drops, own=None, rounds=()):
    """Rows of the result, one for each size: medians of the samples {(player, size): [seconds]}. `own`: Herald's times
    in all rows, {title: {size: seconds}}. `rounds`: the same samples, one such table for each round."""
    result = []
    for size in sorted({size for _, size in samples}) or [int(word) for word in row.words[0].split(',')]:
        cells = {name: statistics.median(values) for (name, of), values in samples.items() if of == size}
        floor = floor_of(row, size, cells, floors, own or {})
        mine = cells.get('herald')
        one = {'title': row.title, 'mode': row.mode, 'hosts': min(row.ranks, NETWORKS[row.network][0]), 'bytes': size,
               'seconds': cells, 'floor': floor, 'shown': row.shown, 'messages': row.messages,
               'reach': row.reach, 'beat': list(row.beat), 'drops': drops,
               'spread': {name: [min(values), max(values)] for (name, of), values in samples.items() if of == size}}
        if mine and floor:
            one['to_floor'] = mine / floor if row.shown == 'time' else floor / mine
        others = [cells[name] for name in ('openmpi', 'mpich', 'lam') if name in cells]
        if mine and others:
            one['to_best'] = mine / min(others) if row.shown == 'time' else min(others) / mine
        interval = interval_of(row, size, rounds)
        if interval:
            one['interval'] = interval
        one['reached'] = reached(row, one, cells)
        result.append(one)
    return result


def reached(row, one, cells):
    """True, False, or None where there is no goal or no figure."""
    verdicts = []
    if row.reach and 'to_floor' in one:
        verdicts.append(one['to_floor'] <= row.reach if row.shown == 'time' else one['to_floor'] >= row.reach)
    verdicts += [cells['herald'] <= cells[name] for name in row.beat if 'herald' in cells and name in cells]
    if not COUNTED.get(row.mode, ([], True))[1] and 'herald' in one['drops']:
        verdicts.append(one['drops']['herald'] == 0)
    return all(verdicts) if verdicts else None


def _text(one, seconds):
    if seconds is None:
        return '-'
    if one['shown'] == 'rate':
        return f'{one["bytes"] * one["messages"] / seconds / 1e6:.2f} MB/s'
    return f'{seconds * 1e6:.1f} us'


def tables(results, libraries):
    """One table for all rows of Herald and other libraries, and one for each set of variants of Herald."""
    groups = {}
    for one in results:
        ways = tuple(name for name in one['seconds'] if name not in libraries)
        groups.setdefault(ways if len(ways) > 1 else ('herald',), []).append(one)
    return '\n\n'.join(table(rows, [*ways, *(name for name in libraries if any(name in one['seconds'] for one in rows))])
                       for ways, rows in groups.items())


def table(results, names):
    lines = [f'{"":<42}' + ''.join(f'{name:>14}' for name in names) + f'{"floor":>14}{"/floor":>9}{"/best":>9}  reach']
    titles = [one['title'] for one in results]
    for one in results:
        title = one['title'] + (f', {one["bytes"]} B' if titles.count(one['title']) > 1 else '')
        cells = ''.join(f'{_text(one, one["seconds"].get(name)):>14}' for name in names)
        ratios = ''.join(f'{one[key]:>9.3f}' if key in one else f'{"-":>9}' for key in ('to_floor', 'to_best'))
        goal = f'{one["reach"]:.4g}' if one['reach'] else ('the others' if one['beat'] else '')
        verdict = {True: ' yes', False: ' NO', None: ''}[one['reached']]
        lines.append(f'{title:<42}{cells}{_text(one, one["floor"]):>14}{ratios}  {goal}{verdict}')
        if 'interval' in one:
            lines.append(f'{"  95 % of drawn rounds":<42}{one["interval"][0]:.3f} to {one["interval"][1]:.3f} of the best other way')
        if one.get('cpu_per_gib'):
            used = ''.join(f'{one["cpu_per_gib"][name]:>12.2f} s' if name in one['cpu_per_gib'] else f'{"-":>14}' for name in names)
            lines.append(f'{"  processor time per GiB":<42}{used}')
        if one['drops']:
            shares = ''.join(f'{one["drops"][name] * 100:>12.3f} %' if name in one['drops'] else f'{"-":>14}' for name in names)
            lines.append(f'{"  packets dropped by the switch":<42}{shares}')
    return '\n'.join(lines)
