#include "benchmarks/kernel_table.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace cohort::bench {
namespace {

using Span = Timeline::Span;

double seconds_between(Timeline::Clock::time_point begin, Timeline::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// A kernel and its time, less that of kernels inside of it.
struct OwnTime {
  const Span* span;
  double seconds;
};

std::vector<OwnTime> own_times(const Timeline& timeline) {
  std::vector<OwnTime> found;
  for (const Span& span : timeline.spans()) {
    const bool takes_turn = span.category == "kernel" || span.category == "copy";
    if (takes_turn && span.work) found.push_back({&span, seconds_between(span.begin, span.end)});
  }
  // Whatever is inside follows what it is in.
  std::stable_sort(found.begin(), found.end(), [](const OwnTime& a, const OwnTime& b) {
    return a.span->begin != b.span->begin ? a.span->begin < b.span->begin : a.span->end > b.span->end;
  });
  std::vector<std::size_t> around;
  for (std::size_t i = 0; i < found.size(); ++i) {
    while (!around.empty() && found[around.back()].span->end <= found[i].span->begin) around.pop_back();
    if (!around.empty()) found[around.back()].seconds -= seconds_between(found[i].span->begin, found[i].span->end);
    around.push_back(i);
  }
  return found;
}

struct Sum {
  std::int64_t calls = 0;
  double seconds = 0, operations = 0, bytes = 0;
  DType operands = DType::Float32;
};

double peak_operations(const DevicePeaks& peaks, DType operands) {
  if (operands == DType::Float64) return peaks.twice;
  return operands == DType::BFloat16 || operands == DType::Float16 ? peaks.half : peaks.single;
}

double least_seconds(const Sum& sum, const DevicePeaks& peaks) {
  const double operations = peak_operations(peaks, sum.operands);
  return std::max(operations > 0 ? sum.operations / operations : 0.0, peaks.bytes > 0 ? sum.bytes / peaks.bytes : 0.0);
}

// "12.3 TFLOP/s", or the rate of memory where arithmetic is not counted.
std::string rate_text(const KernelRow& row) {
  char text[48] = "";
  if (row.operations_per_second >= 1e12) {
    std::snprintf(text, sizeof text, "%.1f TFLOP/s", row.operations_per_second * 1e-12);
  } else if (row.operations_per_second > 0) {
    std::snprintf(text, sizeof text, "%.1f GFLOP/s", row.operations_per_second * 1e-9);
  } else if (row.bytes_per_second > 0) {
    std::snprintf(text, sizeof text, "%.0f GB/s", row.bytes_per_second * 1e-9);
  }
  return text;
}

std::string row_text(const KernelRow& row) {
  char numbers[96], peak[16] = "";
  if (row.of_peak > 0) std::snprintf(peak, sizeof peak, "%.0f %%", 100 * row.of_peak);
  std::snprintf(numbers, sizeof numbers, "%6.1f %% %10.4f %8.1f %16s %8s  ", 100 * row.share, 1e3 * row.seconds,
                row.calls, rate_text(row).c_str(), peak);
  return numbers + row.op + (row.shapes.empty() ? "" : "  ") + row.shapes + "\n";
}

// Their sum, under a name.
KernelRow sum_of(std::span<const KernelRow> rows, const std::string& name) {
  KernelRow sum{.op = name};
  for (const KernelRow& row : rows) {
    sum.share += row.share;
    sum.seconds += row.seconds;
    sum.calls += row.calls;
  }
  return sum;
}

}  // namespace

DevicePeaks h200_peaks(bool tensor_float_32) {
  return {.half = 790e12, .single = tensor_float_32 ? 395e12 : 67e12, .twice = 67e12, .bytes = 4.3e12};
}

std::vector<KernelRow> kernel_rows(const Timeline& timeline, std::int64_t steps, const DevicePeaks& peaks) {
  std::map<std::pair<std::string, std::string>, Sum> sums;
  double all_seconds = 0;
  auto add = [&](const Timeline& of) {
    for (const auto& [span, seconds] : own_times(of)) {
      const KernelWork& work = *span->work;
      Sum& sum = sums[{work.op, work.shapes}];
      ++sum.calls;
      sum.seconds += seconds;
      sum.operations += work.operations;
      sum.bytes += work.bytes;
      sum.operands = work.operands;
      all_seconds += seconds;
    }
  };
  add(timeline);
  for (const TimelineTrack& lane : timeline.lanes()) {
    if (!lane.thread.ends_with(" copies")) add(lane.timeline);
  }
  std::vector<KernelRow> rows;
  const auto count = static_cast<double>(std::max<std::int64_t>(steps, 1));
  for (const auto& [what, sum] : sums) {
    KernelRow row{.op = what.first,
                  .shapes = what.second,
                  .calls = static_cast<double>(sum.calls) / count,
                  .seconds = sum.seconds / count};
    if (sum.seconds > 0) {
      row.share = sum.seconds / all_seconds;
      row.operations_per_second = sum.operations / sum.seconds;
      row.bytes_per_second = sum.bytes / sum.seconds;
      row.of_peak = least_seconds(sum, peaks) / sum.seconds;
    }
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.seconds > b.seconds; });
  return rows;
}

std::string kernel_table(std::span<const KernelRow> all, std::size_t rows) {
  char head[96];
  std::snprintf(head, sizeof head, "%8s %10s %8s %16s %8s  ", "share", "ms/step", "calls", "rate", "of peak");
  std::string text = std::string(head) + "kernels\n";
  const std::size_t shown = std::min(rows, all.size());
  for (const KernelRow& row : all.first(shown)) text += row_text(row);
  if (shown < all.size()) text += row_text(sum_of(all.subspan(shown), "all others"));
  return text + row_text(sum_of(all, "sum"));
}

}  // namespace cohort::bench
