#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/conv_panel_tiles.h"
#include "cohort/kernels/cpu/conv_panels.h"
#include "cohort/kernels/cpu/conv_rows.h"

namespace cohort {
namespace {

constexpr std::int64_t kPanels = 96 / kLines, kBlock = kPanels * kLines;  // outputs that share a pass over the kernel

Scratch kernel_memory, panel_memory, read_memory, spare_memory;

// Lines of outputs, each what it reads of a group's patch from `first` on, `depth` elements long.
void pack_patches(const ConvPlan& plan, const PatchRuns& runs, const float* channels, const ConvReads* reads,
                  std::int64_t count, std::int64_t first, std::int64_t depth, float* panels) {
  const PatchRuns::Place begin = runs.at(first);
  for (std::int64_t line = 0; line < count; line += kLines) {
    PatchRuns::Place place = begin;
    for (std::int64_t left = depth; left > 0; place.next()) {
      const std::int64_t size = std::min(place.rest(), left);
      const float* lines[kLines];
      for (std::int64_t i = 0; i < kLines; ++i) {
        lines[i] = kZeros;
        if (line + i >= count) continue;
        const ConvReads& pixel = reads[line + i];
        const std::int64_t at = pixel.read(place.taps());
        if (at >= 0) lines[i] = channels + (pixel.image * plan.inputs() + at) * plan.channels + place.skip();
      }
      PanelKernel::pack_lines(lines, size, panels);
      panels += size * kLines;
      left -= size;
    }
  }
}

}  // namespace

void PanelConv::forward(const ConvPlan& plan, const float* x, const float* kernel, const float* bias,
                        const Epilogue<float>& finish, float* y) {
  if (RowConv::suits(plan)) return RowConv::forward(plan, x, kernel, bias, finish, y);
  const PatchRuns runs(plan);
  const std::int64_t patch = plan.patch(), width = plan.group_filters(), step = equal_step(patch, kDepth);
  const std::int64_t packed_width = panels_of(width, kColumns) * kColumns;
  float* packed = kernel_memory.get<float>(plan.groups * patch * packed_width);
  pack_kernel(plan, kernel, step, packed);
  parallel_for(plan.pixels(), panels_of(outputs_of_task(plan), kBlock) * kBlock,
               [&](std::int64_t task_begin, std::int64_t task_end) {
                 float* panels = panel_memory.get<float>(kBlock * step);
                 float* spare = spare_memory.get<float>(packed_width);
                 ConvReads* reads = read_memory.get<ConvReads>(kBlock);
                 float* rows[kBlock];
                 ConvPixel pixel(plan, task_begin);
                 for (std::int64_t begin = task_begin; begin < task_end; begin += kBlock) {
                   const std::int64_t count = std::min(kBlock, task_end - begin);
                   for (std::int64_t i = 0; i < count; ++i, pixel.next()) reads[i] = pixel;
                   for (std::int64_t group = 0; group < plan.groups; ++group) {
                     for (std::int64_t i = 0; i < kBlock; ++i) {
                       rows[i] = i < count ? y + (begin + i) * plan.filters + group * width : spare;
                     }
                     for (std::int64_t k = 0; k < patch; k += step) {
                       const std::int64_t depth = std::min(step, patch - k);
                       pack_patches(plan, runs, x + group * plan.group_channels(), reads, count, k, depth, panels);
                       const float* part = packed + (group * patch + k) * packed_width;
                       for (std::int64_t column = 0; column < width; column += kColumns) {
                         for (std::int64_t line = 0; line < count; line += kLines) {
                           multiply_tile(panels + line * depth, part + column * depth, depth, rows + line, column,
                                         k > 0, std::min(kColumns, width - column));
                         }
                       }
                     }
                   }
                   if (!finish) continue;
                   for (std::int64_t i = 0; i < count; ++i) finish(y + (begin + i) * plan.filters, bias, plan.filters);
                 }
               });
}

}  // namespace cohort
