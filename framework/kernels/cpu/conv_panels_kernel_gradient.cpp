#include <array>
#include <cstring>
#include <utility>

#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/conv_panel_tiles.h"
#include "cohort/kernels/cpu/conv_panels.h"

namespace cohort {
namespace {

constexpr std::int64_t kBlock = 192;              // outputs that are summed over at once
constexpr std::int64_t kPatchPart = 42 * kLines;  // of the patch: with a block's outputs 387 KiB, in L2
static_assert(kPatchPart <= kZerosCount);
constexpr std::int64_t kTasks = 32;           // wanted; the batch is cut where the patch gives fewer
constexpr std::int64_t kAdded = 1 << 10;      // sums of all cuts that are worth a task
constexpr std::int64_t kSumsLimit = 1 << 21;  // floats that the sums of all cuts may take

Scratch line_memory, column_memory, read_memory, spare_memory, sum_memory;

// How the work is shared out: by parts of the patch, by groups, and by chunks of the batch summed apart.
struct Cut {
  explicit Cut(const ConvPlan& plan) {
    part = equal_step(panels_of(plan.patch(), kLines), kPatchPart / kLines) * kLines;
    parts = panels_of(plan.patch(), part);
    const std::int64_t room = kSumsLimit / std::max<std::int64_t>(1, plan.patch() * plan.filters);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(kTasks / (parts * plan.groups), 1, std::max<std::int64_t>(1, room));
    chunk = std::max(kBlock, panels_of(plan.pixels(), wanted));
    chunks = panels_of(plan.pixels(), chunk);
  }
  std::int64_t part, parts, chunk, chunks;
};

// Neighbouring lines of a panel: a column of it for each source, from its element `skip` on.
template <std::size_t kSize>
void copy_lines(const float* const* sources, std::int64_t count, std::int64_t skip, float* panel) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(panel + i * kLines, sources[i] + skip, kSize * sizeof(float));
}
template <std::size_t... kSizes>
constexpr auto copies_of(std::index_sequence<kSizes...>) {
  return std::array{&copy_lines<kSizes>...};
}
// By the number of lines: each is a copy of fixed size.
constexpr auto kCopyLines = copies_of(std::make_index_sequence<kLines + 1>());

// Lines of the patch from `first` to `last`: what all outputs of a block read there.
void pack_patches(const ConvPlan& plan, const PatchRuns& runs, const float* channels, const ConvReads* reads,
                  std::int64_t count, std::int64_t first, std::int64_t last, float* panels) {
  const float* sources[kBlock];
  PatchRuns::Place place = runs.at(first);
  for (std::int64_t k = first; k < last; place.next()) {
    const std::int64_t size = std::min(place.rest(), last - k);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = reads[i].read(place.taps());
      sources[i] = at < 0 ? kZeros : channels + (reads[i].image * plan.inputs() + at) * plan.channels + place.skip();
    }
    for (std::int64_t done = 0; done < size;) {
      const std::int64_t line = k - first + done, lane = line % kLines, copied = std::min(kLines - lane, size - done);
      kCopyLines[static_cast<std::size_t>(copied)](sources, count, done, panels + (line - lane) * count + lane);
      done += copied;
    }
    k += size;
  }
}

}  // namespace

void PanelConv::kernel_gradient(const ConvPlan& plan, const float* x, const float* dy, float* dkernel) {
  const PatchRuns runs(plan);
  const Cut cut(plan);
  const std::int64_t patch = plan.patch(), filters = plan.filters, width = plan.group_filters();
  const std::int64_t packed_width = panels_of(width, kColumns) * kColumns, size = patch * filters;
  if (plan.pixels() == 0) return (void)std::fill_n(dkernel, size, 0.0f);
  float* sums = cut.chunks == 1 ? dkernel : sum_memory.get<float>(cut.chunks * size);
  parallel_for(cut.chunks * plan.groups * cut.parts, 1, [&](std::int64_t first_task, std::int64_t last_task) {
    float* lines = line_memory.get<float>(cut.part * kBlock);
    float* columns = column_memory.get<float>(packed_width * kBlock);
    float* spare = spare_memory.get<float>(packed_width);
    ConvReads* reads = read_memory.get<ConvReads>(kBlock);
    for (std::int64_t task = first_task; task < last_task; ++task) {
      const std::int64_t part = task % cut.parts * cut.part, part_end = std::min(patch, part + cut.part);
      const std::int64_t group = task / cut.parts % plan.groups, chunk = task / cut.parts / plan.groups;
      const std::int64_t chunk_begin = chunk * cut.chunk, chunk_end = std::min(plan.pixels(), chunk_begin + cut.chunk);
      const std::int64_t block = equal_step(chunk_end - chunk_begin, kBlock);
      ConvPixel pixel(plan, chunk_begin);
      for (std::int64_t begin = chunk_begin; begin < chunk_end; begin += block) {
        const std::int64_t count = std::min(block, chunk_end - begin);
        for (std::int64_t i = 0; i < count; ++i, pixel.next()) reads[i] = pixel;
        pack_patches(plan, runs, x + group * plan.group_channels(), reads, count, part, part_end, lines);
        for (std::int64_t column = 0; column < width; column += kColumns) {
          PanelKernel::pack_columns(dy + begin * filters + group * width + column, filters,
                                    std::min(kColumns, width - column), count, columns + column * count);
        }
        for (std::int64_t line = 0; line < part_end - part; line += kLines) {
          float* rows[kLines];
          for (std::int64_t i = 0; i < kLines; ++i) {
            const std::int64_t k = part + line + i;
            rows[i] = k < part_end ? sums + chunk * size + k * filters + group * width : spare;
          }
          for (std::int64_t column = 0; column < width; column += kColumns) {
            multiply_tile(lines + line * count, columns + column * count, count, rows, column, begin > chunk_begin,
                          std::min(kColumns, width - column));
          }
        }
      }
    }
  });
  if (cut.chunks == 1) return;
  parallel_for(size, kAdded, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) dkernel[i] = sums[i];
    for (std::int64_t chunk = 1; chunk < cut.chunks; ++chunk) {
      const float* from = sums + chunk * size;
      for (std::int64_t i = begin; i < end; ++i) dkernel[i] += from[i];
    }
  });
}

}  // namespace cohort
