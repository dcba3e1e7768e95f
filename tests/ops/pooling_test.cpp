#include "cohort/ops/pooling.h"

#include <algorithm>
#include <string>

#include "cohort/core/dispatch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/pool_windows.h"
#include "tests/support/op_check.h"

namespace cohort::test {
namespace {

using namespace ops;
using Sizes = std::vector<std::int64_t>;

// Pools (batch, height, width, channels) by the definition.
std::vector<double> plain_pool(const Tensor& x, const PoolWindows& rows, const PoolWindows& cols, bool maximum) {
  const std::vector<double> values = x.to_vector<double>();
  const Shape& s = x.shape();
  std::vector<double> y;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::size_t r = 0; r < rows.begin.size(); ++r)
      for (std::size_t c = 0; c < cols.begin.size(); ++c)
        for (std::int64_t channel = 0; channel < s[3]; ++channel) {
          std::vector<double> window;
          for (std::int64_t i = rows.begin[r]; i < rows.end[r]; ++i)
            for (std::int64_t j = cols.begin[c]; j < cols.end[c]; ++j)
              window.push_back(values[static_cast<std::size_t>(((n * s[1] + i) * s[2] + j) * s[3] + channel)]);
          double sum = 0;
          for (double value : window) sum += value;
          y.push_back(maximum ? *std::max_element(window.begin(), window.end())
                              : sum / static_cast<double>(window.size()));
        }
  return y;
}

TEST(PoolWindows, leave_padding_out) {
  const PoolWindows same = pool_windows(5, 3, 2, true);
  EXPECT_EQ(same.begin, (Sizes{0, 1, 3}));
  EXPECT_EQ(same.end, (Sizes{2, 4, 5}));
  EXPECT_FALSE(same.disjoint());
  EXPECT_EQ(pool_windows(7, 2, 2, false).outputs(), 3);
  EXPECT_TRUE(pool_windows(7, 2, 3, true).disjoint());
  const PoolWindows adaptive = adaptive_pool_windows(5, 3);
  EXPECT_EQ(adaptive.begin, (Sizes{0, 1, 3}));
  EXPECT_EQ(adaptive.end, (Sizes{2, 4, 5}));
}

struct WindowCase {
  Sizes size, strides;
  const char* padding;
};
const std::vector<WindowCase> kWindowCases = {
    {{2, 2}, {2, 2}, "valid"}, {{3, 2}, {1, 2}, "same"}, {{2, 3}, {3, 1}, "valid"}, {{3, 3}, {2, 2}, "same"}};

void check_both(DType dtype, bool maximum) {
  // More channels than one group holds.
  const Tensor x = spread_tensor({2, 6, 7, 37}, -1, 1, dtype);
  for (const WindowCase& each : kWindowCases) {
    const bool same = std::string(each.padding) == "same";
    const PoolOptions options = {each.strides, each.padding};
    expect_values(maximum ? max_pool(x, each.size, options) : average_pool(x, each.size, options),
                  plain_pool(x, pool_windows(6, each.size[0], each.strides[0], same),
                             pool_windows(7, each.size[1], each.strides[1], same), maximum),
                  tolerance(dtype));
  }
  expect_values(maximum ? adaptive_max_pool(x, {4, 3}) : adaptive_average_pool(x, {4, 3}),
                plain_pool(x, adaptive_pool_windows(6, 4), adaptive_pool_windows(7, 3), maximum), tolerance(dtype));
}

COHORT_OP_REFERENCE(MaxPool, windows_of_images, kFloats) { check_both(dtype, true); }
COHORT_OP_REFERENCE(AveragePool, windows_of_images, kFloats) { check_both(dtype, false); }
TEST(MaxPool, one_and_three_axes) {
  expect_tensor(max_pool(tensor_of({1, 5, 2, 0, 3}, {1, 5, 1}), {2}), float64, {1, 2, 1}, {5, 2});
  expect_tensor(average_pool(tensor_of({1, 5, 2, 0, 3}, {1, 5, 1}), {2}, {.padding = "same"}), float64, {1, 3, 1},
                {3, 1, 3});
  expect_tensor(max_pool(tensor_of({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2, 1}), {2, 1, 2}), float64, {1, 1, 2, 1, 1},
                {6, 8});
}
TEST(MaxPool, windows_of_more_than_256_elements) {
  const Tensor x = spread_tensor({1, 600, 2}, -1, 1);
  const std::vector<double> values = x.to_vector<double>();
  double largest[2] = {-2, -2};
  for (std::size_t i = 0; i < 1200; ++i) largest[i % 2] = std::max(largest[i % 2], values[i]);
  expect_values(max_pool(x, {600}), {largest[0], largest[1]}, 0);
  check_gradient([](const Tensors& each) { return max_pool(each[0], {300}); }, {spread_tensor({1, 300, 1}, -1, 1)});
}
TEST(MaxPool, the_first_of_equal_elements_counts) {
  const Tensors y = run_op_all("MaxPool", {tensor_of({3, 3, 1, 3}, {1, 4, 1})},
                               {{"pool_size", Sizes{2}}, {"strides", Sizes{2}}, {"padding", "valid"}});
  expect_values(y[1], {0, 1}, 0);
}
COHORT_OP_GRADIENT(MaxPool, overlapping_and_apart) {
  for (const WindowCase& each : kWindowCases) {
    check_gradient(
        [&](const Tensors& x) {
          return max_pool(x[0], each.size, {each.strides, each.padding});
        },
        {spread({2, 4, 5, 2})});
  }
  check_gradient([](const Tensors& x) { return adaptive_max_pool(x[0], {3}); }, {spread({2, 5, 2})});
}
// float64 goes channel by channel, float32 and bfloat16 by groups of channels and a rest.
TEST(MaxPool, gradients_of_many_channels_are_those_of_single_ones) {
  for (const WindowCase& each : kWindowCases) {
    const Attributes window = {{"pool_size", each.size}, {"strides", each.strides}, {"padding", each.padding}};
    const auto gradient = [&](DType given, DType dtype) {
      const Tensor x = cast(spread_tensor({2, 6, 7, 37}, -1, 1, given), dtype);
      const Tensors y = run_op_all("MaxPool", {x}, window);
      const Tensor dy = cast(spread_tensor(y[0].shape(), -1, 1, given, 2), dtype);
      return run_op("MaxPoolGrad", {dy, y[1], x}, window).to_vector<double>();
    };
    expect_values(tensor_of(gradient(float32, float32), {2, 6, 7, 37}), gradient(float32, float64), 1e-6);
    expect_values(tensor_of(gradient(bfloat16, bfloat16), {2, 6, 7, 37}), gradient(bfloat16, float64), 1e-2);
  }
}
// As many channels as one access moves, and small windows, some of them two apart, which have kernels of their own.
TEST(MaxPool, small_windows_are_those_of_float64) {
  const std::vector<Sizes> kinds = {{1, 3}, {2, 2}, {2, 3}, {3, 3}, {4, 2}, {5, 1}};
  for (const char* padding : {"valid", "same"}) {
    for (std::int64_t height : {1, 2, 5, 8}) {
      for (std::int64_t width : {3, 4, 9}) {
        for (const Sizes& kind : kinds) {
          for (std::int64_t stride : {1, 2}) {
            const Sizes sizes = {std::min(kind[0], height), kind[1]};
            const Shape seen = {height, width, sizes[0], sizes[1], stride};
            SCOPED_TRACE(padding + seen.to_string());
            const Attributes window = {{"pool_size", sizes}, {"strides", Sizes{stride, stride}}, {"padding", padding}};
            const auto compare = [&](DType narrow, double tolerance) {
              const Tensor x = spread_tensor({3, height, width, 16}, -1, 1, narrow), wide = cast(x, float64);
              const Tensors y = run_op_all("MaxPool", {x}, window), wanted = run_op_all("MaxPool", {wide}, window);
              expect_values(y[0], wanted[0].to_vector<double>(), 0);
              expect_values(y[1], wanted[1].to_vector<double>(), 0);
              const Tensor dy = spread_tensor(y[0].shape(), -1, 1, narrow, 2);
              expect_values(run_op("MaxPoolGrad", {dy, y[1], x}, window),
                            run_op("MaxPoolGrad", {cast(dy, float64), y[1], wide}, window).to_vector<double>(),
                            tolerance);
            };
            compare(float32, 1e-6);
            compare(bfloat16, 4e-2);
          }
        }
      }
    }
  }
}
COHORT_OP_GRADIENT(AveragePool, overlapping_and_apart) {
  for (const WindowCase& each : kWindowCases) {
    check_gradient(
        [&](const Tensors& x) {
          return average_pool(x[0], each.size, {each.strides, each.padding});
        },
        {spread({2, 4, 5, 2})});
  }
  check_gradient([](const Tensors& x) { return adaptive_average_pool(x[0], {2, 2, 3}); }, {spread({1, 3, 2, 4, 2})});
}

const Attributes kPairs = {{"pool_size", Sizes{2}}, {"strides", Sizes{2}}, {"padding", "valid"}};
Tensor places(std::vector<double> values) { return tensor_of(values, {1, 2, 1}, uint8); }
COHORT_OP_REFERENCE(MaxPoolGrad, goes_where_the_index_says, kFloats) {
  const Tensor like = tensor_of({0, 0, 0, 0, 0}, {1, 5, 1}, dtype);
  expect_tensor(run_op("MaxPoolGrad", {tensor_of({2, 3}, {1, 2, 1}, dtype), places({1, 0}), like}, kPairs), dtype,
                {1, 5, 1}, {0, 2, 3, 0, 0});
}
COHORT_OP_REFERENCE(MaxPoolSelect, takes_what_the_index_says, kFloats) {
  const Tensor x = tensor_of({1, 2, 3, 4, 5}, {1, 5, 1}, dtype);
  expect_tensor(run_op("MaxPoolSelect", {x, places({1, 0})}, kPairs), dtype, {1, 2, 1}, {2, 3});
}
COHORT_OP_REFERENCE(AveragePoolGrad, spreads_over_the_window, kFloats) {
  const Tensor like = tensor_of({0, 0, 0, 0, 0}, {1, 5, 1}, dtype);
  expect_tensor(run_op("AveragePoolGrad", {tensor_of({2, 3}, {1, 2, 1}, dtype), like}, kPairs), dtype, {1, 5, 1},
                {1, 1, 1.5, 1.5, 0});
}
COHORT_OP_GRADIENT(MaxPoolGrad, of_what_flows_back) {
  check_gradient(
      [](const Tensors& x) {
        return run_op("MaxPoolGrad", {x[0], places({1, 0}), x[1]}, kPairs);
      },
      {spread({1, 2, 1}), spread({1, 5, 1})}, {.unknown_batch = false});
}
COHORT_OP_GRADIENT(MaxPoolSelect, of_the_input) {
  check_gradient(
      [](const Tensors& x) {
        return run_op("MaxPoolSelect", {x[0], places({1, 0})}, kPairs);
      },
      {spread({1, 5, 1})}, {.unknown_batch = false});
}
COHORT_OP_GRADIENT(AveragePoolGrad, of_what_flows_back) {
  check_gradient(
      [](const Tensors& x) {
        return run_op("AveragePoolGrad", {x[0], x[1]}, kPairs);
      },
      {spread({2, 2, 1}), spread({2, 5, 1})});
}

TEST(MaxPool, bits_do_not_depend_on_threads) {
  ThreadPool& pool = ThreadPool::instance();
  const int threads = pool.threads();
  const Tensor x = spread_tensor({5, 31, 33, 19}, -1, 1, float32);
  std::vector<std::vector<float>> results;
  for (int each : {1, 2, 4}) {
    pool.set_threads(each);
    const Attributes attributes = {{"pool_size", Sizes{3, 3}}, {"strides", Sizes{2, 2}}, {"padding", "same"}};
    const Tensor mean = run_op("AveragePool", {x}, attributes);
    results.push_back(run_op("AveragePoolGrad", {mean, x}, attributes).to_vector<float>());
  }
  pool.set_threads(threads);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}
TEST(MaxPool, says_what_is_wrong) {
  expect_error([] { max_pool(spread({2, 4}), {2}); }, {"MaxPool:", "3 to 5 axes", "(2, 4)"});
  expect_error([] { max_pool(spread({2, 4, 4, 1}), {2, 2, 2}); }, {"MaxPool:", "for each axis", "pool_size=(2, 2, 2)"});
  expect_error([] { max_pool(spread({2, 2, 1}), {3}); }, {"MaxPool:", "fit", "input.shape=(2, 2, 1)"});
  expect_error([] { average_pool(spread({2, 2, 1}), {2}, {.padding = "full"}); }, {"padding=full"});
  expect_error([] { adaptive_max_pool(spread({2, 2, 1}), {0}); }, {"positive", "output_size=(0,)"});
  expect_error([] { max_pool(tensor_of({1, 2}, {1, 2, 1}, int32), {2}); }, {"floating", "int32"});
}

}  // namespace
}  // namespace cohort::test
