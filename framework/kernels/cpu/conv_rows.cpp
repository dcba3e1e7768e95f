#include "cohort/kernels/cpu/conv_rows.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/conv_panel_tiles.h"

namespace cohort {
namespace {

using products::add_products, products::LeftOperand, products::SumTile;

constexpr std::int64_t kLanes = products::Lanes<float>::kCount;
constexpr std::int64_t kMostLines = kVectorBytes == 64 ? 12 : 1;  // of a tile; elsewhere there are none to speak of
constexpr std::int64_t kLeastWidth = 4;                           // outputs of a row that keep a tile busy
constexpr std::int64_t kPageBytes = 4096;        // so far apart, lines would drive each other out of the first cache
constexpr std::int64_t kPanelBytes = 512 << 10;  // of a panel of the kernel: half of a second cache
constexpr std::int64_t kBlockPixels = 96;        // outputs that share a pass over the kernel

Scratch kernel_memory, begin_memory;

// The parts of the image that outputs of a row read: the taps along it lie side by side, those of other axes make a run
// each, in the kernel's order.
struct Runs {
  explicit Runs(const ConvPlan& plan)
      : taps1(plan.windows[1].taps),
        count(plan.windows[0].taps * taps1),
        length(plan.windows[2].taps * plan.channels),
        width(plan.windows[2].outputs),
        step(plan.windows[2].stride * plan.channels) {}
  // Where the first outputs of some rows read, each its runs; nullptr: nothing but zeros, in the padding.
  void find(const ConvPlan& plan, const float* x, std::int64_t top, std::int64_t bottom, const float** begins) const {
    for (std::int64_t row = top; row < bottom; ++row) {
      const ConvPixel reads(plan, row * width);
      for (std::int64_t run = 0; run < count; ++run) {
        const std::int64_t at = reads.read(run / taps1, run % taps1, 0);
        *begins++ = at < 0 ? nullptr : x + (reads.image * plan.inputs() + at) * plan.channels;
      }
    }
  }
  std::int64_t taps1, count, length;
  std::int64_t width, step;  // outputs of a row, and how far apart they read
};

// Sums of outputs that are neighbours, the first of which is `skip` behind where runs begin: of `count` runs each, in
// the order of the patch.
template <int kLines, int kVectors>
void multiply_outputs(const float* const* begins, std::int64_t count, std::int64_t skip, std::int64_t length,
                      std::int64_t step, const float* panel, float* y, std::int64_t filters) {
  using Tile = SumTile<float, kLines, kVectors>;
  Tile tile;
  Tile::fetch(y, filters, typename Tile::All{});
  tile.clear(typename Tile::All{});
  for (std::int64_t run = 0; run < count; ++run, panel += length * kColumns) {
    if (!begins[run]) continue;
    add_products<LeftOperand::kInMatrix>(tile, begins[run] + skip, step, 1, panel, kColumns, length);
  }
  tile.store(y, filters, typename Tile::All{});
}

// By the number of lines, one vector wide and two.
template <int... i>
constexpr auto tiles_of(std::integer_sequence<int, i...>) {
  using Tile = decltype(&multiply_outputs<1, 1>);
  return std::array<std::array<Tile, 2>, sizeof...(i)>{{{&multiply_outputs<i + 1, 1>, &multiply_outputs<i + 1, 2>}...}};
}
constexpr auto kTiles = tiles_of(std::make_integer_sequence<int, kMostLines>{});

auto tile_of(std::int64_t lines, std::int64_t columns) {
  return kTiles[static_cast<std::size_t>(lines - 1)][columns > kLanes ? 1 : 0];
}

}  // namespace

bool RowConv::suits(const ConvPlan& plan) {
  const ConvWindow& row = plan.windows[2];
  const std::int64_t step_bytes = row.stride * plan.channels * static_cast<std::int64_t>(sizeof(float));
  return kVectorBytes == 64 && plan.groups == 1 && row.dilation == 1 && row.inside() && row.outputs >= kLeastWidth &&
         step_bytes % kPageBytes != 0 && plan.filters % kLanes == 0 &&
         plan.patch() * kColumns * static_cast<std::int64_t>(sizeof(float)) <= kPanelBytes;
}

void RowConv::forward(const ConvPlan& plan, const float* x, const float* kernel, const float* bias,
                      const Epilogue<float>& finish, float* y) {
  const Runs runs(plan);
  if (plan.pixels() == 0) return;
  const std::int64_t patch = plan.patch(), filters = plan.filters, rows = plan.pixels() / runs.width;
  float* packed = kernel_memory.get<float>(patch * panels_of(filters, kColumns) * kColumns);
  pack_kernel(plan, kernel, patch, packed);
  const std::int64_t grain = std::max<std::int64_t>(1, outputs_of_task(plan) / runs.width);
  const std::int64_t block = std::max<std::int64_t>(1, kBlockPixels / runs.width);
  const std::int64_t lines = equal_step(runs.width, kMostLines);
  parallel_for(rows, panels_of(grain, block) * block, [&](std::int64_t first, std::int64_t last) {
    const float** begins = begin_memory.get<const float*>(block * runs.count);
    for (std::int64_t top = first; top < last; top += block) {
      const std::int64_t bottom = std::min(last, top + block);
      runs.find(plan, x, top, bottom, begins);
      for (std::int64_t column = 0; column < filters; column += kColumns) {
        for (std::int64_t row = top; row < bottom; ++row) {
          for (std::int64_t i = 0; i < runs.width; i += lines) {
            const auto multiply = tile_of(std::min(lines, runs.width - i), filters - column);
            multiply(begins + (row - top) * runs.count, runs.count, i * runs.step, runs.length, runs.step,
                     packed + column * patch, y + (row * runs.width + i) * filters + column, filters);
          }
        }
      }
      if (!finish) continue;
      for (std::int64_t i = top * runs.width; i < bottom * runs.width; ++i) finish(y + i * filters, bias, filters);
    }
  });
}

}  // namespace cohort
