# SPDX-License-Identifier: BSD-3-Clause
"""How far a benchmark is, and how long it will take."""
import sys
import time


class Progress:
    """One line on a terminal, with the time that is left; nothing elsewhere."""
    def __init__(self, steps):
        self.steps, self.done, self.begin = steps, 0, time.monotonic()

    def step(self, what):
        left = ''
        if self.done:
            seconds = (time.monotonic() - self.begin) / self.done * (self.steps - self.done)
            left = f', about {seconds:.0f} s left'
        if sys.stderr.isatty():
            print(f'\r{what}{left}'.ljust(78), end='', file=sys.stderr, flush=True)
        self.done += 1

    @staticmethod
    def end():
        if sys.stderr.isatty():
            print('\r' + ' ' * 78 + '\r', end='', file=sys.stderr)
