# SPDX-License-Identifier: BSD-3-Clause
"""Cases of rules_test.py: name, mode of the pass, source, expectations.

  '+TEXT'  the IR has it;   '-TEXT'  it has not;   'N*TEXT'  so many lines have it
  '!TEXT'  a remark says it (-Rpass, -Rpass-missed or -Rpass-analysis)
Sources are the body of a file after #include <mpi.h> and <mpix.h>."""

HINT, FREE = 'call void @herald_plan_prepare', 'call void @herald_plan_release'
INIT, DONE = '_init(', 'call i32 @herald_plan_free'

MAIN = 'int main(int argc, char** argv) { MPI_Init(&argc, &argv); %s MPI_Finalize(); return 0; }\n'
LOOP = 'for (int i = 0; i < 100; ++i) { %s }'


def in_main(body, before=''):
    return before + MAIN % body


def in_loop(body, before='static double a[10], b[10];\nvoid use(double*);\n'):
    return in_main(LOOP % body, before)


ALL = {
    'Bcast': 'a, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD',
    'Gather': 'a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD',
    'Gatherv': 'a, 2, MPI_DOUBLE, b, n, d, MPI_DOUBLE, 0, MPI_COMM_WORLD',
    'Scatter': 'a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD',
    'Scatterv': 'a, n, d, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD',
    'Allgather': 'a, 20, MPI_DOUBLE, b, 20, MPI_DOUBLE, MPI_COMM_WORLD',
    'Allgatherv': 'a, 2, MPI_DOUBLE, b, n, d, MPI_DOUBLE, MPI_COMM_WORLD',
    'Alltoall': 'a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, MPI_COMM_WORLD',
    'Alltoallv': 'a, n, d, MPI_DOUBLE, b, n, d, MPI_DOUBLE, MPI_COMM_WORLD',
    'Alltoallw': 'a, n, d, t, b, n, d, t, MPI_COMM_WORLD',
    'Reduce': 'a, b, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD',
    'Allreduce': 'a, b, 20, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD',
    'Reduce_scatter': 'a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD',
    'Reduce_scatter_block': 'a, b, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD',
    'Scan': 'a, b, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD',
    'Exscan': 'a, b, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD',
}
ARRAYS = ('static double a[64], b[64];\nstatic const int n[8] = {1, 1}, d[8] = {0, 1};\n'
          'extern const MPI_Datatype t[8];\n')
BCAST = 'MPI_Bcast(a, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);'
SUM = 'MPI_Allreduce(a, b, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);'
LONG = 'MPI_Allreduce(a, b, 40, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);'
BUFFERS = 'static double a[40], b[40];\nvoid use(double*);\n'

PREPARE = [
    # Every operation, its _c form, and what the hint says.
    *[(f'prepares_{name}', 'prepare', in_main(LOOP % f'MPI_{name}({arguments});', ARRAYS),
       [f'1*{HINT}', f'1*{FREE}', f'+@MPI_{name}(', '!plan prepared before the loop at line', f'-{INIT}'])
      for name, arguments in ALL.items()],
    ('prepares_barrier', 'prepare', in_loop('MPI_Barrier(MPI_COMM_WORLD);'), [f'1*{HINT}', f'1*{FREE}']),
    ('large_counts', 'prepare', in_loop('MPI_Bcast_c(a, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);'),
     [f'1*{HINT}', '+i32 1, i64 -2147483648', '+i64 10']),
    ('in_place', 'prepare', in_loop('MPI_Allreduce(MPI_IN_PLACE, b, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);'),
     [f'1*{HINT}', '+i32 2, i64 -2147483648']),
    ('weak_symbols', 'prepare', in_loop(BCAST),
     ['+declare extern_weak i32 @MPIX_Plan_prepare', '+declare extern_weak i32 @MPIX_Plan_release',
      '+define internal void @herald_plan_prepare']),
    ('same_hint_once', 'prepare', in_loop(BCAST + BCAST), [f'1*{HINT}', f'1*{FREE}', '2*call i32 @MPI_Bcast']),
    ('two_hints', 'prepare', in_loop(BCAST + SUM), [f'2*{HINT}', f'2*{FREE}']),
    ('short_loop_is_not_unrolled', 'prepare', in_main('for (int i = 0; i < 3; ++i) {' + BCAST + '}', BUFFERS),
     [f'1*{HINT}', '1*call i32 @MPI_Bcast']),
    # Nests: the outermost loop in which as much is known.
    ('nest', 'prepare', in_loop('for (int k = 0; k < 50; ++k) {' + BCAST + '} use(a);'),
     [f'1*{HINT}', '!depth 1']),
    ('nest_inner_root', 'prepare',
     in_loop('for (int k = 0; k < 50; ++k) { MPI_Bcast(a, 10, MPI_DOUBLE, i % 4, MPI_COMM_WORLD); } use(a);'),
     [f'1*{HINT}', '!depth 2']),
    ('while_loop', 'prepare', in_main('while (more()) {' + BCAST + '}', BUFFERS + 'int more(void);\n'), [f'1*{HINT}']),
    ('two_exits', 'prepare', in_loop('if (a[i % 10] > 3) { use(b); break; } ' + BCAST), [f'1*{HINT}', f'2*{FREE}']),
    # Parts that are not known.
    ('count_changes', 'prepare', in_loop('MPI_Bcast(a, i % 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);'),
     [f'1*{HINT}', '!not known there: count']),
    ('root_changes', 'prepare', in_loop('MPI_Bcast(a, 10, MPI_DOUBLE, i % 4, MPI_COMM_WORLD);'),
     [f'1*{HINT}', '!not known there: root', '+i32 -2147483648, i8* null']),
    ('array_written', 'prepare',
     in_loop('n[i % 4] = i; MPI_Scatterv(a, n, d, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);',
             BUFFERS + 'int n[4], d[4];\n'), [f'1*{HINT}', '!not known there: sendcounts']),
    ('array_of_conditional_call', 'prepare',
     in_loop('if (a[i % 10] > 3) MPI_Scatterv(a, n, d, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);',
             BUFFERS + 'extern int n[4], d[4];\n'), [f'1*{HINT}', '!not known there: sendcounts, send displacements']),
    ('global_variables', 'prepare', in_loop('MPI_Bcast(a, n, MPI_DOUBLE, 0, comm);', BUFFERS + 'int n;\nMPI_Comm comm;\n'),
     [f'1*{HINT}', '!plan prepared']),
    ('member_of_object', 'prepare',
     'struct S { MPI_Comm comm; int n; double* data; };\n'
     'void f(struct S* s, int times) { for (int i = 0; i < times; ++i) '
     'MPI_Bcast(s->data, s->n, MPI_DOUBLE, 0, s->comm); }\n', [f'1*{HINT}', '!plan prepared']),
    # Not hoisted.
    ('comm_changes', 'prepare', in_loop('MPI_Bcast(a, 10, MPI_DOUBLE, 0, comms[i]);', BUFFERS + 'MPI_Comm comms[100];\n'),
     [f'-{HINT}', '!not prepared: the communicator is not known before the loop']),
    ('comm_made_in_loop', 'prepare',
     in_loop('MPI_Comm c; MPI_Comm_dup(MPI_COMM_WORLD, &c); MPI_Barrier(c); MPI_Comm_free(&c);'), [f'1*{HINT}']),
    ('no_loop', 'prepare', in_main(BCAST, BUFFERS), [f'-{HINT}']),
    ('not_optimized', 'prepare', '__attribute__((optnone, noinline)) ' + in_loop(BCAST, '').replace('a,', 'argv,'),
     [f'-{HINT}', '!compile with -O1 or more']),
    ('irreducible', 'prepare',
     BUFFERS + 'void f(int x) { if (x) goto in; again: use(a); in: ' + BCAST + ' if (x++ < 100) goto again; }\n',
     [f'-{HINT}']),
    ('other_handles', 'prepare', 'int MPI_Finalized(int*);\nvoid g(int);\nvoid f(void) { for (int i = 0; i < 9; ++i) g(i); }\n',
     [f'-{HINT}']),
    ('forbidden_loop', 'prepare', in_loop('MPIX_PLAN(none); ' + BCAST), [f'-{HINT}', '!left alone, as the source asks']),
    ('forbidden_function', 'prepare', 'static double a[10];\nMPIX_PLAN_FUNCTION(none) ' + in_loop(BCAST, ''), [f'-{HINT}']),
    ('mode_none', 'none', in_loop(BCAST), [f'-{HINT}']),
    # Before the link: what is in the module.
    ('prepares_with_thin_lto', 'prepare', in_loop(BCAST), [f'1*{HINT}']),
    ('function_of_other_module_thin_lto', 'prepare', in_loop('step(MPI_COMM_WORLD);', 'void step(MPI_Comm);\n'),
     [f'-{HINT}']),
    # Through functions of the module.
    ('in_function', 'prepare',
     BUFFERS + '__attribute__((noinline)) static void step(MPI_Comm c, int n) { use(a); '
     'MPI_Bcast(a, n, MPI_DOUBLE, 0, c); }\n' + in_main(LOOP % 'step(MPI_COMM_WORLD, 10);'),
     [f'1*{HINT}', '!plan of MPI_Bcast in it prepared before']),
    ('in_function_of_function', 'prepare',
     BUFFERS + '__attribute__((noinline)) static void one(MPI_Comm c) { use(a); MPI_Bcast(a, 10, MPI_DOUBLE, 0, c); }\n'
     '__attribute__((noinline)) static void two(MPI_Comm c) { use(b); one(c); use(b); }\n' +
     in_main(LOOP % 'two(MPI_COMM_WORLD);'), [f'1*{HINT}']),
    ('recursive_function', 'prepare',
     BUFFERS + '__attribute__((noinline)) static void f(int n) { use(a); if (n) f(n - 1); ' + BCAST + ' use(a); }\n' +
     in_main(LOOP % 'f(i);'), []),
]

CONVERT = [
    *[(f'converts_{name}', 'convert', in_main(LOOP % f'MPI_{name}({arguments});', ARRAYS),
       [f'+@MPI_{name}{INIT}', f'1*{DONE}', f'-{HINT}', '!made persistent before the loop at line', f'+@MPI_{name}('])
      for name, arguments in ALL.items()],
    ('converts_large', 'convert', in_loop('MPI_Bcast_c(a, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);'),
     ['+declare extern_weak i32 @MPI_Bcast_init_c(', '!made persistent']),
    ('result_is_used', 'convert', in_main(
        'int e = 0; for (int i = 0; i < 100; ++i) { e |= MPI_Bcast(a, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD); } use(e);',
        'static double a[10];\nvoid use(int);\n'), ['!made persistent', '+phi i32']),
    ('outermost', 'convert', in_loop('for (int k = 0; k < 50; ++k) {' + BCAST + '} use(b);'), ['!made persistent', '!depth 1']),
    ('size_is_equal', 'convert', in_main('int n; MPI_Comm_size(MPI_COMM_WORLD, &n); for (int i = 0; i < n; ++i) {' + BCAST +
                                         '}', BUFFERS), ['!made persistent']),
    ('command_line_is_equal', 'convert', in_main('int n = argc > 1 ? atoi(argv[1]) : 5; for (int i = 0; i < n; ++i) {' +
                                                 BCAST + '}', BUFFERS + 'int atoi(const char*);\n'), ['!made persistent']),
    ('word_of_command_line_is_equal', 'convert', in_main(
        'const char* word = argc > 1 ? argv[1] : "one"; if (strcmp(word, "two") == 0) {' + LOOP % BCAST + '}',
        BUFFERS + 'int strcmp(const char*, const char*);\n'), ['!made persistent']),
    ('walk_over_command_line', 'convert', in_main(
        'char** word = argv; while (*word && strcmp(*word, "x")) ++word; if (*word) {' + LOOP % BCAST + '}',
        BUFFERS + 'int strcmp(const char*, const char*);\n'), ['!made persistent']),
    ('reduced_value_is_equal', 'convert', in_main(
        'double mine = argc, sum = 0; while (sum < 100) { MPI_Allreduce(&mine, &sum, argc, MPI_DOUBLE, MPI_SUM, '
        'MPI_COMM_WORLD); }'), ['!made persistent']),
    ('static_function', 'convert', BUFFERS + '__attribute__((noinline)) static void f(int n) { for (int i = 0; i < n; ++i) {'
     + BCAST + '} use(b); }\n' + in_main('f(10); f(20);'), ['!made persistent']),
    ('marked_loop', 'prepare', BUFFERS + 'void f(int n) { for (int i = 0; i < n; ++i) { MPIX_PLAN(convert); ' + BCAST + '} }\n',
     ['!made persistent', f'-{HINT}']),
    # Not proven: prepared instead, and the one reason.
    ('barrier', 'convert', in_loop('MPI_Barrier(MPI_COMM_WORLD);'), [f'-{DONE}', f'1*{HINT}', '!a barrier has no plan']),
    ('buffer_changes', 'convert', in_loop('MPI_Bcast(a + i % 4, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);'),
     [f'-{DONE}', f'1*{HINT}', '!the receive buffer is another one in each iteration']),
    ('convert_count_changes', 'convert', in_loop('MPI_Bcast(a, i % 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);'),
     [f'-{DONE}', '!the count may change in the loop']),
    ('convert_root_changes', 'convert', in_loop('MPI_Bcast(a, 4, MPI_DOUBLE, i % 2, MPI_COMM_WORLD);'),
     [f'-{DONE}', '!the root may change in the loop']),
    ('count_written_by_call', 'convert', in_loop('other(); MPI_Bcast(a, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);',
                                                 BUFFERS + 'int n;\nvoid other(void);\n'),
     [f'-{DONE}', '!the count may change in the loop']),
    ('convert_array_written', 'convert', in_loop(
        'n[i % 4] = 1; MPI_Scatterv(a, n, d, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);',
        BUFFERS + 'static int n[4], d[4];\n'), [f'-{DONE}', '!may write the array of sendcounts']),
    ('array_aliased', 'convert',
     BUFFERS + 'MPIX_PLAN_FUNCTION(convert) void f(int* n, int* d, int* p) { for (int i = 0; i < 9; ++i) { *p = i; '
     'MPI_Scatterv(a, n, d, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD); } }\n',
     [f'-{DONE}', '!may write the array of']),
    ('conditional', 'convert', in_loop('if (i % 3) { ' + BCAST + ' }'), [f'-{DONE}', '!does not run in every iteration']),
    ('left_before', 'convert', in_loop('use(a); if (a[3] > 2) break; ' + BCAST), [f'-{DONE}', '!does not run in every iteration']),
    ('rank_branch', 'convert', in_main('int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r != 2) {' + LOOP % BCAST + '}', BUFFERS),
     [f'-{DONE}', '!a branch may go another way at other ranks']),
    ('rank_trip_count', 'convert', in_main('int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); for (int i = 0; i <= r; ++i) {' +
                                           BCAST + '}', BUFFERS), [f'-{DONE}', '!a branch may go another way']),
    ('rank_early_return', 'convert', in_main('int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 0) return 3; ' +
                                             LOOP % BCAST, BUFFERS), [f'-{DONE}', '!a branch may go another way']),
    ('rank_through_phi', 'convert', in_main('int r, n = 3; MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 1) { use(a); n = 4; } '
                                            'for (int i = 0; i < n; ++i) {' + BCAST + '}', BUFFERS),
     [f'-{DONE}', '!a branch may go another way']),
    ('unknown_value', 'convert', in_main('int n = other(); for (int i = 0; i < n; ++i) {' + BCAST + '}',
                                         BUFFERS + 'int other(void);\n'), [f'-{DONE}', '!a branch may go another way']),
    ('size_of_part', 'convert', in_main('int n; MPI_Comm_size(part, &n); for (int i = 0; i < n; ++i) {' + BCAST + '}',
                                        BUFFERS + 'extern MPI_Comm part;\n'), [f'-{DONE}', '!a branch may go another way']),
    ('public_function', 'convert', BUFFERS + 'void f(void) { ' + LOOP % BCAST + '}\n',
     [f'-{DONE}', '!other modules may call this function']),
    ('static_function_at_some_ranks', 'convert',
     BUFFERS + '__attribute__((noinline)) static void f(void) { ' + LOOP % (BCAST + 'use(b);') + '}\n' +
     in_main('int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r) f(); f();'), [f'-{DONE}', '!a branch may go another way']),
    ('function_pointer', 'convert', BUFFERS + '__attribute__((noinline)) static void f(void) { ' + LOOP % BCAST + '}\n'
     'void (*p)(void) = f;\n' + in_main('p();'), [f'-{DONE}', '!called through a pointer']),
    ('convert_in_function', 'convert',
     BUFFERS + '__attribute__((noinline)) static void step(int n) { use(a); MPI_Bcast(a, n, MPI_DOUBLE, 0, '
     'MPI_COMM_WORLD); }\n' + in_main(LOOP % 'step(10);'), [f'-{DONE}', f'1*{HINT}', '!called in another function']),
    ('setjmp', 'convert', '#include <setjmp.h>\njmp_buf j;\n' + in_loop('if (setjmp(j)) break; ' + BCAST),
     [f'-{DONE}', '!calls setjmp']),
    ('jump_in_function', 'convert',
     '#include <setjmp.h>\njmp_buf j;\n' + BUFFERS + '__attribute__((noinline)) static void jump(void) '
     '{ use(b); if (a[3] > 2) longjmp(j, 1); use(b); }\n' + in_loop(BCAST + ' jump();', ''),
     [f'-{DONE}', f'1*{HINT}', '!a function that is called in the loop may call longjmp']),
    ('finalize_in_loop', 'convert', in_loop(BCAST + ' if (i == 50) { MPI_Finalize(); use(a); }'),
     [f'-{DONE}', '!MPI_Finalize is in the loop']),
    ('convert_forbidden', 'convert', in_loop('MPIX_PLAN(none); ' + BCAST), [f'-{DONE}', f'-{HINT}']),
    ('only_prepare', 'convert', in_loop('MPIX_PLAN(prepare); ' + BCAST), [f'-{DONE}', f'1*{HINT}']),
    # Short results are not made persistent.
    ('short_result', 'convert', in_loop(SUM + ' use(b);'),
     [f'-{INIT}', '-@MPI_Iallreduce', f'1*{HINT}', '!so short a result needs no plan of its own']),
    ('short_overlap', 'convert', in_loop(SUM + ' for (int k = 0; k < 1000; ++k) c[k] = c[k] * 2 + 1; use(b);',
                                         BUFFERS + 'double c[1000];\n'),
     [f'-{INIT}', '1*call i32 @MPI_Iallreduce(', '1*call i32 @herald_plan_wait', f'1*{HINT}', '!made nonblocking']),
    ('short_overlap_large', 'convert',
     in_loop('MPI_Allreduce_c(a, b, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); '
             'for (int k = 0; k < 1000; ++k) c[k] = c[k] * 2 + 1; use(b);', BUFFERS + 'double c[1000];\n'),
     ['1*call i32 @MPI_Iallreduce_c(', '1*call i32 @herald_plan_wait']),
    ('converts_with_thin_lto', 'convert', in_loop(BCAST), [f'1*{DONE}', '!made persistent']),
    # Overlap.
    ('overlap', 'convert', in_loop(LONG + ' for (int k = 0; k < 1000; ++k) c[k] = c[k] * 2 + 1; use(b);',
                                   BUFFERS + 'double c[1000];\n'),
     ['+call i32 @MPI_Start', '+call i32 @herald_plan_wait', '!runs during the work up to the first use of its data']),
    ('overlap_reads_result', 'convert', in_loop(LONG + ' for (int k = 0; k < 1000; ++k) c[k] = c[k] * 2 + b[k % 40]; use(c);',
                                                BUFFERS + 'double c[1000];\n'), ['-@herald_plan_wait', '!made persistent']),
    ('overlap_writes_sent', 'convert', in_loop(LONG + ' for (int k = 0; k < 1000; ++k) a[k % 40] = k * 0.5; use(b);',
                                               BUFFERS), ['-@herald_plan_wait', '!made persistent']),
    ('overlap_unknown_pointer', 'convert',
     BUFFERS + 'MPIX_PLAN_FUNCTION(convert) void f(double* s, double* r, double* c) { for (int i = 0; i < 9; ++i) { '
     'MPI_Allreduce(s, r, 50, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); for (int k = 0; k < 1000; ++k) c[k] *= 2; use(r); } }\n',
     ['-@herald_plan_wait', '!made persistent']),
    ('overlap_stops_at_calls', 'convert', in_loop(LONG + ' use(a); for (int k = 0; k < 1000; ++k) c[k] = c[k] * 2 + 1; use(b);',
                                                  BUFFERS + 'double c[1000];\n'), ['-@herald_plan_wait']),
]

CXX = [
    ('throws', 'convert', 'static double a[10];\nvoid other();\n' + in_loop('other(); ' + BCAST, ''),
     [f'-{DONE}', f'1*{HINT}', '!a function that may throw is called in the loop']),
    ('does_not_throw', 'convert', 'static double a[10];\nvoid other() noexcept;\n' + in_loop('other(); ' + BCAST, ''),
     ['!made persistent']),
    ('try_block', 'convert', 'static double a[10];\nvoid other();\n' +
     in_loop('try { other(); ' + BCAST + ' } catch (int) { }', ''), [f'-{DONE}', f'1*{HINT}']),
    ('class_member', 'prepare', 'struct S { MPI_Comm comm; int n; double* data; void f(int); };\n'
     'void S::f(int k) { for (int i = 0; i < k; ++i) MPI_Bcast(data, n, MPI_DOUBLE, 0, comm); }\n', [f'1*{HINT}']),
]
