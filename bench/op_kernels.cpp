// SPDX-License-Identifier: BSD-3-Clause
// op_kernels.cpp: kernels of the predefined reductions against the same loop without vector instructions, and
// against memcpy. Bytes of one operand per second: a reduction reads two
// and writes one, a copy reads one and writes one. `bench_op_kernels --benchmark_filter=sum` picks some.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "op/op.hpp"

namespace {

using herald::op::Kind;
using herald::type::Basic;

#if defined(__clang__)
#define HERALD_SCALAR
#define HERALD_SCALAR_LOOP _Pragma("clang loop vectorize(disable) interleave(disable)")
#else
#define HERALD_SCALAR [[gnu::optimize("no-tree-vectorize"), gnu::noinline]]
#define HERALD_SCALAR_LOOP
#endif

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Prod {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};

template <class T, class F>
HERALD_SCALAR void scalar(const void* in, void* inout, std::size_t count) {
  const T* __restrict a = static_cast<const T*>(in);
  T* __restrict b = static_cast<T*>(inout);
  HERALD_SCALAR_LOOP
  for (std::size_t i = 0; i < count; ++i) b[i] = F::apply(a[i], b[i]);
}

template <class T>
void run(benchmark::State& state, herald::op::Kernel kernel) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::size_t count = bytes / sizeof(T);
  std::vector<T> in(count, T{1}), inout(count, T{1});
  for (auto _ : state) {
    kernel(in.data(), inout.data(), count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

void copy(const void* in, void* inout, std::size_t count) { std::memcpy(inout, in, count); }

template <class T, class F>
void add(const char* op, Kind kind, const char* type, Basic basic) {
  const std::string name = std::string(op) + "/" + type;
  const auto one = [&](const char* build, herald::op::Kernel kernel) {
    benchmark::RegisterBenchmark((name + "/" + build).c_str(), run<T>, kernel)->Arg(16 << 10)->Arg(4 << 20);
  };
  one("scalar", scalar<T, F>);
  one("herald", herald::op::find(kind, basic));
}

template <class T>
void add_type(const char* type, Basic basic) {
  add<T, Sum>("sum", Kind::sum, type, basic);
  add<T, Prod>("prod", Kind::prod, type, basic);
  add<T, Min>("min", Kind::min, type, basic);
  add<T, Max>("max", Kind::max, type, basic);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("memcpy", run<char>, copy)->Arg(16 << 10)->Arg(4 << 20);
  add_type<float>("float", Basic::c_float);
  add_type<double>("double", Basic::c_double);
  add_type<std::int32_t>("int32", Basic::int32);
  add_type<std::int64_t>("int64", Basic::int64);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
