# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of the lab, one row each. A row names its network, the program that every library runs on it, and
the lower bound: plain sockets in the same run, or the payload rate of the link."""
from collections import namedtuple

# name of a network: (hosts, options of herald-lab up, bits a second or 0)
NETWORKS = {
    'plain': (2, [], 0),
    'offloads': (2, ['--offloads', 'on'], 0),
    '100mbit': (2, ['--rate', '100mbit', '--buffer', '256k'], 100e6),
    '1gbit': (2, ['--rate', '1gbit'], 1e9),
    'incast': (8, ['--rate', '100mbit', '--buffer', '256k'], 100e6),
    'four': (4, ['--rate', '100mbit', '--buffer', '256k'], 100e6),
    'eight': (8, ['--rate', '100mbit', '--buffer', '256k'], 100e6),
    'sixteen': (16, ['--rate', '100mbit', '--buffer', '256k'], 100e6),
    'four-1gbit': (4, ['--rate', '1gbit'], 1e9),
    'fast-2': (2, ['--offloads', 'on'], 0),
    'fast-4': (4, ['--offloads', 'on'], 0),
    'fast-8': (8, ['--offloads', 'on'], 0),
    'fast-4-10gbit': (4, ['--rate', '10gbit', '--buffer', '4m', '--offloads', 'on'], 10e9),
    'fast-4-1gbit': (4, ['--rate', '1gbit'], 1e9),
}
FAST_NETWORKS = tuple(name for name in NETWORKS if name.startswith('fast-'))

# A library, or a variant of one: name, the library that builds and starts it, its environment.
Player = namedtuple('Player', 'name library env')
HERALD = Player('herald', 'herald', {})
OTHERS = [Player(name, name, {}) for name in ('openmpi', 'mpich', 'lam')]

# A floor that is Herald's own time in another row of the same run, at the same size.
OfRow = namedtuple('OfRow', 'title')

# mode     first argument of the program, and first word of its lines
# words    further arguments, sizes (8 or 8,64,512) first; fault: words of herald-lab fault, or ()
# floor    arguments of lab_floor or lab_exchange, 'link' (payload rate of the link), 'best' (of Herald's baselines),
#          'dynamic' (that variant), or OfRow
# shown    time, or rate: bytes per second of `messages` messages
# reach    what herald / floor must reach: at most for times, at least for rates (rates of a link); None: no goal
# beat     libraries that herald must not be slower than
# program  the source that is built and run; seconds: limit of a job. A job that exceeds it counts as far as it came
Row = namedtuple('Row', 'title network ranks mode words players floor shown messages reach beat fault program seconds')

# Modes of rows whose packets are counted at the switch: at which ports, and whether it may drop any.
COUNTED = {'incast': (['h1'], True), 'gather': (['h1'], False), 'scatter': ([f'h{i}' for i in range(2, 9)], False)}


def row(title, network, mode, words, players, floor, shown='time', messages=1, reach=None, beat=(), fault=(), ranks=2,
        program='lab_p2p', seconds=60):
    return Row(title, network, ranks, mode, [str(word) for word in words], players, floor, shown, messages, reach, beat, fault,
               program, seconds)


def collective(title, mode, words, messages=1, reach=None, fault=(), ranks=None, network='eight', floor='link', seconds=60):
    """A collective, by default one rank per host, against the link rate for `messages` messages of the size."""
    return row(title, network, mode, words, [HERALD] + OTHERS, floor, 'time', messages, reach, (), fault,
               ranks or NETWORKS[network][0], 'lab_coll', seconds)


def small(title, mode, words, ranks=8):
    """A short collective on eight hosts, against plain sockets: each host sends to one, which multicasts."""
    return row(title, 'eight', mode, words, [HERALD] + OTHERS, ('exchange', '8', '9', '100'), reach=1.3, beat=ALL, ranks=ranks,
               program='lab_coll')


def herald(**env):
    return Player('herald', 'herald', {f'HERALD_{name.upper()}': str(value) for name, value in env.items()})


def pushes():
    """Herald's three ways to send, for receivers that are early and late."""
    return [Player(name, 'herald', {'HERALD_BASELINE': f'push={mode}'})
            for name, mode in (('herald', 'pull'), ('push-zero', 'zero'), ('push-all', 'all'))]


def casts(title, words, fault=()):
    """A broadcast as lanes do it, and as paper 000 does, to compare."""
    players = [Player(name, 'herald', {'HERALD_BASELINE': f'cast={mode}'})
               for name, mode in (('herald', 'streaming'), ('simple', 'simple'), ('push-pull', 'push_pull'))]
    return row(title, 'eight', 'bcast', words, players, 'link', fault=fault, ranks=8, program='lab_coll')


def groups():
    """Group management of Herald (paper 001, figure 6). The default (herald, opened) picks the cheapest way for a known
    group; the others use a lane."""
    return [HERALD] + [Player(name, 'herald', env) for name, env in (
        ('static', {'HERALD_GROUPS': 'static'}), ('dynamic', {'HERALD_GROUPS': 'dynamic'}),
        ('remembered', {'HERALD_GROUPS': 'remembered'}), ('opened', {'BENCH_OPENED': '1'}),
        ('opened-lane', {'HERALD_GROUPS': 'remembered', 'BENCH_OPENED': '1'}))]


def channels(title, words, network='eight', ranks=8):
    """A broadcast with few and many packets that may leave before the first of them is acknowledged (paper 003, figure 7)."""
    players = [HERALD] + [Player(f'channels-{count}', 'herald', {'HERALD_BASELINE': f'window={count}'}) for count in (4, 8, 16, 32, 64, 128, 512)]
    return row(title, network, 'bcast', words, players, 'link', ranks=ranks, program='lab_coll')


MIB = 1 << 20
ALL = ('openmpi', 'mpich', 'lam')

ROWS = [
    row('8 B round trip, spinning', 'plain', 'rtt', (8, 9, 2000), [herald(spin_us=1000000)] + OTHERS,
        ('spin', '8', '9', '2000'), reach=1.25, beat=ALL),
    row('8 B round trip, sleeping', 'plain', 'rtt', (8, 9, 1000), [herald(spin_us=0)] + OTHERS,
        ('sleep', '8', '9', '1000'), reach=1.25, beat=('lam',)),
    row('1 MiB at 100 Mbit/s', '100mbit', 'half', (MIB, 3, 1), [HERALD] + OTHERS, 'link', 'rate', reach=0.97),
    row('16 MiB at 100 Mbit/s', '100mbit', 'half', (16 * MIB, 1, 1), [HERALD] + OTHERS, 'link', 'rate', reach=0.97),
    row('1 MiB at 1 Gbit/s', '1gbit', 'half', (MIB, 9, 3), [HERALD] + OTHERS, 'link', 'rate', reach=0.95),
    row('16 MiB at 1 Gbit/s', '1gbit', 'half', (16 * MIB, 3, 1), [HERALD] + OTHERS, 'link', 'rate', reach=0.95),
    row('1 MiB, offloads on', 'offloads', 'half', (MIB, 9, 20), [HERALD] + OTHERS,
        ('half', str(MIB), '9', '20'), 'rate', beat=('openmpi',)),
    row('16 MiB, offloads on', 'offloads', 'half', (16 * MIB, 5, 2), [HERALD] + OTHERS,
        ('half', str(16 * MIB), '5', '2'), 'rate', beat=('openmpi',)),
    row('early receiver', '100mbit', 'early', (65536, 15, 1e8), pushes() + OTHERS, 'best', reach=1.05),
    row('late receiver', '100mbit', 'late', (65536, 15, 1e8), pushes() + OTHERS, 'best', reach=1.05),
    row('1 MiB at 100 Mbit/s, 1 % loss', '100mbit', 'half', (MIB, 5, 1), [HERALD] + OTHERS, 'link', 'rate', reach=0.95,
        fault=('loss', '1%', '--of', 'all')),
    row('1 MiB at 100 Mbit/s, 10 % loss', '100mbit', 'half', (MIB, 5, 1), [HERALD], 'link', 'rate', reach=0.80,
        fault=('loss', '10%')),
    row('7 to 1, 1 MiB each, 256 KiB buffer', 'incast', 'incast', (MIB, 3), [HERALD] + OTHERS, 'link', 'rate', messages=7,
        reach=0.97, ranks=8),
    small('barrier', 'barrier', (0, 9, 100)),
    small('bcast 8 B', 'bcast', (8, 9, 100)),
    small('allreduce 8 B', 'allreduce', (8, 9, 100)),
    small('allgather 8 B', 'allgather', (8, 9, 100)),
    collective('bcast 64 KiB', 'bcast', (65536, 21, 1), 1, 1.15),
    collective('bcast 1 MiB', 'bcast', (MIB, 9, 1), 1, 1.05),
    collective('bcast 4 MiB', 'bcast', (4 * MIB, 5, 1), 1, 1.05),
    collective('bcast 1 MiB, 1 % loss', 'bcast', (MIB, 9, 1), 1, 1.10, fault=('loss', '1%'), floor=OfRow('bcast 1 MiB')),
    casts('bcast 256 B, by mode', (256, 9, 100)),
    casts('bcast 4 KiB, by mode', (4096, 9, 20)),
    casts('bcast 64 KiB, by mode', (65536, 21, 1)),
    casts('bcast 1 MiB, by mode', (MIB, 9, 1)),
    casts('bcast 1 MiB, by mode, 1 % loss', (MIB, 9, 1), ('loss', '1%')),
    channels('bcast 8 B, by channels', (8, 9, 100)),
    channels('bcast 4 KiB, by channels', (4096, 9, 20)),
    channels('bcast 1 MiB, by channels', (MIB, 9, 1)),
    collective('allgather 64 KiB', 'allgather', (65536, 9, 1), 7, 1.15),
    collective('allgather 1 MiB', 'allgather', (MIB, 1, 1), 7, 1.08),
    collective('allreduce 1 MiB', 'allreduce', (MIB, 3, 1), 1.75, 1.20),
    collective('alltoall 64 KiB', 'alltoall', (65536, 9, 1), 7, 1.15),
    collective('alltoall 1 MiB', 'alltoall', (MIB, 1, 1), 7, 1.15),
    collective('gather 1 MiB', 'gather', (MIB, 1, 1), 7, 1.03),
    collective('scatter 1 MiB', 'scatter', (MIB, 1, 1), 7, 1.03),
    row('one to five, 64 B', 'eight', 'to_five', (64, 25, 1), groups() + OTHERS, 'dynamic', reach=1 / 3, beat=('lam',), ranks=8,
        program='lab_coll'),
    row('one to five, 1 KiB', 'eight', 'to_five', (1024, 25, 1), groups() + OTHERS, 'dynamic', reach=1 / 3, beat=('lam',), ranks=8,
        program='lab_coll'),
    row('one to five, 64 B, mean of ranks', 'eight', 'to_five_mean', (64, 25, 1), groups() + OTHERS, 'dynamic', reach=1 / 3,
        beat=('lam',), ranks=8, program='lab_coll'),
    row('one to five, 1 KiB, mean of ranks', 'eight', 'to_five_mean', (1024, 25, 1), groups() + OTHERS, 'dynamic', reach=1 / 3,
        beat=('lam',), ranks=8, program='lab_coll'),
    row('one to five, 64 B, against sockets', 'eight', 'to_five', (64, 25, 1), [HERALD] + OTHERS, ('to_five', '64', '25', '1'), ranks=8,
        program='lab_coll'),
    row('one to five, 1 KiB, against sockets', 'eight', 'to_five', (1024, 25, 1), [HERALD] + OTHERS, ('to_five', '1024', '25', '1'),
        ranks=8, program='lab_coll'),
    collective('bcast 1 MiB, two ranks on each host', 'bcast', (MIB, 21, 1), 1, 1.05, ranks=16, floor=OfRow('bcast 1 MiB')),
    collective('allreduce 8 B, two ranks on each host', 'allreduce', (8, 9, 100), ranks=16, floor=OfRow('allreduce 8 B')),
    collective('bcast 1 MiB, 2 hosts', 'bcast', (MIB, 9, 1), network='100mbit'),
    collective('bcast 1 MiB, 16 hosts against 2', 'bcast', (MIB, 9, 1), 1, 1.10, network='sixteen', floor=OfRow('bcast 1 MiB, 2 hosts')),
    channels('bcast 16 MiB at 1 Gbit/s, 4 hosts, by channels', (16 * MIB, 5, 1), 'four-1gbit', 4),
    collective('bcast 16 MiB at 1 Gbit/s, 4 hosts', 'bcast', (16 * MIB, 5, 1), 1, 1.15, network='four-1gbit'),
]


def over_sizes_and_hosts():
    """Rows for plots: collectives on 8 hosts over the size of the data, and at a few sizes over the number of hosts. One job
    measures all sizes of a row within its time; sizes that would take minutes are omitted."""
    few, many = [8, 4096, 65536], [8] + [4 ** power for power in range(3, 9)]
    result = []
    for mode in ('bcast', 'allgather', 'allreduce'):
        for network in ('100mbit', 'four', 'eight', 'sixteen'):
            hosts = NETWORKS[network][0]
            sizes = (many if hosts == 8 else few) + ([MIB >> 2] if hosts == 8 else []) + ([] if mode == 'allgather' else [MIB])
            messages = {'bcast': 1, 'allgather': hosts - 1, 'allreduce': 2 * (hosts - 1) / hosts}[mode]
            result.append(collective(f'{mode}, {hosts} hosts', mode, (','.join(map(str, sizes)), 3, 0), messages, network=network,
                                     seconds=20))
    return result


SWEEP = over_sizes_and_hosts()


def over_fast_links():
    """Long data on links where processors are the limit. The floors are plain sockets with segmentation offload: a
    multicast for bcast, TCP for a message."""
    modes = ('bcast', 'allgather', 'allreduce', 'reduce', 'gather', 'scatter', 'alltoall')
    result = []
    for network in FAST_NETWORKS:
        hosts = NETWORKS[network][0]
        for bytes_, name, samples in ((65536, '64 KiB', 15), (MIB, '1 MiB', 9), (16 * MIB, '16 MiB', 3)):
            if hosts == 2:
                result.append(row(f'one way {name}, {network}', network, 'half', (bytes_, samples, 1), [HERALD] + OTHERS[:2],
                                  ('tcp', str(bytes_), '9'), beat=('openmpi',)))
                continue
            for mode in modes:
                if hosts * bytes_ > 64 * MIB and mode not in ('bcast', 'allreduce', 'reduce'):
                    continue
                floor = ('stream', str(bytes_), '9') if mode == 'bcast' else None
                result.append(collective(f'{mode} {name}, {network}', mode, (bytes_, samples, 1), network=network, floor=floor)
                              ._replace(players=[HERALD] + OTHERS[:2], beat=('openmpi',)))
    return result


def by_protection():
    """Long data with each level of HERALD_SECURE (SECURITY.md); without bulk frames by TCP too."""
    players = [HERALD, herald(secure='auth'), herald(secure='encrypt'), herald(path='shm,udp')]
    players = [one._replace(name=name) for one, name in zip(players, ('herald', 'auth', 'encrypt', 'datagrams'))]
    return [row('bcast 16 MiB, by protection', 'fast-4', 'bcast', (16 * MIB, 5, 1), players, None, ranks=4, program='lab_coll'),
            row('one way 16 MiB, by protection', 'fast-4', 'half', (16 * MIB, 7, 1), players, None)]


FAST = over_fast_links() + by_protection()


def chosen(rows, word):
    """Rows whose title contains the word or whose network has that name, and the rows that these are compared with."""
    named = [one for one in rows if word in one.title or word == one.network]
    floors = {one.floor.title for one in named if isinstance(one.floor, OfRow)}
    return [one for one in rows if one in named or one.title in floors]


def has_program(floor):
    """Whether a separate program measures the lower bound."""
    return isinstance(floor, tuple) and not isinstance(floor, OfRow)


def payload_rate(bits, mtu=1500, lost=0.0):
    """UDP payload of a link in bytes per second: IP and UDP take 28 of a packet, a frame takes 38 more."""
    return bits / 8 * (mtu - 28) / (mtu + 38) * (1 - lost)
