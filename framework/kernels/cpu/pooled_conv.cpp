#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/byte_lanes.h"
#include "cohort/kernels/cpu/conv_panel_tiles.h"
#include "cohort/kernels/functors.h"

namespace cohort {
namespace {

using kernels::ByteLanes, products::load_vector, products::store_vector, products::SumTile;

using Floats = products::Lanes<float>::Vector;
using Integers = ByteLanes::Integers;

constexpr std::int64_t kPoolSide = 2, kPoolPixels = kPoolSide * kPoolSide;  // of a window of the pooling
constexpr std::uint8_t kNoPixel = kPoolPixels;                              // is chosen where the relu is zero
constexpr std::int64_t kFilterLanes = products::Lanes<float>::kCount;
constexpr int kSums = products::kTileRows * products::kTileVectors;  // registers for sums
constexpr int kMostVectors = kSums >= 24 ? 2 : 1;                    // that neighbouring filters fill
constexpr std::int64_t kMostTaps = 32;                               // of a kernel, along one axis
constexpr std::int64_t kMostElements = 32;                           // of what an output is a sum over
constexpr std::int64_t kPooledChunks = 32;  // whose gradients are summed apart, unless there are enough filters

Scratch pooled_kernel, pooled_lines, pooled_sums;

// A convolution whose outputs are pooled, two lines and two columns at a time.
struct PooledConv {
  explicit PooledConv(const ConvPlan& plan)
      : plan(plan),
        height(plan.windows[1].outputs / kPoolSide),
        width(plan.windows[2].outputs / kPoolSide),
        taps(plan.windows[1].taps),
        run(plan.windows[2].taps * plan.channels) {}
  std::int64_t lines() const { return plan.batch * height; }
  std::int64_t filters() const { return plan.filters; }

  ConvPlan plan;
  std::int64_t height, width;  // of what comes out
  std::int64_t taps, run;      // lines that an output reads, and how much of each
};

// The lines of an image that a line of windows reads: those of the image, or where the padding is read copies.
class ImageLines {
 public:
  explicit ImageLines(const PooledConv& conv)
      : conv_(conv),
        before_(conv.plan.windows[2].before * conv.plan.channels),
        copies_(!conv.plan.windows[2].inside()) {
    const ConvPlan& plan = conv.plan;
    length_ = plan.windows[2].inputs * plan.channels;
    pitch_ = std::max(length_, (plan.windows[2].outputs - 1) * plan.channels + conv.run);
    memory_ = pooled_lines.get<float>((copies_ ? conv.taps + 2 : 1) * pitch_);
    std::fill_n(memory_, (copies_ ? conv.taps + 2 : 1) * pitch_, 0.0f);
  }

  // Of line `line` of the windows of a batch. One more than the kernel has: the upper pixels of a window read all but
  // the last, the lower ones all but the first.
  const float* const* at(const float* x, std::int64_t line) {
    const ConvWindow& rows = conv_.plan.windows[1];
    const float* image = x + line / conv_.height * rows.inputs * length_;
    const std::int64_t top = line % conv_.height * kPoolSide - rows.before;
    for (std::int64_t i = 0; i <= conv_.taps; ++i) {
      const std::int64_t row = top + i;
      const float* from = row < 0 || row >= rows.inputs ? nullptr : image + row * length_;
      float* copy = memory_ + (i + 1) * pitch_;
      if (from && copies_) std::copy_n(from, length_, copy + before_);
      lines_[static_cast<std::size_t>(i)] = !from ? memory_ : copies_ ? copy : from;
    }
    return lines_.data();
  }

 private:
  const PooledConv& conv_;
  std::int64_t before_;
  bool copies_;
  std::int64_t length_, pitch_;
  float* memory_;  // a line of zeros, then the copies
  std::array<const float*, kMostTaps + 1> lines_;
};

// The largest of a window's pixels, after bias and relu, and which one it is; no pixel where the relu holds it back.
struct LargestPixel {
  Floats value;
  Integers chosen;

  template <int kStep>
  [[gnu::always_inline]] LargestPixel(const Floats* sums, std::int64_t below, Floats bias,
                                      std::integral_constant<int, kStep>) {
    const Floats zero{};
    for (int p = 0; p < kPoolPixels; ++p) {
      const Floats sum = sums[(p / kPoolSide) * below + p % kPoolSide * kStep] + bias;
      const Floats y = (sum > zero) | (sum != sum) ? sum : zero;  // as fn::Relu has it
      const Integers larger = p == 0 ? Integers{} - 1 : value < y;
      value = larger ? y : value;
      chosen = larger ? Integers{} + p : chosen;
    }
    chosen = value > zero ? chosen : Integers{} + kNoPixel;
  }
};

// Windows that are neighbours, `skip` behind where lines begin, and as many filters as kVectors hold, of which the
// first `filters` are there. Sums go along the kernel's elements in their order, as those of other convolutions do.
template <int kWindows, int kVectors>
void pool_windows(const PooledConv& conv, const float* const* lines, std::int64_t skip, const float* panel,
                  const float* bias, float* y, std::uint8_t* chosen, std::int64_t filters) {
  constexpr int kPixels = kWindows * static_cast<int>(kPoolSide);  // of a line
  using Tile = SumTile<float, 2 * kPixels, kVectors>;
  Tile tile;
  tile.clear(typename Tile::All{});
  const std::int64_t step = conv.plan.channels, run = conv.run;
  for (std::int64_t tap = 0; tap < conv.taps; ++tap) {
    const float *upper = lines[tap] + skip, *lower = lines[tap + 1] + skip;
    for (std::int64_t e = 0; e < run; ++e, ++upper, ++lower, panel += kColumns) {
      Floats columns[kVectors];
      tile.load_columns(panel, columns, typename Tile::Vectors{});
      const auto add = [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
        (tile.template add_row<i>(i < kPixels ? upper[i * step] : lower[(i - kPixels) * step], columns,
                                  typename Tile::Vectors{}),
         ...);
      };
      add(typename Tile::Rows{});
    }
  }
  const auto finish = [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    const auto one = [&]<int kAt>(std::integral_constant<int, kAt>) __attribute__((always_inline)) {
      constexpr int kWindow = kAt / kVectors, kVector = kAt % kVectors;
      const LargestPixel largest(tile.sums + kWindow * kPoolSide * kVectors + kVector, kPixels * kVectors,
                                 load_vector<Floats>(bias + kVector * kFilterLanes),
                                 std::integral_constant<int, kVectors>{});
      float* value = y + kWindow * conv.filters() + kVector * kFilterLanes;
      std::uint8_t* pixel = chosen + kWindow * conv.filters() + kVector * kFilterLanes;
      if (filters >= kVectors * kFilterLanes) {
        store_vector(largest.value, value);
        ByteLanes::store(largest.chosen, pixel);
        return;
      }
      float values[kFilterLanes];
      std::uint8_t pixels[kFilterLanes];
      store_vector(largest.value, values);
      ByteLanes::store(largest.chosen, pixels);
      const std::int64_t count = std::clamp<std::int64_t>(filters - kVector * kFilterLanes, 0, kFilterLanes);
      std::copy_n(values, count, value);
      std::copy_n(pixels, count, pixel);
    };
    (one(std::integral_constant<int, i>{}), ...);
  };
  finish(std::make_integer_sequence<int, kWindows * kVectors>{});
}

// Adds what a line of windows says of the gradient of some elements of the kernel: where these lie for the upper and
// the lower pixels, and the sums so far, kColumns apart. That of the bias, too, where there is a place for it.
template <int kElements, int kVectors>
void add_gradients(const PooledConv& conv, const float* const* elements, const float* dy, const std::uint8_t* chosen,
                   std::int64_t filters, float* sums, float* bias_sums) {
  constexpr std::int64_t kWidth = kVectors * kFilterLanes;
  using Tile = SumTile<float, kElements, kVectors>;
  Tile tile;
  tile.load(sums, kColumns, typename Tile::All{});
  Floats bias[kVectors] = {};
  const std::int64_t step = conv.plan.channels;
  for (std::int64_t half = 0; half < kPoolSide; ++half) {
    const float* const* begins = elements + half * kElements;
    for (std::int64_t w = 0; w < conv.width; ++w) {
      const float* flow_at = dy + w * conv.filters();
      const std::uint8_t* chosen_at = chosen + w * conv.filters();
      float flow_part[kWidth] = {};
      std::uint8_t chosen_part[kWidth] = {};
      if (filters < kWidth) {  // what lies beyond is not there to be read
        std::copy_n(flow_at, filters, flow_part);
        std::copy_n(chosen_at, filters, chosen_part);
        flow_at = flow_part, chosen_at = chosen_part;
      }
      Floats flow[kVectors];
      Integers pixel[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        flow[v] = load_vector<Floats>(flow_at + v * kFilterLanes);
        pixel[v] = ByteLanes::load(chosen_at + v * kFilterLanes) - static_cast<std::int32_t>(half * kPoolSide);
      }
      for (std::int64_t p = 0; p < kPoolSide; ++p) {
        Floats here[kVectors];
        for (int v = 0; v < kVectors; ++v) here[v] = pixel[v] == static_cast<std::int32_t>(p) ? flow[v] : Floats{};
        for (int v = 0; v < kVectors; ++v) bias[v] += here[v];
        const std::int64_t at = (w * kPoolSide + p) * step;
        const auto add = [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
          (tile.template add_row<i>(begins[i][at], here, typename Tile::Vectors{}), ...);
        };
        add(typename Tile::Rows{});
      }
    }
  }
  tile.store(sums, kColumns, typename Tile::All{});
  for (int v = 0; v < kVectors && bias_sums; ++v) {
    store_vector(load_vector<Floats>(bias_sums + v * kFilterLanes) + bias[v], bias_sums + v * kFilterLanes);
  }
}

// By their number, one vector wide and two.
constexpr int kMostWindows = std::max(1, kSums / (kMostVectors * static_cast<int>(kPoolPixels)));
constexpr int kMostAtOnce = kSums / kMostVectors - 1;
template <int... i>
constexpr auto forward_tiles(std::integer_sequence<int, i...>) {
  using Tile = decltype(&pool_windows<1, 1>);
  return std::array<std::array<Tile, 2>, sizeof...(i)>{
      {{{&pool_windows<i + 1, 1>, &pool_windows<i + 1, kMostVectors>}}...}};
}
template <int... i>
constexpr auto gradient_tiles(std::integer_sequence<int, i...>) {
  using Tile = decltype(&add_gradients<1, 1>);
  return std::array<std::array<Tile, 2>, sizeof...(i)>{
      {{{&add_gradients<i + 1, 1>, &add_gradients<i + 1, kMostVectors>}}...}};
}
constexpr auto kForwardTiles = forward_tiles(std::make_integer_sequence<int, kMostWindows>{});
constexpr auto kGradientTiles = gradient_tiles(std::make_integer_sequence<int, kMostAtOnce>{});

template <class Tiles>
auto pooled_tile(const Tiles& tiles, std::int64_t count, std::int64_t filters) {
  return tiles[static_cast<std::size_t>(count - 1)][filters > kFilterLanes ? 1 : 0];
}

// Filters of a tile.
constexpr std::int64_t kTileFilters = kMostVectors * kFilterLanes;
static_assert(kColumns % kTileFilters == 0);

void run_forward(const PooledConv& conv, const float* x, const float* kernel, const float* bias, float* y,
                 std::uint8_t* chosen) {
  const ConvPlan& plan = conv.plan;
  const std::int64_t patch = plan.patch(), filters = plan.filters,
                     packed_filters = panels_of(filters, kColumns) * kColumns;
  if (conv.lines() == 0) return;
  float* packed = pooled_kernel.get<float>(patch * packed_filters + packed_filters);
  float* packed_bias = packed + patch * packed_filters;
  pack_kernel(plan, kernel, patch, packed);
  std::fill(std::copy_n(bias, filters, packed_bias), packed_bias + packed_filters, 0.0f);
  const std::int64_t step = equal_step(conv.width, kMostWindows);
  const std::int64_t grain = outputs_of_task(plan) / (kPoolPixels * conv.width);
  parallel_for(conv.lines(), std::max<std::int64_t>(1, grain), [&](std::int64_t first, std::int64_t last) {
    ImageLines lines(conv);
    for (std::int64_t line = first; line < last; ++line) {
      const float* const* reads = lines.at(x, line);
      for (std::int64_t f = 0; f < filters; f += kTileFilters) {
        const float* panel = packed + f / kColumns * kColumns * patch + f % kColumns;
        for (std::int64_t w = 0; w < conv.width; w += step) {
          const std::int64_t at = (line * conv.width + w) * filters + f;
          pooled_tile(kForwardTiles, std::min(step, conv.width - w), filters - f)(
              conv, reads, w * kPoolSide * plan.channels, panel, packed_bias + f, y + at, chosen + at, filters - f);
        }
      }
    }
  });
}

void run_gradient(const PooledConv& conv, const float* x, const float* dy, const std::uint8_t* chosen, float* dkernel,
                  float* dbias) {
  const std::int64_t patch = conv.plan.patch(), filters = conv.filters(), panels = panels_of(filters, kTileFilters);
  // A chunk's sums of some filters: a row for each element of the kernel, and one for the bias.
  const std::int64_t size = (patch + 1) * kColumns;
  const std::int64_t chunk = panels_of(conv.lines(), panels_of(kPooledChunks, panels));
  const std::int64_t chunks = chunk == 0 ? 0 : panels_of(conv.lines(), chunk), step = equal_step(patch, kMostAtOnce);
  float* sums = pooled_sums.get<float>(chunks * panels * size);
  parallel_for(chunks * panels, 1, [&](std::int64_t begin, std::int64_t end) {
    ImageLines lines(conv);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task / panels * chunk, f = task % panels * kTileFilters;
      float* to = sums + task * size;
      std::fill_n(to, size, 0.0f);
      for (std::int64_t line = first; line < std::min(conv.lines(), first + chunk); ++line) {
        const float* const* reads = lines.at(x, line);
        const std::int64_t at = line * conv.width * filters + f;
        for (std::int64_t e = 0; e < patch; e += step) {
          const std::int64_t count = std::min(step, patch - e);
          const float* elements[kPoolSide * kMostElements];
          for (std::int64_t i = 0; i < kPoolSide * count; ++i) {
            const std::int64_t element = e + i % count;
            elements[i] = reads[element / conv.run + i / count] + element % conv.run;
          }
          pooled_tile(kGradientTiles, count, filters - f)(conv, elements, dy + at, chosen + at, filters - f,
                                                          to + e * kColumns, e == 0 ? to + patch * kColumns : nullptr);
        }
      }
    }
  });
  parallel_for(patch + 1, std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, filters)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t e = begin; e < end; ++e) {
                   float* to = e < patch ? dkernel + e * filters : dbias;
                   std::fill_n(to, filters, 0.0f);
                   for (std::int64_t task = 0; task < chunks * panels; ++task) {
                     const std::int64_t f = task % panels * kTileFilters;
                     const float* from = sums + task * size + e * kColumns;
                     for (std::int64_t i = 0; i < std::min(kTileFilters, filters - f); ++i) to[f + i] += from[i];
                   }
                 }
               });
}

KernelFn make_conv_relu_max_pool(const KernelSpec& spec) {
  return [conv = PooledConv(ConvPlan(spec, spec.input(0).shape, spec.input(1).shape))](const KernelIO& io) {
    run_forward(conv, io.in<float>(0), io.in<float>(1), io.in<float>(2), io.out<float>(0), io.out<std::uint8_t>(1));
  };
}

// (x, dy, chosen, like)
KernelFn make_conv_relu_max_pool_grad(const KernelSpec& spec) {
  return [conv = PooledConv(ConvPlan(spec, spec.input(0).shape, spec.output(0).shape))](const KernelIO& io) {
    run_gradient(conv, io.in<float>(0), io.in<float>(1), io.in<std::uint8_t>(2), io.out<float>(0), io.out<float>(1));
  };
}

COHORT_KERNEL("ConvReluMaxPool", kCPU, make_conv_relu_max_pool);
COHORT_KERNEL("ConvReluMaxPoolGrad", kCPU, make_conv_relu_max_pool_grad);

}  // namespace
}  // namespace cohort
