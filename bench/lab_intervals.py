# SPDX-License-Identifier: BSD-3-Clause
"""Confidence interval of a ratio by bootstrap: rounds are resampled, each with all its measurements, and the ratio is
taken of every resample. Rounds stay whole because a disturbance hits all measurements of a round."""
import random
import statistics

DRAWS = 2000
OUTSIDE = 0.025  # of the draws, on either side


def ratio(rounds, mine, others):
    """The ratio of medians, ours to the best of the others, over rounds [{name: [seconds]}]; None without figures."""
    def median(name):
        values = [value for one in rounds for value in one.get(name, ())]
        return statistics.median(values) if values else None
    own, best = median(mine), [value for value in map(median, others) if value]
    return own / min(best) if own and best else None


def interval(rounds, mine, others, seed=1):
    """(low, high) between which 95 % of the draws lie, or None if there are fewer than five rounds."""
    if len(rounds) < 5:
        return None
    chance = random.Random(seed)
    draws = (ratio(chance.choices(rounds, k=len(rounds)), mine, others) for _ in range(DRAWS))
    ratios = sorted(one for one in draws if one)
    if not ratios:
        return None
    return ratios[int(len(ratios) * OUTSIDE)], ratios[int(len(ratios) * (1 - OUTSIDE))]
