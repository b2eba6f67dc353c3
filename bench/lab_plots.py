# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the figures of the lab: needs matplotlib."""
import matplotlib

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402  (the back end comes first)


def _skews(results, folder):
    """Early and late receivers: time over size, one line for each way to send."""
    titles = sorted({one['title'] for one in results if 'receiver' in one['title']})
    if not titles:
        return []
    figure, axes = pyplot.subplots(1, len(titles), figsize=(6 * len(titles), 4.5), squeeze=False)
    for axis, title in zip(axes[0], titles):
        rows = [one for one in results if one['title'] == title]
        for name in sorted({name for one in rows for name in one['seconds']}):
            points = [(one['bytes'], one['seconds'][name] * 1e6) for one in rows if name in one['seconds']]
            axis.plot(*zip(*points), marker='.', label=name)
        axis.set(title=title, xlabel='bytes', ylabel='microseconds', xscale='log', yscale='log')
        axis.legend()
    path = f'{folder}/lab-receivers.png'
    figure.savefig(path, dpi=120, bbox_inches='tight')
    return [path]


def _shares(results, folder):
    """Rates as a share of what the link carries as payload."""
    rows = [one for one in results if one['shown'] == 'rate' and one['floor'] and one['seconds']]
    if not rows:
        return []
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
    path = f'{folder}/lab-rates.png'
    figure.savefig(path, dpi=120, bbox_inches='tight')
    return [path]


def draw(results, folder):
    """Paths of what was drawn."""
    return _skews(results, folder) + _shares(results, folder)
