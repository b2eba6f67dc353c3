#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a rule that never complains. Each rule is shown something that breaks it, and something
near to it that does not."""
import sys
import unittest

import classes
import cpp_classes
import cpp_text
import hygiene
import layers
import lengths
import ratchet
import words

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

    def test_mpi_subfolders_stand_in_one_order(self):
        self.broken('src/mpi/core/a.cpp', '#include "mpi/comm/comm.hpp"\n')
        self.broken('src/mpi/coll/a.cpp', '#include "mpi/comm/comm.hpp"\n')
        self.broken('src/mpi/misc/a.cpp', '#include "mpi/core/call.hpp"\n')
        self.broken('src/mpi/a.cpp', '#include "mpi/core/call.hpp"\n')
        self.fine('src/mpi/comm/a.cpp', '#include "mpi/coll/internal.hpp"\n#include "mpi/core/call.hpp"\n')
        self.fine('src/mpi/coll/a.cpp', '#include "exec/runner.hpp"\n#include "mpi/coll/state.hpp"\n')
        self.broken('src/exec/a.cpp', '#include "mpi/core/objects.hpp"\n')

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
        self.broken('launch/a.cpp', '#include "mpi/comm/comm.hpp"\n')
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


class Ratchet(unittest.TestCase):
    def test_a_figure_only_falls(self):
        def compare(over, entries):
            return ratchet.compare(over, entries, 'limits')
        self.assertEqual(compare({'a.cpp': 500}, {'a.cpp': 500}), [])
        self.assertTrue(compare({'a.cpp': 500}, {}))
        self.assertTrue(compare({'a.cpp': 501}, {'a.cpp': 500}))
        self.assertTrue(compare({'a.cpp': 499}, {'a.cpp': 500}))
        self.assertTrue(compare({}, {'a.cpp': 500}))
        self.assertEqual(ratchet.tighten({'a.cpp': 450, 'b.cpp': 900, 'c.cpp': 700},
                                         {'a.cpp': 500, 'c.cpp': 600, 'd.cpp': 450}), {'a.cpp': 450, 'c.cpp': 600})


class Classes(unittest.TestCase):
    def counted(self, text):
        return {one.name: (one.methods, one.data) for one in cpp_classes.scan('src/a/a.hpp', text)[0]}

    def of(self, members):
        """(methods, data) of a class with these members."""
        return self.counted('class A {\n' + members + '\n};\n')['A']

    def test_methods(self):
        for text, methods in (
                ('void f();', 1), ('void f(); int f(int) const noexcept;', 2), ('A(); ~A() = default;', 2),
                ('A(const A&) = delete; A& operator=(const A&) = delete;', 0),
                ('public: A() noexcept : x_{1}, y_(g({2})) { if (x_) { y_ = 0; } } private: int x_, y_;', 1),
                ('explicit A(int a = f(), B b = {}) : B{b}, x_{a} {} int x_;', 1),
                ('bool operator==(const A&) const = default; bool operator<(const A& o) const { return x < o.x; }', 2),
                ('operator bool() const; void operator()(int); int operator[](int);', 3),
                ('template <class T, class U = std::map<int, T>> void f(T t) { g<T>(t); }', 1),
                ('template <class T> requires(sizeof(T) > 4) void f(T);', 1),
                ('[[nodiscard]] virtual Status f(std::function<void(int)> call) = 0;', 1),
                ('auto f() -> std::vector<int> { return {}; } static constexpr int g() { return 1; }', 2),
                ('friend bool operator!=(A, A); friend class B; friend void swap(A&, A&) {}', 0),
                ('using F = void (*)(int); typedef int (*G)(char); static_assert(sizeof(int) == 4);', 0)):
            self.assertEqual(self.of(text)[0], methods, text)

    def test_data(self):
        for text, data in (
                ('int a;', 1), ('int a, b = 3, c{4};', 3), ('std::map<int, std::pair<int, int>> m;', 1),
                ('std::array<int, 4> a{1, 2, 3}, b;', 2), ('int a : 3, b : 5;', 2), ('char a[4], b[kSize + 1];', 2),
                ('void (*call)(int, int) = nullptr;', 1), ('Status (Loop::*step)(int);', 1),
                ('std::function<void(int, int)> call;', 1), ('int x = f(1, 2);', 1), ('T* p = nullptr; const T& r;', 2),
                ('alignas(64) std::atomic<int> a{0};', 1), ('int n = [] { int k = 1; return k; }();', 1),
                ('alignas(T) std::byte storage[sizeof(T)];', 1), ('int a[f(1, 2)], b = (1, 2);', 2),
                ('alignas(cmsghdr) std::array<char, SPACE(sizeof(std::uint16_t))> bytes_;', 1),
                ('static constexpr int kA = 1, kB = 2; static const int kC;', 0), ('static inline int shared = 0;', 1),
                ('enum class E : int { a, b }; enum { c }; struct S; class T; using U = int;', 0),
                ('union { int a; float b; };', 2), ('union { int a; float b; } u;', 1),
                ('E e = E::a; std::unique_ptr<Inner> inner_;', 2),
                ('// int a;\nconst char* s = "int b; {"; /* int c; */', 1)):
            self.assertEqual(self.of(text)[1], data, text)
            self.assertEqual(self.of(text)[0], 0, text)

    def test_nested_classes_count_apart(self):
        text = ('namespace a::b {\nclass A final : public B<C>, D {\n struct Inner { int x, y; void f(); } one, two;\n'
                ' class Later;\n void g() { struct Local { int z; }; }\n};\nclass A::Later { int w; };\n'
                'namespace { struct Hidden { int v; }; }\nstruct S* h(int n) { return 0; }\n}\n')
        self.assertEqual(self.counted(text), {
            'a::b::A': (1, 2), 'a::b::A::Inner': (1, 2), 'a::b::A::Later': (0, 1),
            'a::b::(src/a/a.hpp)::Hidden': (0, 1)})

    def test_sources_that_define_members(self):
        files = {
            'src/a/a.hpp': 'namespace h::a { class A { void f(); struct In { void g(); }; A(); }; void free(); }\n',
            'src/a/a.cpp': 'namespace h::a { void A::f() {} A::A() : x_{1} {} void free() {} }\n',
            'src/a/b.cpp': 'namespace h { std::map<int, int> a::A::f() { A::g(); } }\nvoid h::a::A::In::g() {}\n',
            'src/a/c.cpp': 'namespace h::a { void A::In::g() { a.f(); } int x = A::y(1); }\n',
            'src/b/a.cpp': 'namespace h::b { namespace { struct A { void f(); }; } void A::f() {} }\n',
            'src/a/d.hpp': 'namespace h::a { inline void A::f() {} }\n'}
        sources = {name: sorted(paths) for name, paths in cpp_classes.count(files)[1].items()}
        self.assertEqual(sources, {'h::a::A': ['src/a/a.cpp', 'src/a/b.cpp'],
                                   'h::a::A::In': ['src/a/b.cpp', 'src/a/c.cpp'],
                                   'h::b::(src/b/a.cpp)::A': ['src/b/a.cpp']})

    def test_limits(self):
        def measured(methods, data, sources=0, path='src/a/a.hpp'):
            files = {f'src/a/{i}.cpp': 'namespace herald::a { void A::f0() {} }' for i in range(sources)}
            files[path] = ('namespace herald::a { class A {' + ''.join(f'void f{i}();' for i in range(methods)) +
                           ''.join(f'int x{i};' for i in range(data)) + '}; }')
            return classes.measure(files)
        self.assertEqual(measured(30, 25, 2), {})
        self.assertEqual(measured(31, 26, 3), {'a::A methods': 31, 'a::A data members': 26, 'a::A source files': 3})
        self.assertEqual(measured(31, 26, path='tests/a.hpp'), {})


class Words(unittest.TestCase):
    def test_document_lines(self):
        self.assertEqual(words.long_lines('x' * 120 + '\n' + '| ' + 'x' * 130 + ' |\n```\n' + 'x' * 130 + '\n```\n'), 0)
        self.assertEqual(words.long_lines('x' * 121 + '\n```\n```\n' + 'y' * 121), 2)
        self.assertEqual(words.long_lines('see [the page](https://example.org/' + 'x' * 120 + ') for more'), 0)

    def test_private_words(self):
        for text in ('has_only_mus' + 'ters', 'class LaneMus' + 'ter;', 'do' + 'zes', 'HERALD_DO' + 'ZE',
                     'lie_' + 'down()', 'the ten' + 'der', 'Excuse' + 'Book', 'he is hus' + 'hed'):
            self.assertEqual(words.private_words(text), 1, text)
        for text in ('dozens', 'extenders', 'get_update()', 'pretend', 'become_in'):
            self.assertEqual(words.private_words(text), 0, text)

    def test_bare_subjects(self):
        for text in ('// Who is back sleeps.\n', '// what is left\n', 'x; // A rank waits. What comes\n// is kept.\n',
                     '/* Whoever asks is answered. */', '// (a list) What is lost comes again.\n'):
            self.assertEqual(words.bare_subjects('src/a.cpp', text), 1, text)
        for text in ('// A rank that knows\n// what comes sleeps.\n', '// What happens now?\n',
                     'const char* s = "Who is";', '// What could go wrong: nothing.\n', '// says who\nint a;\n// and why\n'):
            self.assertEqual(words.bare_subjects('src/a.cpp', text), 0, text)
        self.assertEqual(words.bare_subjects('lab/a.py', '"""What is left."""\nx = 1  # who asked\n'), 2)
        self.assertEqual(words.bare_subjects('docs/a.md', '# What it does\n\nWho waits\nsleeps.\n\n| What | is |\n'), 1)

    def test_scope(self):
        files = {'docs/decisions/0001-a.md': 'mus' + 'ter', 'tests/a.cpp': '// Who is', 'src/a.cpp': '// mus' + 'ter\n',
                 'CHANGELOG.md': 'x' * 200, 'README.md': 'x' * 200}
        self.assertEqual({check: words.measure(check, files) for check in words.LIMITS},
                         {'documents': {'README.md': 1}, 'words': {'src/a.cpp': 1}, 'subjects': {}})


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

    def test_output_alone_does_not_decide(self):
        spdx, line = '# SPDX-License-Identifier: BSD-3-Clause\n', 'PASS_REGULAR_' + 'EXPRESSION "passed")\n'
        self.assertTrue(hygiene.check('tests/CMakeLists.txt', spdx + line))
        self.assertTrue(hygiene.check('cmake/a.cmake', spdx + line.replace('PASS', 'FAIL')))
        self.assertEqual(hygiene.check('tests/CMakeLists.txt', spdx + 'PROPERTIES SKIP_RETURN_CODE 77)\n'), [])

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
