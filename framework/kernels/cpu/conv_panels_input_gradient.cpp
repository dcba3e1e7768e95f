#include <array>

#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/conv_panel_tiles.h"
#include "cohort/kernels/cpu/conv_panels.h"

namespace cohort {
namespace {

constexpr std::int64_t kPanels = 48 / kLines, kBlock = kPanels * kLines;  // outputs that share a pass over the kernel
constexpr std::int64_t kTaskPixels = 40 * kLines;                         // outputs of a task, if the batch allows
constexpr std::int64_t kTasks = 16;  // the least number of tasks, if the shape allows

Scratch kernel_memory, panel_memory, read_memory, spare_memory;

// The kernel with its columns along the channels: for each group, part of the filters, tap and panel of channels.
class TurnedKernel {
 public:
  TurnedKernel(const ConvPlan& plan, const float* kernel)
      : taps_(plan.taps()),
        filters_(plan.group_filters()),
        step_(equal_step(filters_, kDepth)),
        width_(panels_of(plan.group_channels(), kColumns) * kColumns) {
    packed_ = kernel_memory.get<float>(plan.groups * filters_ * taps_ * width_);
    parallel_for(plan.groups * taps_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pack(plan, kernel, i / taps_, i % taps_);
    });
  }

  // Filters that are summed over at once.
  std::int64_t step() const { return step_; }
  const float* panel(std::int64_t group, std::int64_t filter, std::int64_t tap, std::int64_t channel) const {
    return packed_ + offset(group, filter, tap, channel);
  }

 private:
  std::int64_t offset(std::int64_t group, std::int64_t filter, std::int64_t tap, std::int64_t channel) const {
    const std::int64_t depth = std::min(step_, filters_ - filter);
    return (group * filters_ + filter) * taps_ * width_ + (tap * width_ + channel) * depth;
  }
  void pack(const ConvPlan& plan, const float* kernel, std::int64_t group, std::int64_t tap) {
    const std::int64_t channels = plan.group_channels();
    for (std::int64_t f = 0; f < filters_; f += step_) {
      for (std::int64_t c = 0; c < channels; c += kColumns) {
        PanelKernel::pack_columns_turned(kernel + (tap * channels + c) * plan.filters + group * filters_ + f,
                                         plan.filters, std::min(kColumns, channels - c), std::min(step_, filters_ - f),
                                         packed_ + offset(group, f, tap, c));
      }
    }
  }

  std::int64_t taps_, filters_, step_, width_;
  float* packed_;
};

// Some images of the batch, and some channels of each group: what one task writes.
struct Part {
  std::int64_t first_image, last_image, first_channel, last_channel;
};

void clear(const ConvPlan& plan, const Part& part, float* dx) {
  const std::int64_t channels = plan.group_channels(), count = part.last_channel - part.first_channel;
  const std::int64_t first = part.first_image * plan.inputs(), last = part.last_image * plan.inputs();
  if (count == channels) return (void)std::fill(dx + first * plan.channels, dx + last * plan.channels, 0.0f);
  for (std::int64_t row = first * plan.groups; row < last * plan.groups; ++row) {
    std::fill_n(dx + row * channels + part.first_channel, count, 0.0f);
  }
}

// Adds what each tap of a block of outputs hands back to the pixels it was read from.
void add_part(const ConvPlan& plan, const TurnedKernel& kernel, const Part& part, const float* dy, float* dx) {
  const std::int64_t channels = plan.group_channels(), filters = plan.group_filters();
  float* panels = panel_memory.get<float>(kBlock * kernel.step());
  float* spare = spare_memory.get<float>(panels_of(channels, kColumns) * kColumns);
  std::fill_n(spare, channels, 0.0f);
  ConvReads* reads = read_memory.get<ConvReads>(kBlock);
  const std::int64_t end = part.last_image * plan.outputs();
  ConvPixel pixel(plan, part.first_image * plan.outputs());
  for (std::int64_t begin = part.first_image * plan.outputs(); begin < end; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, end - begin);
    for (std::int64_t i = 0; i < count; ++i, pixel.next()) reads[i] = pixel;
    for (std::int64_t group = 0; group < plan.groups; ++group) {
      for (std::int64_t f = 0; f < filters; f += kernel.step()) {
        const std::int64_t depth = std::min(kernel.step(), filters - f);
        for (std::int64_t line = 0; line < count; line += kLines) {
          const float* lines[kLines];
          for (std::int64_t i = 0; i < kLines; ++i) {
            lines[i] = line + i < count ? dy + (begin + line + i) * plan.filters + group * filters + f : kZeros;
          }
          PanelKernel::pack_lines(lines, depth, panels + line * depth);
        }
        for (std::int64_t tap = 0; tap < plan.taps(); ++tap) {
          const std::int64_t taps2 = plan.windows[2].taps, taps1 = plan.windows[1].taps;
          const std::array at_tap = {tap / taps2 / taps1, tap / taps2 % taps1, tap % taps2};
          float* rows[kBlock];
          bool used[kPanels] = {};
          for (std::int64_t i = 0; i < kBlock; ++i) {
            rows[i] = spare;
            if (i >= count) continue;
            const std::int64_t at = reads[i].read(at_tap);
            if (at < 0) continue;
            rows[i] = dx + (reads[i].image * plan.inputs() + at) * plan.channels + group * channels;
            used[i / kLines] = true;
          }
          for (std::int64_t c = part.first_channel; c < part.last_channel; c += kColumns) {
            const float* columns = kernel.panel(group, f, tap, c);
            for (std::int64_t line = 0; line < count; line += kLines) {
              if (!used[line / kLines]) continue;
              multiply_tile(panels + line * depth, columns, depth, rows + line, c, true,
                            std::min(kColumns, part.last_channel - c));
            }
          }
        }
      }
    }
  }
}

}  // namespace

void PanelConv::input_gradient(const ConvPlan& plan, const float* dy, const float* kernel, float* dx) {
  const TurnedKernel turned(plan, kernel);
  // Images together, so that few panels are partly empty; few images are shared out by channels.
  const std::int64_t wanted = panels_of(kTaskPixels, std::max<std::int64_t>(1, plan.outputs()));
  const std::int64_t together = std::clamp<std::int64_t>(plan.batch / kTasks, 1, wanted);
  const std::int64_t channels = plan.group_channels(), panels = panels_of(channels, kColumns);
  const std::int64_t parts =
      plan.batch >= kTasks / 2 ? 1 : std::min(panels, kTasks / 2 / std::max<std::int64_t>(1, plan.batch));
  const std::int64_t part_channels = panels_of(panels, parts) * kColumns;
  const std::int64_t channel_parts = panels_of(channels, part_channels);
  parallel_for(panels_of(plan.batch, together) * channel_parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t image = task / channel_parts * together, channel = task % channel_parts * part_channels;
      const Part part = {image, std::min(plan.batch, image + together), channel,
                         std::min(channels, channel + part_channels)};
      clear(plan, part, dx);
      add_part(plan, turned, part, dy, dx);
    }
  });
}

}  // namespace cohort
