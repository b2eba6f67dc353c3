# SPDX-License-Identifier: BSD-3-Clause
"""Random MPI programs for random_test.py: loops, nests, branches by rank, aliases, buffers that change, functions,
messages around a ring.

Every program is correct: all ranks call the same collectives in the same order, and send what the next one receives. It prints a digest of all data of all
ranks after each of its functions."""
import random

HEAD = r'''#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { LEN = 64, MOST = 8 };
static int rank, size;
static MPI_Comm halves, copy;
static unsigned A[4][LEN * MOST];
static int counts[MOST], places[MOST], other[MOST], *alias = counts, errors;
static int amount = 2, chief, *place = &amount;
static MPI_Datatype types[MOST];
static int bytes[MOST];
static unsigned late[4];
__attribute__((noinline)) static void aim(int* to, int* from, int distance) {
  *to = (rank + distance) % size, *from = (rank + 3 * size - distance) % size;
}
static void spread(int* n, int each) {
  for (int i = 0; i < MOST; ++i) n[i] = each, places[i] = i * LEN, bytes[i] = i * LEN * 4, types[i] = MPI_UNSIGNED;
}
static unsigned digest(void) {
  unsigned h = 17;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < LEN * MOST; ++k) h = h * 31 + A[i][k];
  return h + (unsigned)errors;
}
static void show(const char* name) {
  unsigned mine = digest(), all[MOST];
  MPI_Gather(&mine, 1, MPI_UNSIGNED, all, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) printf("%s rank %d %08x\n", name, i, all[i]);
}
static void reset(unsigned seed) {
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < LEN * MOST; ++k) A[i][k] = (unsigned)(rank + 1) * (seed + 77u * (unsigned)i + (unsigned)k);
  spread(counts, 3);
  spread(other, 5);
  amount = 2, chief = 0, place = &amount, alias = counts;
}
'''

TAIL = r'''
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank %% 2, rank, &halves);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
%s
  MPI_Comm_free(&halves);
  MPI_Comm_free(&copy);
  MPI_Finalize();
  return 0;
}
'''


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = []      # variables of the loops around
        self.names = 0
        self.functions = []  # text
        self.callable = []   # functions with a collective

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self):
        """Equal at all ranks."""
        choices = ['1', '2', '5', '7']
        if self.loops:
            choices += [f'(1 + {self.pick(*self.loops)} % 5)', 'n']
        return self.pick(*choices, 'n', 'm', 'amount')

    def condition(self):
        if self.loops and self.random.random() < 0.8:
            return f'({self.pick(*self.loops)} + {self.random.randrange(3)}) % {self.random.randrange(2, 4)} == 0'
        return self.pick('n > 2', 'm % 2 == 0', 'size > 2')

    def buffers(self):
        first, second = self.random.sample(range(4), 2)
        shift = f' + {self.pick(*self.loops)} % 4' if self.loops and self.random.random() < 0.15 else ''
        return f'A[{first}]{shift}', f'A[{second}]'

    def collective(self, comm=None):
        send, recv = self.buffers()
        count = self.number()
        comm = comm or self.pick('MPI_COMM_WORLD', 'MPI_COMM_WORLD', 'copy', 'halves')
        # Ranks of the halves have other sizes: the root is one that each has.
        root = '0' if comm == 'halves' else self.pick('0', 'size - 1', 'n % size', 'chief', '0')
        row = self.pick('counts', 'counts', 'other', 'alias')
        u = 'MPI_UNSIGNED'
        call = self.pick(
            f'MPI_Bcast({recv}, {count}, {u}, {root}, {comm})',
            f'MPI_Allreduce({send}, {recv}, {count}, {u}, MPI_SUM, {comm})',
            f'MPI_Allreduce(MPI_IN_PLACE, {recv}, {count}, {u}, MPI_MAX, {comm})',
            f'MPI_Reduce({send}, {recv}, {count}, {u}, MPI_BXOR, {root}, {comm})',
            f'MPI_Allgather({send}, {count}, {u}, {recv}, {count}, {u}, {comm})',
            f'MPI_Gather({send}, {count}, {u}, {recv}, {count}, {u}, {root}, {comm})',
            f'MPI_Scatter({send}, {count}, {u}, {recv}, {count}, {u}, {root}, {comm})',
            f'MPI_Alltoall({send}, {count}, {u}, {recv}, {count}, {u}, {comm})',
            f'MPI_Allgatherv({send}, {row}[0], {u}, {recv}, {row}, places, {u}, {comm})',
            f'MPI_Scatterv({send}, {row}, places, {u}, {recv}, {row}[0], {u}, {root}, {comm})',
            f'MPI_Gatherv({send}, {row}[0], {u}, {recv}, {row}, places, {u}, {root}, {comm})',
            f'MPI_Alltoallv({send}, {row}, places, {u}, {recv}, {row}, places, {u}, {comm})',
            f'MPI_Alltoallw({send}, {row}, bytes, types, {recv}, {row}, bytes, types, {comm})',
            f'MPI_Scan({send}, {recv}, {count}, {u}, MPI_SUM, {comm})',
            f'MPI_Reduce_scatter_block({send}, {recv}, {count}, {u}, MPI_SUM, {comm})',
            f'MPI_Bcast_c({recv}, {count}, {u}, {root}, {comm})',
            f'MPI_Allreduce_c({send}, {recv}, {count}, {u}, MPI_SUM, {comm})',
            f'MPI_Barrier({comm})')
        return call + ';' if self.random.random() < 0.8 else f'errors += {call} != MPI_SUCCESS;'

    def message(self):
        """Every rank sends to `to`, and receives from `from`, which sends to it."""
        send, recv = self.buffers()
        comm = self.pick('MPI_COMM_WORLD', 'MPI_COMM_WORLD', 'copy')
        tag = self.pick('3', '3', '4', *self.loops[-1:])
        # Short blocking messages are not converted.
        what = f'{self.pick(self.number(), "80")}, MPI_UNSIGNED'
        sent, received = (f'{buffer}, {what}, {peer}, {tag}, {comm}' for buffer, peer in ((send, 'to'), (recv, 'from')))
        any_tag = f'{recv}, {what}, from, MPI_ANY_TAG, {comm}'
        down, up = (f'{what}, rank {sign} 1, {tag}, {comm}' for sign in '-+')
        return self.pick(
            f'MPI_Sendrecv({send}, {what}, to, {tag}, {recv}, {what}, from, {tag}, {comm}, &st); '
            f'errors += st.MPI_SOURCE + st.MPI_TAG;',
            f'MPI_Irecv({received}, &qs[0]); MPI_Isend({sent}, &qs[1]); {self.pick("", "m = (m + 1) % 9;")} '
            f'MPI_Waitall(2, qs, MPI_STATUSES_IGNORE);',
            f'MPI_Isend({sent}, &q); MPI_Recv({any_tag}, &st); MPI_Wait(&q, MPI_STATUS_IGNORE); errors += st.MPI_TAG;',
            f'MPI_Irecv({received}, &q); MPI_Send({sent}); MPI_Wait(&q, &st); errors += st.MPI_SOURCE; '
            f'errors += q != MPI_REQUEST_NULL;',
            f'MPI_Send({sent}); MPI_Recv({received}, MPI_STATUS_IGNORE);',
            f'if (rank % 2) {{ MPI_Send({send}, {down}); MPI_Recv({recv}, {down}, &st); }} '
            f'else if (rank + 1 < size) {{ MPI_Recv({recv}, {up}, &st); MPI_Ssend({send}, {up}); }}',
            # A request that lives on into the next iteration.
            f'for (unsigned q = 0; q < 5; ++q) {{ MPI_Wait(&longer, MPI_STATUS_IGNORE); late[0] = q; '
            f'MPI_Isend(late, 4, MPI_UNSIGNED, to, 9, {comm}, &longer); '
            f'MPI_Recv({recv}, 4, MPI_UNSIGNED, from, 9, {comm}, &st); }} MPI_Wait(&longer, MPI_STATUS_IGNORE);')

    def compute(self):
        target, source = self.random.randrange(4), self.random.randrange(4)
        extra = self.pick(*self.loops, 'rank', '3') if self.loops else '3'
        return (f'for (int k = 0; k < LEN * MOST; ++k) A[{target}][k] = A[{target}][k] * 3u + A[{source}][k] / 2u + '
                f'(unsigned)({extra});')

    def statement(self, depth):
        kind = self.random.random()
        inner = depth < 3
        if kind < 0.25:
            return self.collective()
        if kind < 0.36:
            return self.message()
        if kind < 0.5:
            return self.compute()
        if kind < 0.68 and inner:
            return self.loop(depth)
        if kind < 0.7 and self.loops:
            # Arguments that are right only when the call runs.
            return (f'if ({self.loops[-1]} % 3 < size - 1) '
                    f'MPI_Bcast(A[{self.random.randrange(4)}], 5, MPI_UNSIGNED, 1, MPI_COMM_WORLD);')
        if kind < 0.75 and inner:
            return f'if ({self.condition()}) {{ {self.block(depth + 1)} }}'
        if kind < 0.8:
            # The same collective at all ranks, from two places of the program.
            call = self.collective('MPI_COMM_WORLD')
            times = self.pick('', 'for (int q = 0; q < 3; ++q) ')
            again = f'{times}{call}' if self.random.random() < 0.5 or not times else f'{{ {call} {call} {call} }}'
            return f'if (rank % 2) {{ {times}{call} {self.compute()} }} else {again}'
        if kind < 0.85:
            return f'if (rank % 3 == 1) {{ {self.compute()} }}'
        if kind < 0.89:
            return self.change()
        if kind < 0.93 and self.loops:
            return f'if ({self.loops[-1]} == {self.random.randrange(2, 6)}) break;'
        if kind < 0.97 and self.callable:
            return f'{self.pick(*self.callable)}({self.pick("MPI_COMM_WORLD", "copy")}, {self.number()});'
        return 'm = (m + 1) % 9;'

    def change(self):
        """Of arguments, in ways that a compiler may overlook."""
        turn = self.loops[-1] if self.loops else 'n'
        return self.pick('spread(counts, 1 + n % 6);', 'alias = alias == counts ? other : counts;',
                         f'spread({self.pick("counts", "other")}, 1 + {turn} % 6);',
                         'for (int k = 0; k < MOST; ++k) alias[k] = 2;', f'amount = 1 + {turn} % 6;',
                         f'*place = {turn} % 2 * (size > 1);', f'chief = {turn} % size;',
                         f'aim(&to, &from, {turn} % 3);',
                         'to = (rank + 1 + n % 2) % size, from = (rank + 2 * size - 1 - n % 2) % size;',
                         'place = place == &chief ? &amount : &chief;', 'n = 1 + (n * 3 + 1) % 6;')

    def loop(self, depth):
        self.names += 1
        name = f'v{self.names}'
        bound = self.pick('3', '6', '10', 'size', 'm', '0')
        self.loops.append(name)
        body = self.block(depth + 1)
        if self.random.random() < 0.25:
            body = ' '.join((self.pick(self.collective, self.message)(), self.compute(), self.change(), body))
        self.loops.pop()
        if self.random.random() < 0.2:
            return f'{{ int {name} = 0; while ({name} < {bound}) {{ {body} ++{name}; }} }}'
        return f'for (int {name} = 0; {name} < {bound}; ++{name}) {{ {body} }}'

    def block(self, depth):
        return ' '.join(self.statement(depth) for _ in range(self.random.randrange(1, 4)))

    def helper(self):
        name = f'help{len(self.callable)}'
        inline = self.pick('__attribute__((noinline)) ', '')
        send, recv = self.buffers()
        self.functions.append(f'{inline}static void {name}(MPI_Comm comm, int n) {{ {self.compute()} '
                              f'MPI_Allreduce({send}, {recv}, n, MPI_UNSIGNED, MPI_SUM, comm); }}')
        self.callable.append(name)

    def test(self, index):
        body = ' '.join(self.loop(0) + ' ' + self.statement(0) for _ in range(2))
        self.functions.append(f'static void test{index}(int n, int m) {{ reset({index + 5}u); int to, from; '
                              f'MPI_Request q, qs[2], longer = MPI_REQUEST_NULL; MPI_Status st; aim(&to, &from, 1); {body} '
                              f'show("test{index}"); (void)n, (void)m, (void)q, (void)qs, (void)longer, (void)st; }}')


def make(seed, tests):
    writer = Writer(seed)
    writer.helper()
    writer.helper()
    for index in range(tests):
        writer.test(index)
    calls = '\n'.join(f'  test{i}({1 + i % 4}, argc + {i % 3});' for i in range(tests))
    return HEAD + '\n'.join(writer.functions) + TAIL % calls
