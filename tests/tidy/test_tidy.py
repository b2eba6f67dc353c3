#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a rule that never complains. Each rule is shown something that breaks it, and something
near to it that does not."""
import sys
import unittest

import cpp_text
import hygiene
import layers
import lengths

SPDX = '// SPDX-License-Identifier: BSD-3-Clause\n'


class Layers(unittest.TestCase):
    def broken(self, path, text):
        self.assertTrue(layers.check(path, text), f'{path}: {text!r} was let through')

    def fine(self, path, text):
        self.assertEqual(layers.check(path, text), [], f'{path}: {text!r}')

    def test_includes_point_downward(self):
        self.broken('src/p2p/a.cpp', '#include "engine/engine.hpp"\n')
        self.broken('src/base/a.hpp', '#  include "wire/a.hpp"\n')
        self.broken('src/type/a.hpp', '#include "op/op.hpp"\n')
        self.fine('src/engine/a.cpp', '#include "p2p/ops.hpp"\n#include "engine/b.hpp"\n#include <vector>\n')
        self.fine('src/p2p/a.cpp', '// #include "engine/engine.hpp"\n')

    def test_unknown_room(self):
        self.broken('src/misc/a.cpp', 'int x;\n')

    def test_paths_do_not_know_each_other(self):
        self.broken('src/path/shm/a.cpp', '#include "path/udp/socket.hpp"\n')
        self.fine('src/path/shm/a.cpp', '#include "path/shm/ring.hpp"\n#include "path/path.hpp"\n')

    def test_pure_rooms(self):
        for text in ('#include <sys/socket.h>\n', '#include <thread>\n', '#include <mutex>\n', '#include <chrono>\n',
                     '#include <random>\n', '#include <sys/mman.h>\n', 'auto x = getenv("A");\n',
                     'auto t = clock.now();\n', 'auto t = Clock::now( );\n', 'clock_gettime(0, &t);\n',
                     'int r = rand();\n', 'std::mutex m;\n', 'sendto(fd, p, n, 0, 0, 0);\n',
                     'open("/dev/urandom");\n', 'extern char** environ;\n'):
            for room in layers.PURE:
                self.broken(f'src/{room}/a.cpp', text)
            self.fine('src/engine/a.cpp', text)
        self.fine('src/p2p/a.cpp', 'void on_data(Instant now); // reads no clock: now() is the caller\'s\n')
        self.fine('src/p2p/a.cpp', 'f(now); const char* s = "now()"; int operand(int); x.operand();\n')

    def test_public_functions_belong_to_abi(self):
        self.broken('src/mpi/a.cpp', 'int f() { return MPI_Barrier(c); }\n')
        self.broken('src/coll/a.cpp', 'PMPI_Comm_rank(c, &r);\n')
        self.broken('src/mpi/a.cpp', 'MPI_T_init_thread(1, &p);\n')
        self.fine('src/abi/a.cpp', 'int f() { return MPI_Barrier(c); }\n')
        self.fine('src/mpi/a.cpp', 'fail("MPI_Barrier(comm)"); // MPI_Barrier(c)\nMPI_Comm c = MPI_Comm(3);\n')

    def test_only_abi_and_mpi_know_the_header(self):
        self.broken('src/p2p/a.cpp', '#include <mpi.h>\n')
        self.broken('tools/a.cpp', '#include "mpi.h"\n')
        self.broken('launch/a.cpp', '#include "mpi/comm.hpp"\n')
        self.fine('src/mpi/a.cpp', '#include "mpi.h"\n')

    def test_sim_drives_pure_rooms(self):
        self.broken('sim/job/a.cpp', '#include "path/udp/udp.hpp"\n')
        self.broken('sim/job/a.cpp', '#include "engine/loop.hpp"\n')
        self.broken('sim/job/a.cpp', '#include <mpi.h>\n')
        self.fine('sim/job/a.cpp', '#include "rel/mesh.hpp"\n#include "p2p/core.hpp"\n#include "sim/net/net.hpp"\n')


class Lengths(unittest.TestCase):
    @staticmethod
    def function(lines, head='int f(int a)'):
        return head + ' {\n' + '  ++a;\n' * (lines - 2) + '}\n'

    def test_function_limit(self):
        self.assertEqual(lengths.measure('src/a.cpp', self.function(70)), {})
        self.assertEqual(lengths.measure('src/a.cpp', self.function(71)), {'src/a.cpp:f': 71})
        self.assertEqual(lengths.measure('a.py', 'def f():\n' + '    x = 1\n' * 70), {'a.py:f': 71})

    def test_functions_are_found(self):
        text = ('namespace a {\nclass B : public C {\n public:\n  int get() const noexcept { return x_; }\n'
                '  B() : x_{1} {\n  }\n};\nstruct D* make(int n) {\n  if (n) { return 0; }\n  for (;;) {\n  }\n}\n'
                '#define M(x) f() { \\\n  g() {\nconst int t[] = {\n 1, 2};\n}  // namespace a\n'
                'extern "C" {\nvoid last(void) {\n  auto l = [&](int i) {\n    return i;\n  };\n}\n}\n')
        self.assertEqual([(n, b - a + 1) for n, a, b in cpp_text.functions(text) if n in ('get', 'make', 'last')],
                         [('get', 1), ('make', 5), ('last', 5)])
        self.assertNotIn('M', [n for n, _, _ in cpp_text.functions(text)])

    def test_braces_in_text_do_not_count(self):
        text = 'int f() {\n  char c = \'{\';  // {\n  const char* s = "{"; /* { */\n  auto r = R"({)";\n}\nint g() {\n}\n'
        self.assertEqual([(n, a, b) for n, a, b in cpp_text.functions(text)], [('f', 1, 5), ('g', 6, 7)])

    def test_digit_separator_is_no_quote(self):
        text = "int f() {\n  int a = 1'000; int b = 2'000;\n}\nint g() {\n}\n"
        self.assertEqual([n for n, _, _ in cpp_text.functions(text)], ['f', 'g'])

    def test_file_limits(self):
        self.assertEqual(lengths.measure('a.hpp', '\n' * 300), {})
        self.assertEqual(lengths.measure('a.hpp', '\n' * 301), {'a.hpp': 301})
        self.assertEqual(lengths.measure('a.cpp', '\n' * 400), {})
        self.assertEqual(lengths.measure('a.cpp', '\n' * 401), {'a.cpp': 401})
        self.assertEqual(lengths.measure('a.json', '\n' * 4000), {})

    def test_ratchet_only_shrinks(self):
        self.assertEqual(lengths.compare({'a.cpp': 500}, {'a.cpp': 500}), [])
        self.assertTrue(lengths.compare({'a.cpp': 500}, {}))
        self.assertTrue(lengths.compare({'a.cpp': 501}, {'a.cpp': 500}))
        self.assertTrue(lengths.compare({'a.cpp': 499}, {'a.cpp': 500}))
        self.assertTrue(lengths.compare({}, {'a.cpp': 500}))
        self.assertEqual(lengths.tighten({'a.cpp': 450, 'b.cpp': 900, 'c.cpp': 700},
                                         {'a.cpp': 500, 'c.cpp': 600, 'd.cpp': 450}), {'a.cpp': 450, 'c.cpp': 600})


class Hygiene(unittest.TestCase):
    def test_licence_line(self):
        self.assertTrue(hygiene.check('src/a.cpp', '// a file\n'))
        self.assertTrue(hygiene.check('scripts/a', '#!/bin/sh\necho\n'))
        self.assertEqual(hygiene.check('src/a.cpp', SPDX), [])
        self.assertEqual(hygiene.check('src/__init__.py', ''), [])
        self.assertEqual(hygiene.check('scripts/a', '#!/bin/sh\n# SPDX-License-Identifier: BSD-3-Clause\n'), [])
        self.assertEqual(hygiene.check('README.md', '# Herald\n'), [])

    def test_notes_and_private_paths(self):
        for text in ('// TO' + 'DO later\n', '// FIX' + 'ME\n', '// see /home' + '/me/x\n', '"/tmp/w' + 't/a"\n',
                     'cd /wo' + 'rk/main\n'):
            self.assertTrue(hygiene.check('src/a.cpp', SPDX + text), text)
        for text in ('mkstemp("/tmp/a.XX' + 'XXXX");\n', 'x/homework/y\n', '${dir}/work/x\n'):
            self.assertEqual(hygiene.check('src/a.cpp', SPDX + text), [], text)

    def test_dead_files(self):
        files = {'src/a/CMakeLists.txt': 'herald_room(a SOURCES used.cpp deep/also.cpp) # unused.cpp\n',
                 'src/a/used.cpp': '#include "a/used.hpp"\n', 'src/a/deep/also.cpp': '', 'src/a/unused.cpp': '',
                 'src/a/used.hpp': '', 'src/a/unused.hpp': '',
                 'tests/CMakeLists.txt': 'file(GLOB all CONFIGURE_DEPENDS p/*.c)\nforeach(name one two)\n',
                 'tests/p/x.c': '', 'tests/one.c': '', 'tests/three.c': ''}
        self.assertEqual([path for path, _ in hygiene.dead(files)],
                         ['src/a/unused.cpp', 'src/a/unused.hpp', 'tests/three.c'])

    def test_names_in_the_architecture(self):
        files = {'docs/ARCHITECTURE.md': 'one\n`Core::start()` and `gone()`, `not_a_call`\n', 'src/a.cpp': 'void start(int);\n'}
        self.assertEqual([place for place, _ in hygiene.unknown_names(files)], ['docs/ARCHITECTURE.md:2'])

    def test_readme(self):
        files = {'src/a/x.cpp': '', 'src/b/x.cpp': '', 'src/b/README.md': '', 'src/c/CMakeLists.txt': ''}
        self.assertEqual([room for room, _ in hygiene.rooms_without_readme(files)], ['src/a'])


if __name__ == '__main__':
    sys.exit(unittest.main())
