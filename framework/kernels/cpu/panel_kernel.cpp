#include "cohort/kernels/cpu/panel_kernel.h"

#include <algorithm>
#include <cstring>

#include "cohort/kernels/cpu/product_panels.h"

namespace cohort {
namespace {

using products::interleave, products::Operand, products::pack_panel;

constexpr int kPanelLines = static_cast<int>(PanelKernel::kLines);
constexpr int kPanelColumns = static_cast<int>(PanelKernel::kColumns);
constexpr std::int64_t kPanelLanes = products::Lanes<float>::kCount;

template <int kVectors>
void multiply_rows(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                   std::int64_t offset, bool add) {
  using Tile = products::SumTile<float, kPanelLines, kVectors>;
  Tile tile;
  if (add) {
    tile.load(rows, offset, typename Tile::All{});
  } else {
    tile.clear(typename Tile::All{});
  }
  products::add_products<products::LeftOperand::kPanel>(tile, lines, 1, kPanelLines, columns, kPanelColumns, depth);
  tile.store(rows, offset, typename Tile::All{});
}

// Lines that begin one element after the other, as neighbours of an image with one channel do.
bool side_by_side(const float* const* lines) {
  for (std::int64_t i = 1; i < PanelKernel::kLines; ++i) {
    if (lines[i] != lines[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

void PanelKernel::multiply(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                           std::int64_t offset, bool add) {
  multiply_rows<2>(lines, columns, depth, rows, offset, add);
}

void PanelKernel::multiply_edge(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                                std::int64_t offset, bool add, std::int64_t width) {
  if (width == kPanelLanes) return multiply_rows<1>(lines, columns, depth, rows, offset, add);
  float whole[kLines * kColumns] = {};
  float* whole_rows[kLines];
  for (std::int64_t i = 0; i < kLines; ++i) {
    whole_rows[i] = whole + i * kColumns;
    if (add) std::copy_n(rows[i] + offset, width, whole_rows[i]);
  }
  if (width < kPanelLanes) {
    multiply_rows<1>(lines, columns, depth, whole_rows, 0, add);
  } else {
    multiply_rows<2>(lines, columns, depth, whole_rows, 0, add);
  }
  for (std::int64_t i = 0; i < kLines; ++i) std::copy_n(whole_rows[i], width, rows[i] + offset);
}

void PanelKernel::pack_lines(const float* const* from, std::int64_t depth, float* to) {
  if (!side_by_side(from)) return interleave<kPanelLines>(from, depth, to);
  for (std::int64_t p = 0; p < depth; ++p) std::memcpy(to + p * kLines, from[0] + p, kLines * sizeof(float));
}

void PanelKernel::pack_columns(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                               float* to) {
  pack_panel<kPanelColumns>(Operand<float>{from, pitch, false}, width, depth, to);
}

void PanelKernel::pack_columns_turned(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                                      float* to) {
  pack_panel<kPanelColumns>(Operand<float>{from, pitch, true}, width, depth, to);
}

}  // namespace cohort
