#include "cohort/core/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "cohort/core/kernel.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Rows of a tensor as the random streams see them: the first axis counts samples, the rest is the row.
struct Rows {
  std::int64_t count, size;
  explicit Rows(const Shape& shape)
      : count(shape.rank() == 0 ? 1 : shape[0]), size(shape.rank() == 0 ? 1 : shape.slice(1).num_elements()) {}
};

std::uint64_t seed_of(const KernelSpec& spec) { return static_cast<std::uint64_t>(spec.attr<std::int64_t>("seed")); }

// Calls body(first element, words) for every group of four elements of each row, in parallel over groups of rows.
template <class Body>
void for_each_four(const Rows& rows, const RandomState& state, std::uint64_t seed, const Body& body) {
  if (rows.size == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / rows.size);
  parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const PhiloxStream stream(state, seed, static_cast<std::uint64_t>(row));
      for (std::int64_t i = 0; i < rows.size; i += 4) {
        body(stream, i, row * rows.size + i, static_cast<int>(std::min<std::int64_t>(4, rows.size - i)));
      }
    }
  });
}

// A kernel whose numbers are made four at a time: `make(stream, i)` gives those of elements i ... i + 3 of a row.
template <class Make>
KernelFn four_at_a_time(const KernelSpec& spec, Make make) {
  const Rows rows(spec.output(0).shape);
  return visit_dtype(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return [rows, seed = seed_of(spec), make](const KernelIO& io) {
      T* out = io.out<T>(0);
      for_each_four(rows, *io.random, seed,
                    [&](const PhiloxStream& stream, std::int64_t i, std::int64_t at, int count) {
                      const std::array<float, 4> values = make(stream, static_cast<std::uint64_t>(i));
                      for (int j = 0; j < count; ++j) out[at + j] = value_as<T>(values[static_cast<std::size_t>(j)]);
                    });
    };
  });
}

std::array<float, 4> normals(const Words& words) {
  const auto [a, b] = to_normal(words[0], words[1]);
  const auto [c, d] = to_normal(words[2], words[3]);
  return {a, b, c, d};
}

// An integer below `range`, from 64 random bits.
std::uint64_t below(std::uint64_t range, std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

KernelFn uniform_integers(const KernelSpec& spec) {
  const Rows rows(spec.output(0).shape);
  const auto first = static_cast<std::int64_t>(spec.attr<double>("minval"));
  const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(spec.attr<double>("maxval")) - first);
  return visit_index(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=, seed = seed_of(spec)](const KernelIO& io) {
      T* out = io.out<T>(0);
      for_each_four(
          rows, *io.random, seed, [=](const PhiloxStream& stream, std::int64_t i, std::int64_t at, int count) {
            for (int j = 0; j < count; ++j) {  // two elements of 64 bits a block
              const auto index = static_cast<std::uint64_t>(i + j);
              const Words words = stream.block(index / 2);
              const std::size_t half = index % 2 * 2;
              out[at + j] =
                  static_cast<T>(first + static_cast<std::int64_t>(below(range, words[half], words[half + 1])));
            }
          });
    };
  });
}

KernelFn make_uniform(const KernelSpec& spec) {
  if (is_integer(spec.output(0).dtype)) return uniform_integers(spec);
  const auto low = spec.attr<float>("minval"), range = spec.attr<float>("maxval") - low;
  return four_at_a_time(spec, [=](const PhiloxStream& stream, std::uint64_t i) -> std::array<float, 4> {
    const Words words = stream.block(i / 4);
    std::array<float, 4> values;
    for (std::size_t j = 0; j < 4; ++j) values[j] = low + range * to_unit_float(words[j]);
    return values;
  });
}

KernelFn make_normal(const KernelSpec& spec) {
  const auto mean = spec.attr<float>("mean"), stddev = spec.attr<float>("stddev");
  return four_at_a_time(spec, [=](const PhiloxStream& stream, std::uint64_t i) {
    std::array<float, 4> values = normals(stream.block(i / 4));
    for (float& value : values) value = mean + stddev * value;
    return values;
  });
}

KernelFn make_truncated_normal(const KernelSpec& spec) {
  const auto mean = spec.attr<float>("mean"), stddev = spec.attr<float>("stddev");
  return four_at_a_time(spec, [=](const PhiloxStream& stream, std::uint64_t i) {
    std::array<float, 4> values = normals(stream.block(i / 4));
    // What lies too far out is replaced from blocks that no other element reads.
    for (std::uint64_t attempt = 1; attempt < 64; ++attempt) {
      if (std::all_of(values.begin(), values.end(), [](float z) { return std::fabs(z) <= 2.0f; })) break;
      const std::array<float, 4> more = normals(stream.block(i / 4 + (attempt << 40)));
      for (std::size_t j = 0; j < 4; ++j) {
        if (std::fabs(values[j]) > 2.0f) values[j] = more[j];
      }
    }
    for (float& value : values) value = mean + stddev * std::clamp(value, -2.0f, 2.0f);
    return values;
  });
}

KernelFn make_bernoulli(const KernelSpec& spec) {
  const auto probability = spec.attr<float>("probability");
  return four_at_a_time(spec, [=](const PhiloxStream& stream, std::uint64_t i) -> std::array<float, 4> {
    const Words words = stream.block(i / 4);
    std::array<float, 4> values;
    for (std::size_t j = 0; j < 4; ++j) values[j] = to_unit_float(words[j]) < probability ? 1.0f : 0.0f;
    return values;
  });
}

// The value, or zero, without a branch: it would be guessed wrong for every other element.
template <class T>
T kept_or_zero(T value, bool kept) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(value) & (Bits{0} - Bits{kept})));
}

KernelFn make_dropout(const KernelSpec& spec) {
  const Rows rows(spec.output(0).shape);
  const double rate = spec.attr<double>("rate");
  // Words below this drop their element: the comparison of integers is exact and cheap.
  const auto threshold = static_cast<std::uint64_t>(std::llround(rate * 4294967296.0));
  return visit_floating(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    const auto scale =
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(rate < 1 ? 1 / (1 - rate) : 0);
    return [=, seed = seed_of(spec)](const KernelIO& io) {
      const T* x = io.in<T>(0);
      T* y = io.out<T>(0);
      for_each_four(
          rows, *io.random, seed, [=](const PhiloxStream& stream, std::int64_t i, std::int64_t at, int count) {
            const Words words = stream.block(static_cast<std::uint64_t>(i) / 4);
            for (int j = 0; j < count; ++j) {
              y[at + j] =
                  kept_or_zero(static_cast<T>(x[at + j] * scale), words[static_cast<std::size_t>(j)] >= threshold);
            }
          });
    };
  });
}

// Fisher and Yates's shuffle; one stream for the whole permutation.
KernelFn make_permutation(const KernelSpec& spec) {
  return [count = spec.output_size(0), seed = seed_of(spec)](const KernelIO& io) {
    std::int64_t* order = io.out<std::int64_t>(0);
    std::iota(order, order + count, 0);
    const PhiloxStream stream(*io.random, seed, 0);
    for (std::int64_t i = count - 1; i > 0; --i) {
      const Words words = stream.block(static_cast<std::uint64_t>(i));
      std::swap(order[i], order[below(static_cast<std::uint64_t>(i) + 1, words[0], words[1])]);
    }
  };
}

COHORT_KERNEL("RandomUniform", kCPU, make_uniform);
COHORT_KERNEL("RandomUniformLike", kCPU, make_uniform);
COHORT_KERNEL("RandomNormal", kCPU, make_normal);
COHORT_KERNEL("RandomNormalLike", kCPU, make_normal);
COHORT_KERNEL("TruncatedNormal", kCPU, make_truncated_normal);
COHORT_KERNEL("TruncatedNormalLike", kCPU, make_truncated_normal);
COHORT_KERNEL("Bernoulli", kCPU, make_bernoulli);
COHORT_KERNEL("BernoulliLike", kCPU, make_bernoulli);
COHORT_KERNEL("Dropout", kCPU, make_dropout);
COHORT_KERNEL("RandomPermutationLike", kCPU, make_permutation);

}  // namespace
}  // namespace cohort
