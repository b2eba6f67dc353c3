# SPDX-License-Identifier: BSD-3-Clause
"""Cases of rules_test.py for sends and receives; their form is that of rules.py."""
from rules import DONE, FREE, HINT, in_loop, in_main

BUFFERS = 'static double a[90], b[90];\nvoid use(double*);\n'
SENT = {
    'Send': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD',
    'Ssend': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD',
    'Rsend': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD',
    'Recv': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE',
    'Isend': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &r',
    'Issend': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &r',
    'Irsend': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &r',
    'Irecv': 'a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &r',
    'Sendrecv': 'a, 90, MPI_DOUBLE, 1, 7, b, 90, MPI_DOUBLE, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE',
}
INIT_OF = {'Isend': 'Send', 'Issend': 'Ssend', 'Irsend': 'Rsend', 'Irecv': 'Recv'}
SEND = f'MPI_Send({SENT["Send"]});'
ISEND = f'MPI_Isend({SENT["Isend"]});'
WAIT = 'MPI_Wait(&r, MPI_STATUS_IGNORE);'
LOCAL = 'MPI_Request r; '


def once(body, before=BUFFERS):
    return in_main(LOCAL + 'for (int i = 0; i < 100; ++i) { ' + body + ' use(a); }', before)


def call_of(name, suffix=''):
    return f'MPI_{name}{suffix}({SENT[name]});' + (WAIT if name.startswith('I') else '')


def not_converted(name, body, reason, hints=1, before=BUFFERS):
    return (name, 'convert', once(body, before), [f'-{DONE}', f'{hints}*{HINT}', '!not converted: ' + reason])


PREPARE = [
    *[(f'prepares_{name}', 'prepare', once(call_of(name)),
       [f'{2 if name == "Sendrecv" else 1}*{HINT}', f'{2 if name == "Sendrecv" else 1}*{FREE}', f'1*call i32 @MPI_{name}(',
        '!partner prepared before the loop at line', '-_init(']) for name in SENT],
    ('prepares_send_what', 'prepare', once(SEND),
     ['+(i32 17, ', '+i32 1, i8* null, i32 0, i64 90']),
    ('prepares_large_receive', 'prepare', once(call_of('Recv', '_c')), ['+(i32 18,', '+i32 1, i8* null, i32 1, i64 -2147483648']),
    ('messages_share_a_hint', 'prepare', once(SEND + ISEND + WAIT), [f'1*{HINT}', f'1*{FREE}']),
    ('partner_changes', 'prepare', once('MPI_Send(a, 90, MPI_DOUBLE, i % 4, 7, MPI_COMM_WORLD);'),
     [f'-{HINT}', '!not prepared: the partner is not known before the loop']),
    ('any_source', 'prepare', once('MPI_Recv(a, 90, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);'),
     [f'-{HINT}', '!not prepared: no rank is named']),
    ('message_count_changes', 'prepare', once('MPI_Send(a, i % 10, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);'),
     [f'1*{HINT}', '!not known there: sendcount']),
    ('message_nest_of_partners', 'prepare',
     in_loop('for (int k = 0; k < 3; ++k) MPI_Send(a, 90, MPI_DOUBLE, k, 7, MPI_COMM_WORLD); use(a);'), [f'3*{HINT}']),
    ('message_loop_is_not_unrolled', 'prepare',
     in_main('int to; MPI_Comm_rank(MPI_COMM_WORLD, &to); for (int i = 0; i < 3; ++i) { MPI_Send(a, 90, MPI_DOUBLE, to, 7, '
             'MPI_COMM_WORLD); use(a); }', BUFFERS), [f'1*{HINT}', '1*call i32 @MPI_Send(']),
    ('message_forbidden', 'prepare', once('MPIX_PLAN(none); ' + SEND), [f'-{HINT}', '!left alone, as the source asks']),
    ('message_in_function', 'prepare',
     BUFFERS + '__attribute__((noinline)) static void step(int to) { use(a); MPI_Send(a, 90, MPI_DOUBLE, to, 7, '
     'MPI_COMM_WORLD); }\n' + once('step(3);', ''), [f'1*{HINT}', '!partner of MPI_Send in it prepared before']),
]

CONVERT = [
    *[(f'converts_{name}', 'convert', once(call_of(name)),
       [f'1*call i32 @herald_plan_{name}(', f'-call i32 @MPI_{name}(', f'+@MPI_{INIT_OF.get(name, name)}_init(',
        '+call i32 @MPI_Start', f'1*{DONE}', f'-{HINT}', '!made persistent by its first call in the loop'])
      for name in SENT if name != 'Sendrecv'],
    not_converted('message_both_ways', call_of('Sendrecv'), 'it gains nothing by requests of its own', 2),
    not_converted('message_short', 'MPI_Send(a, 64, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);', 'so short a message needs no request'),
    ('converts_large_send', 'convert', once('MPI_Send_c(a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);'),
     ['+@MPI_Send_init_c(', '1*call i32 @herald_plan_Send_c(']),
    # A message is the business of two ranks: branches by rank do not matter.
    ('converts_under_rank_branch', 'convert',
     in_main('int k; MPI_Comm_rank(MPI_COMM_WORLD, &k); for (int i = 0; i < 100; ++i) { if (k % 2) { ' + SEND + ' } else ' +
             call_of('Recv') + ' use(a); }', BUFFERS), [f'2*{DONE}', '1*call i32 @herald_plan_Send(', '1*call i32 @herald_plan_Recv(']),
    ('converts_conditional', 'convert', once('if (i % 3) { ' + SEND + ' }'), [f'1*{DONE}']),
    ('converts_public_function', 'convert', BUFFERS + 'void f(int to) { for (int i = 0; i < 9; ++i) { use(a); '
     'MPI_Send(a, 90, MPI_DOUBLE, to, 7, MPI_COMM_WORLD); } }\n', [f'1*{DONE}']),
    ('converts_with_status', 'convert', once('MPI_Status s; MPI_Recv(a, 90, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, '
                                             'MPI_COMM_WORLD, &s); errors += s.MPI_SOURCE;', BUFFERS + 'int errors;\n'),
     [f'1*{DONE}', '+%struct.MPI_Status']),
    ('converts_all_of_waitall', 'convert',
     in_main('MPI_Request q[3]; for (int i = 0; i < 100; ++i) { MPI_Irecv(a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &q[0]); '
             'MPI_Isend(b, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &q[2]); q[1] = MPI_REQUEST_NULL; '
             'MPI_Waitall(3, q, MPI_STATUSES_IGNORE); use(a); }', BUFFERS),
     [f'2*{DONE}', '1*call i32 @herald_plan_complete_all(']),
    ('converts_neighbors_of_grid', 'convert',
     in_main('MPI_Comm c; int left, right, n, one = 1, no = 0; MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Request q; '
             'MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &one, 0, &c); MPI_Cart_shift(c, 0, 1, &left, &right); '
             'for (int i = 0; i < 100; ++i) { MPI_Irecv(b, 90, MPI_DOUBLE, left, 7, c, &q); '
             'MPI_Send(a, 90, MPI_DOUBLE, right, 7, c); MPI_Wait(&q, MPI_STATUS_IGNORE); use(a); }', BUFFERS), [f'2*{DONE}']),
    ('converts_in_nest', 'convert', once('for (int k = 0; k < 50; ++k) { use(b); ' + ISEND + WAIT + ' }'),
     [f'1*{DONE}', '!depth 1']),
    not_converted('message_buffer_changes', 'MPI_Send(a + i % 4, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);',
                  'the sendbuf is another one in each iteration'),
    not_converted('message_tag_changes', 'MPI_Send(a, 90, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);', 'the tag may change in the loop'),
    not_converted('message_partner_changes', 'MPI_Send(a, 90, MPI_DOUBLE, i % 4, 7, MPI_COMM_WORLD);',
                  'the partner may change in the loop', 0),
    not_converted('message_partner_in_global', 'MPI_Send(a, 90, MPI_DOUBLE, to, 7, MPI_COMM_WORLD);',
                  'the partner may change in the loop', 1, BUFFERS + 'int to;\n'),
    not_converted('message_partner_may_be_stored', 'MPI_Send(a, 90, MPI_DOUBLE, to, 7, MPI_COMM_WORLD);',
                  'the partner may change in the loop', 1,
                  BUFFERS + 'static int to;\nvoid g(void) { for (int i = 0; i < 4; ++i) to += i; }\n'),
    not_converted('request_of_next_iteration', WAIT + ISEND, 'it may not have completed when the iteration ends'),
    not_converted('request_waited_for_sometimes', ISEND + ' if (i % 2) ' + WAIT, 'it may not have completed when the iteration ends'),
    not_converted('request_after_exit', ISEND + ' if (a[i % 10] > 3) break; ' + WAIT, 'it may not have completed when the iteration ends'),
    not_converted('request_tested', ISEND + ' int done; MPI_Test(&r, &done, MPI_STATUS_IGNORE); ' + WAIT,
                  'its request is used by more than sends'),
    not_converted('request_copied', ISEND + ' keep = r; ' + WAIT, 'its request is used by more than sends', 1,
                  BUFFERS + 'MPI_Request keep;\n'),
    not_converted('request_of_other_call', ISEND + WAIT + ' MPI_Ibarrier(MPI_COMM_WORLD, &r); ' + WAIT,
                  'its request is used by more than sends'),
    not_converted('request_is_global', ISEND.replace('&r', '&q') + WAIT.replace('&r', '&q'), 'its request is no local variable', 1,
                  BUFFERS + 'MPI_Request q;\n'),
    not_converted('request_at_changing_place', 'MPI_Request q[2]; MPI_Isend(a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &q[i % 2]); '
                  'MPI_Wait(&q[i % 2], MPI_STATUS_IGNORE);', 'its request is no local variable at a fixed place'),
    not_converted('request_beyond_waitall', 'MPI_Request q[2]; MPI_Isend(a, 90, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &q[1]); '
                  'MPI_Waitall(1, q, MPI_STATUSES_IGNORE);', 'it may not have completed when the iteration ends'),
    not_converted('message_in_function_convert', 'step(3);', 'it is called in another function', 1,
                  BUFFERS + '__attribute__((noinline)) static void step(int to) { use(a); MPI_Send(a, 90, MPI_DOUBLE, to, 7, '
                  'MPI_COMM_WORLD); }\n'),
    not_converted('message_setjmp', 'if (setjmp(j)) break; ' + SEND, 'the function calls setjmp', 1,
                  '#include <setjmp.h>\njmp_buf j;\n' + BUFFERS),
    not_converted('message_finalize', SEND + ' if (i == 50) { MPI_Finalize(); use(a); }', 'MPI_Finalize is in the loop'),
    ('message_convert_forbidden', 'convert', once('MPIX_PLAN(prepare); ' + SEND), [f'-{DONE}', f'1*{HINT}']),
]

CXX = [
    ('message_throws', 'convert', 'static double a[90];\nvoid use(double*);\n' + in_loop('use(a); ' + SEND, ''),
     [f'-{DONE}', f'1*{HINT}', '!a function that may throw is called in the loop']),
]
