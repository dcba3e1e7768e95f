#include "benchmarks/roofline.h"

#include <cohort/cohort.h>
#include <cohort/core/cpu_level.h>
#include <cohort/core/kernel.h>
#include <cohort/core/thread_pool.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

namespace cohort::bench {
namespace {

// The kernels of these are in the library, as they must be compiled for each level of the CPU.
const InferFn kOperations = [](const OpCall&) { return Specs{{DType::Float64, {}}}; };
COHORT_OP("MultiplyAddLoop").inputs(0).infer(kOperations).stateful();
COHORT_OP("MatrixTileLoop").inputs(0).infer(kOperations).stateful();
COHORT_OP("PackMatrix")
    .inputs(1)
    .infer([](const OpCall&) {
      return Specs{{DType::UInt8, {kUnknown}}};
    })
    .not_differentiable()
    .dynamic_outputs();
COHORT_OP("PackedMatMul")
    .inputs(2)
    .infer([](const OpCall& call) {
      return Specs{{call.dtype(0), {call.shape(0)[0], call.attr<std::int64_t>("columns")}}};
    })
    .not_differentiable();

struct Loop {
  const char *name, *op, *precision;
  std::int64_t rounds;  // of a block, which takes some tenths of a millisecond
};
constexpr Loop kMultiplyAdds{"multiply_adds", "MultiplyAddLoop", "float32", 100'000};
constexpr Loop kMatrixTiles{"matrix_tiles", "MatrixTileLoop", "bf16", 20'000};

// Only a level with matrix instructions has that kernel, and it is known once the level is taken.
bool has_matrix_tiles() { return !cpu_level().empty() && has_kernel(kMatrixTiles.op, kCPU); }

using Clock = std::chrono::steady_clock;

// The shortest time of many calls, in seconds.
double best_time(const std::function<void()>& body, double seconds) {
  double best = std::numeric_limits<double>::infinity();
  const auto start = Clock::now();
  for (int calls = 0; calls < 3 || std::chrono::duration<double>(Clock::now() - start).count() < seconds; ++calls) {
    const auto begin = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return best;
}

// Operations in a nanosecond, on the threads the pool has.
double loop_rate(const Loop& loop, double seconds) {
  const std::int64_t blocks = 4 * ThreadPool::instance().threads();
  double operations = 0.0;
  const double time = best_time(
      [&] {
        operations = run_op(loop.op, {}, {{"rounds", loop.rounds}, {"blocks", blocks}}).item<double>();
      },
      seconds);
  return operations / time * 1e-9;
}

void print_loop(const Loop& loop) {
  const int threads = ThreadPool::instance().threads();
  const std::string level(cpu_level());
  ThreadPool::instance().set_threads(1);
  const double alone = loop_rate(loop, 0.4);
  std::printf("{\"roofline\": \"%s\", \"cpu\": \"%s\", \"precision\": \"%s\", \"threads\": 1, \"gflops\": %.1f}\n",
              loop.name, level.c_str(), loop.precision, alone);
  ThreadPool::instance().set_threads(threads);
  if (threads == 1) return;
  const double together = loop_rate(loop, 0.4);
  std::printf(
      "{\"roofline\": \"%s\", \"cpu\": \"%s\", \"precision\": \"%s\", \"threads\": %d, \"gflops\": %.1f, \"gain\": "
      "%.2f}\n",
      loop.name, level.c_str(), loop.precision, threads, together, together / alone);
}

Tensor random_matrix(std::int64_t rows, std::int64_t columns, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (float& value : values) value = uniform(random);
  return ops::cast(Tensor::of(values, {rows, columns}), dtype);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.num_elements()) * size_of(a.dtype())) == 0;
}

}  // namespace

void print_roofline() {
  print_loop(kMultiplyAdds);
  if (has_matrix_tiles()) print_loop(kMatrixTiles);
}

std::array<std::int64_t, 3> parse_product(const std::string& text) {
  std::array<std::int64_t, 3> sizes{};
  const char *at = text.data(), *const end = at + text.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0 && at != end && *at == ',') ++at;
    const auto [stop, problem] = std::from_chars(at, end, sizes[i]);
    if (problem != std::errc() || sizes[i] < 1 || sizes[i] > 1 << 20) at = nullptr;
    if (!at) break;
    at = stop;
  }
  if (at != end) {
    throw invalid_argument("--product", "must be three sizes from 1 to 1048576 with commas between: M,K,N",
                           {{"product", text}}, "Give --product 1024,1024,1024.");
  }
  return sizes;
}

void print_product(const ProductOptions& options) {
  const auto [m, k, n] = options.size;
  const DType dtype = options.bfloat16 ? DType::BFloat16 : DType::Float32;
  const Loop& loop = options.bfloat16 && has_matrix_tiles() ? kMatrixTiles : kMultiplyAdds;
  const bool transposed = options.transposed;
  const Tensor a = transposed ? random_matrix(k, m, dtype, 1) : random_matrix(m, k, dtype, 1);
  const Tensor b = random_matrix(k, n, dtype, 2);
  std::function<Tensor()> product = [&] { return ops::matmul(a, b, transposed); };
  if (options.packed) {
    product = [&, panels = run_op("PackMatrix", {b}), columns = n] {
      return run_op("PackedMatMul", {a, panels}, {{"columns", columns}});
    };
    if (!same_bits(product(), ops::matmul(a, b)))
      throw internal_error("PackedMatMul", "it must compute what MatMul does");
  }
  // In turns, as the machine may be faster at one time than at another.
  double time = std::numeric_limits<double>::infinity(), peak = 0.0;
  for (int turn = 0; turn < 3; ++turn) {
    peak = std::max(peak, loop_rate(loop, 0.15));
    time = std::min(time, best_time([&] { product(); }, 0.3));
  }
  const double rate = 2e-9 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) / time;
  std::printf(
      "{\"product\": \"%lldx%lldx%lld\", \"cpu\": \"%s\", \"precision\": \"%s\", \"packed\": %s, "
      "\"transposed\": %s, \"threads\": %d, \"ms\": %.4f, \"gflops\": %.1f, \"loop\": \"%s\", \"loop_gflops\": %.1f, "
      "\"of_loop\": %.3f}\n",
      static_cast<long long>(m), static_cast<long long>(k), static_cast<long long>(n), std::string(cpu_level()).c_str(),
      options.bfloat16 ? "bf16" : "float32", options.packed ? "true" : "false", transposed ? "true" : "false",
      ThreadPool::instance().threads(), time * 1e3, rate, loop.name, peak, rate / peak);
}

}  // namespace cohort::bench
