#pragma once

#include <cohort/core/timeline.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohort::bench {

// What a device can do at most.
struct DevicePeaks {
  // Operations in a second, by what is multiplied: 16 bits, float32, float64.
  double half = 0, single = 0, twice = 0;
  // Bytes that memory moves in a second.
  double bytes = 0;
};
// An H200. Measured there: 790 TFLOP/s of bfloat16 products and 4.3 TB/s of copies. TensorFloat-32 counts as half the
// former, as on the data sheet, from which 67 TFLOP/s of plain float32 and of float64 come.
DevicePeaks h200_peaks(bool tensor_float_32);

// All kernels of one op on the same types and shapes.
struct KernelRow {
  std::string op = {}, shapes = {};
  double calls = 0;    // of a step
  double seconds = 0;  // of a step, without those of kernels that ran inside of them
  double share = 0;    // of the time of all kernels
  double operations_per_second = 0, bytes_per_second = 0;
  double of_peak = 0;  // the least time the peaks allow, of the time it took; 0 where it is not known
};

// Where the time of `steps` steps went, the longest first: kernels of the thread and of its devices, and copies that
// kernels wait for. What the lane of copies did beside them is left out.
std::vector<KernelRow> kernel_rows(const Timeline& timeline, std::int64_t steps, const DevicePeaks& peaks);
// The first `rows` for people, a line each, with what is left in one more and the sum in the last.
std::string kernel_table(std::span<const KernelRow> all, std::size_t rows);

}  // namespace cohort::bench
