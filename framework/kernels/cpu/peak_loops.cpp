// What a level of the CPU computes at most, for benchmarks to compare kernels with; they define the ops.
#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/bfloat16_tiles.h"
#include "cohort/kernels/cpu/product_tile.h"

namespace cohort {
namespace {

// To the compiler, another value from here on: nothing that is computed with it is known from before.
template <class Vector>
[[gnu::always_inline]] inline void make_unknown(Vector& value) {
#if defined(__aarch64__)
  asm volatile("" : "+w"(value));
#elif defined(__x86_64__)
  asm volatile("" : "+v"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

// Multiplications and additions in as many registers as a tile of a product has sums, none of which waits for another.
struct MultiplyAdds {
  using Vector = products::Lanes<float>::Vector;
  static constexpr int kSums = products::kTileRows * products::kTileVectors;
  static constexpr double kOperations = 2.0 * kSums * static_cast<double>(products::Lanes<float>::kCount);

  static void run(std::int64_t rounds) { run(rounds, std::make_integer_sequence<int, kSums>{}); }

 private:
  template <int... i>
  static void run(std::int64_t rounds, std::integer_sequence<int, i...>) {
    Vector sums[] = {Vector{} + static_cast<float>(i)...};
    Vector column = Vector{} + 0.75f;
    for (std::int64_t round = 0; round < rounds; ++round) {
      ((sums[i] = products::multiply_add(sums[i], 0.5f, column), make_unknown(column)), ...);
    }
    (make_unknown(sums[i]), ...);
  }
};

#if defined(__AMX_BF16__)

// Four tiles of sums, from four tiles of operands that stay where they are.
struct MatrixTiles {
  static constexpr double kOperations = 4 * 2.0 * 16 * 16 * 32;

  static void run(std::int64_t rounds) {
    const products::MatrixRegisters registers;
    alignas(64) std::uint16_t operand[products::kMatrixTileElements];
    for (std::int64_t i = 0; i < products::kMatrixTileElements; ++i) {
      operand[i] = static_cast<std::uint16_t>(0x3c00 + i % 97);  // small numbers of many kinds: sums stay finite
    }
    asm volatile("" ::: "memory");  // the intrinsics that load do not say that they read the operand
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, operand, 64);
    _tile_loadd(5, operand, 64);
    _tile_loadd(6, operand, 64);
    _tile_loadd(7, operand, 64);
    for (std::int64_t round = 0; round < rounds; ++round) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
};

#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)

// Products of 2 x 4 by 4 x 2 elements; as many sums as above.
struct MatrixTiles {
  static constexpr int kSums = MultiplyAdds::kSums;
  static constexpr double kOperations = 2.0 * kSums * 2 * 2 * 4;

  static void run(std::int64_t rounds) { run(rounds, std::make_integer_sequence<int, kSums>{}); }

 private:
  template <int... i>
  static void run(std::int64_t rounds, std::integer_sequence<int, i...>) {
    float32x4_t sums[] = {vdupq_n_f32(static_cast<float>(i))...};
    const bfloat16x8_t rows = vreinterpretq_bf16_u16(vdupq_n_u16(0x3f00));
    bfloat16x8_t columns = vreinterpretq_bf16_u16(vdupq_n_u16(0x3f40));
    for (std::int64_t round = 0; round < rounds; ++round) {
      ((sums[i] = vbfmmlaq_f32(sums[i], rows, columns), make_unknown(columns)), ...);
    }
    (make_unknown(sums[i]), ...);
  }
};

#endif

// Runs `blocks` blocks of `rounds` rounds on the pool and says how many operations these were.
template <class Loop>
KernelFn make_peak_loop(const KernelSpec& spec) {
  return [rounds = spec.attr<std::int64_t>("rounds"), blocks = spec.attr<std::int64_t>("blocks")](const KernelIO& io) {
    ThreadPool::instance().run_blocks(blocks, [&](std::int64_t) { Loop::run(rounds); });
    *io.out<double>(0) = Loop::kOperations * static_cast<double>(rounds) * static_cast<double>(blocks);
  };
}

COHORT_KERNEL("MultiplyAddLoop", kCPU, make_peak_loop<MultiplyAdds>);
#if defined(__AMX_BF16__) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
COHORT_KERNEL("MatrixTileLoop", kCPU, make_peak_loop<MatrixTiles>);
#endif

}  // namespace
}  // namespace cohort
