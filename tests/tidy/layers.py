# SPDX-License-Identifier: BSD-3-Clause
"""The layers: the rooms of src/ have one order, and includes point downward only."""
import re

from cpp_text import code_only, includes, without_comments

# Lowest first. `group` stands ready for multicast.
ORDER = ['base', 'wire', 'type', 'op', 'model', 'rel', 'group', 'p2p', 'rma', 'io', 'node', 'coll', 'path', 'boot', 'crypto', 'engine',
         'exec', 'mpi', 'abi']
# The subfolders of src/mpi, lowest first: each may include those before it (src/mpi/README.md).
MPI_ORDER = ['core', 'type', 'p2p', 'coll', 'comm', 'dyn', 'topo', 'rma', 'io', 'tool', 'env']
# The simulated network may include the pure rooms, which it drives instead of the engine.
SIM = ['base', 'wire', 'type', 'op', 'model', 'rel', 'group', 'p2p', 'rma', 'node', 'coll']
PURE = ['wire', 'type', 'op', 'model', 'rel', 'group', 'p2p', 'rma', 'io', 'node', 'coll']

PURE_HEADERS = {
    'a socket': r'sys/socket\.h|sys/un\.h|netinet/.*|arpa/inet\.h|netdb\.h|net/if\.h|ifaddrs\.h|poll\.h|'
                r'sys/(poll|epoll|select|eventfd|uio)\.h',
    'shared memory': r'sys/(mman|shm|ipc)\.h',
    'a thread': r'thread|mutex|shared_mutex|condition_variable|future|semaphore|stop_token|latch|barrier|pthread\.h',
    'a clock': r'chrono|ctime|time\.h|sys/time\.h|x86intrin\.h',
    'chance': r'random|sys/random\.h',
    'the system': r'unistd\.h|fcntl\.h|signal\.h|csignal',
}
PURE_NAMES = {
    'a socket': r'\b(socket|sendto|recvfrom|sendmsg|recvmsg|sendmmsg|recvmmsg|setsockopt|epoll_\w+|eventfd)\s*\(',
    'shared memory': r'\b(mmap|munmap|shm_open|process_vm_\w+)\s*\(',
    'a thread': r'\bstd::(thread|jthread|mutex|recursive_mutex|condition_variable)\b|\bpthread_\w+',
    'the environment': r'\b(secure_)?getenv\b|\bsetenv\b|\benviron\b',
    'a clock': r'\bclock_gettime\b|\bgettimeofday\b|\bclock\s*\(\s*\)|\btime\s*\(\s*(0|NULL|nullptr)\s*\)|'
               r'\bnow\s*\(\s*\)|\bstd::chrono\b|rdtsc',
    'chance': r'\bs?rand\s*\(|\brandom\s*\(|\bgetrandom\b|\barc4random\w*|\bstd::(random_device|mt19937\w*)\b',
}
# A call, not a type of the ABI in a cast.
_MPI_CALL = re.compile(r'\bP?MPI_(?!(?:Aint|Count|Offset|Fint|Status|Comm|Datatype|Op|Request|Group|Errhandler|Info|'
                       r'Win|File|Session|Message|T_enum)\s*\()(?:[A-Z][a-z]\w*|T_[a-z]\w*)\s*\(')


def room_of(path):
    parts = path.split('/')
    return parts[1] if parts[0] == 'src' and len(parts) > 2 else None


def check(path, text):
    """Complaints about one file, as (line, words)."""
    top = path.split('/')[0]
    room = room_of(path)
    found = []
    if top in ('tools', 'launch') and not path.startswith(('tools/cast/', 'tools/measure/')):  # MPI programs
        found += _outside_program(text, top)
    if top == 'sim':
        found += [(line, f'sim/ drives the pure rooms only: it may not include {name}')
                  for line, name, quoted in includes(text)
                  if name == 'mpi.h' or quoted and name.split('/')[0] in set(ORDER) - set(SIM)]
    if room is None:
        return found
    if room not in ORDER:
        return [(1, f'room {room} has no place in the order of rooms (tests/tidy/layers.py)')]
    for line, name, quoted in includes(text):
        found += _include(path, room, line, name, quoted)
    if room != 'abi':
        for line, row in enumerate(code_only(text).split('\n'), 1):
            match = _MPI_CALL.search(row)
            if match:
                found.append((line, f'{match.group(0).strip(" (")} is public: nothing below abi/ may call it'))
    if room in PURE:
        found += _pure(room, text)
    return found


def _outside_program(text, top):
    return [(line, f'{top}/ does not need the MPI library: it may not include {name}')
            for line, name, _ in includes(text)
            if name == 'mpi.h' or name.split('/')[0] in ('abi', 'mpi')]


def _include(path, room, line, name, quoted):
    if name == 'mpi.h' and room not in ('abi', 'mpi'):
        return [(line, f'{room}/ may not include mpi.h: only abi/ and mpi/ know the ABI')]
    other = name.split('/')[0] if '/' in name else None
    if not quoted or other not in ORDER:
        return []
    if ORDER.index(other) > ORDER.index(room):
        return [(line, f'{room}/ may not include {name}: includes point downward only')]
    if room == other == 'path':
        ours, theirs = path.split('/')[2:-1], name.split('/')[1:-1]
        if ours and theirs and ours[0] != theirs[0]:
            return [(line, f'path/{ours[0]} may not include {name}: paths do not know each other')]
    if room == other == 'mpi':
        return _mpi_include(path, line, name)
    return []


def _mpi_include(path, line, name):
    ours, theirs = path.split('/')[2:-1], name.split('/')[1:-1]
    for folder in ours[:1] + theirs[:1]:
        if folder not in MPI_ORDER:
            return [(line, f'mpi/{folder} has no place in the order of subfolders (tests/tidy/layers.py)')]
    if not ours or not theirs:
        return [(line, f'{name}: every file of mpi/ belongs in a subfolder')]
    if MPI_ORDER.index(theirs[0]) > MPI_ORDER.index(ours[0]):
        return [(line, f'mpi/{ours[0]} may not include {name}: subfolders include lower ones only')]
    return []


def _pure(room, text):
    found = []
    for line, name, quoted in includes(text):
        for what, pattern in PURE_HEADERS.items():
            if not quoted and re.fullmatch(pattern, name):
                found.append((line, f'{room}/ is pure: it may not know {what} (<{name}>)'))
        if quoted and name.split('/')[0] in ('path', 'engine', 'boot'):
            found.append((line, f'{room}/ is pure: it may not include {name}'))
    for line, row in enumerate(code_only(text).split('\n'), 1):
        if row.lstrip().startswith('#'):
            continue
        for what, pattern in PURE_NAMES.items():
            match = re.search(pattern, row)
            if match:
                found.append((line, f'{room}/ is pure: it may not know {what} ({match.group(0).strip(" (")})'))
    for line, row in enumerate(without_comments(text).split('\n'), 1):
        if re.search(r'"/dev/u?random"', row):
            found.append((line, f'{room}/ is pure: it may not know chance'))
    return found
