#include "cohort/core/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "cohort/core/kernel.h"
#include "cohort/core/normal_numbers.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/random_rows.h"
#include "cohort/kernels/cpu/visit.h"

namespace cohort {
namespace {

using Words = std::array<std::uint32_t, 4>;
using Numbers = float[4][RandomLanes::kLanes];

// A kernel of numbers that follow from random words: `make(words, values)`, for kLanes groups. `mend(stream, group,
// numbers)` may replace the four of a group.
template <class Make, class Mend>
KernelFn numbers_from(const KernelSpec& spec, Make make, Mend mend) {
  const RandomRows rows(spec.output(0).shape);
  return visit_dtype(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return [rows, seed = random_seed_of(spec), make, mend](const KernelIO& io) {
      T* out = io.out<T>(0);
      for_random_lanes(
          rows, *io.random, seed, [&](std::int64_t first, std::int64_t count, const RandomLanes::Words& words) {
            Numbers values;
            make(words, values);
            mend(*io.random, seed, rows.groups(), first, values);
            for_random_runs(rows, first, count, values, [&](std::int64_t at, const float* run, std::int64_t size) {
              for (std::int64_t i = 0; i < size; ++i) out[at + i] = value_as<T>(run[i]);
            });
          });
    };
  });
}

struct MendNothing {
  void operator()(const RandomState&, std::uint64_t, std::int64_t, std::int64_t, Numbers&) const {}
};

void fill_normals(const RandomLanes::Words& words, Numbers& values) {
  for (int half = 0; half < 4; half += 2) {
    for (int lane = 0; lane < RandomLanes::kLanes; ++lane) {
      const auto pair = normal_numbers::from_words(words[half][lane], words[half + 1][lane]);
      values[half][lane] = pair[0];
      values[half + 1][lane] = pair[1];
    }
  }
}

// A number for each word by itself.
template <class Value>
auto for_each_word(Value value) {
  return [value](const RandomLanes::Words& words, Numbers& values) {
    for (int i = 0; i < 4; ++i) {
      for (int lane = 0; lane < RandomLanes::kLanes; ++lane) values[i][lane] = value(words[i][lane]);
    }
  };
}

// An integer below `range`, from 64 random bits.
std::uint64_t below(std::uint64_t range, std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(bits) * range >> 64);
}

KernelFn uniform_integers(const KernelSpec& spec) {
  const RandomRows rows(spec.output(0).shape);
  const auto first = static_cast<std::int64_t>(spec.attr<double>("minval"));
  const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(spec.attr<double>("maxval")) - first);
  return visit_index(spec.output(0).dtype, [&]<class T>(T) -> KernelFn {
    return [=, seed = random_seed_of(spec)](const KernelIO& io) {
      T* out = io.out<T>(0);
      const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, rows.size));
      parallel_for(rows.count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const PhiloxStream stream(*io.random, seed, static_cast<std::uint64_t>(row));
          for (std::int64_t i = 0; i < rows.size; ++i) {  // two elements of 64 bits a block
            const Words words = stream.block(static_cast<std::uint64_t>(i) / 2);
            const std::size_t half = static_cast<std::size_t>(i) % 2 * 2;
            out[row * rows.size + i] =
                static_cast<T>(first + static_cast<std::int64_t>(below(range, words[half], words[half + 1])));
          }
        }
      });
    };
  });
}

KernelFn make_uniform(const KernelSpec& spec) {
  if (is_integer(spec.output(0).dtype)) return uniform_integers(spec);
  const auto low = spec.attr<float>("minval"), range = spec.attr<float>("maxval") - low;
  return numbers_from(spec, for_each_word([=](std::uint32_t word) { return low + range * to_unit_float(word); }),
                      MendNothing());
}

KernelFn make_normal(const KernelSpec& spec) {
  const auto mean = spec.attr<float>("mean"), stddev = spec.attr<float>("stddev");
  const auto make = [=](const RandomLanes::Words& words, Numbers& values) {
    fill_normals(words, values);
    for (auto& lanes : values) {
      for (float& value : lanes) value = mean + stddev * value;
    }
  };
  return numbers_from(spec, make, MendNothing());
}

// What lies too far out is replaced from blocks that no other element reads.
void mend_far_ones(const PhiloxStream& stream, std::uint64_t group, int lane, Numbers& values) {
  for (std::uint64_t attempt = 1; attempt < 64; ++attempt) {
    const Words words = stream.block(group + (attempt << 40));
    bool all_near = true;
    for (int i = 0; i < 4; ++i) {
      const auto half = static_cast<std::size_t>(i / 2 * 2);
      if (std::fabs(values[i][lane]) > 2.0f) values[i][lane] = to_normal(words[half], words[half + 1])[i % 2];
      all_near &= std::fabs(values[i][lane]) <= 2.0f;
    }
    if (all_near) return;
  }
}

KernelFn make_truncated_normal(const KernelSpec& spec) {
  const auto mean = spec.attr<float>("mean"), stddev = spec.attr<float>("stddev");
  const auto mend = [=](const RandomState& state, std::uint64_t seed, std::int64_t groups, std::int64_t first,
                        Numbers& values) {
    for (int lane = 0; lane < RandomLanes::kLanes; ++lane) {
      const auto is_far = [&](const auto& lanes) { return std::fabs(lanes[lane]) > 2.0f; };
      if (std::none_of(std::begin(values), std::end(values), is_far)) continue;
      const PhiloxStream stream(state, seed, static_cast<std::uint64_t>((first + lane) / groups));
      mend_far_ones(stream, static_cast<std::uint64_t>((first + lane) % groups), lane, values);
    }
    for (auto& lanes : values) {
      for (float& value : lanes) value = mean + stddev * std::clamp(value, -2.0f, 2.0f);
    }
  };
  return numbers_from(spec, fill_normals, mend);
}

KernelFn make_bernoulli(const KernelSpec& spec) {
  const auto probability = spec.attr<float>("probability");
  const auto value = [=](std::uint32_t word) { return to_unit_float(word) < probability ? 1.0f : 0.0f; };
  return numbers_from(spec, for_each_word(value), MendNothing());
}

// Fisher and Yates's shuffle; one stream for the whole permutation.
KernelFn make_permutation(const KernelSpec& spec) {
  return [count = spec.output_size(0), seed = random_seed_of(spec)](const KernelIO& io) {
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
COHORT_KERNEL("RandomPermutationLike", kCPU, make_permutation);

}  // namespace
}  // namespace cohort
