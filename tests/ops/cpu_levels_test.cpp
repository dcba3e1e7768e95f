#include "cohort/autodiff/tape.h"
#include "cohort/core/cpu_level.h"
#include "cohort/graph/function.h"
#include "cohort/ops/activations.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/gelu.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/normalization.h"
#include "cohort/ops/pooling.h"
#include "cohort/ops/recurrent.h"
#include "cohort/ops/reduce.h"
#include "tests/ops/counted.h"

namespace cohort::test {
namespace {

using namespace ops;

// Some ops of every family that has kernels for levels of the CPU, each of a type.
struct LevelCase {
  const char* name;
  std::function<Tensor(DType)> run;
  bool takes_16_bits = true;
};

Tensor values(const Shape& shape, DType dtype, unsigned seed) { return spread_tensor(shape, -1, 1, dtype, seed); }

// The sum of a function's gradients shows kernels of the way back.
Tensor gradient_sum(const Tensors& inputs, const std::function<Tensor(const Tensors&)>& function) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor result = function(inputs);
  Tensor total = mean(result);
  for (const Gradient& gradient : tape.gradient(sum(result * result), inputs)) {
    total = total + mean(abs(gradient.dense()));
  }
  return total;
}

const LevelCase kLevelCases[] = {
    {"matmul",
     [](DType t) {
       return matmul(values({37, 51}, t, 1), values({51, 43}, t, 2));
     }},
    {"large matmul",
     [](DType t) {
       return matmul(values({150, 257}, t, 1), values({129, 257}, t, 2), false, true);
     }},
    {"batched matmul",
     [](DType t) {
       return matmul(values({3, 9, 17}, t, 1), values({3, 17, 5}, t, 2));
     }},
    {"chain",
     [](DType t) {
       const Function chain = function([](const Tensor& x, const Tensor& y) {
         return where(x > y, tanh(x * y) + exp(y), sigmoid(x) - log(abs(y) + 1.0));
       });
       return Tensor(chain(values({33, 41}, t, 1), values({33, 41}, t, 2)));
     }},
    {"chain with integers",
     [](DType t) {
       const Function chain = function([t](const Tensor& x) { return cast(cast(x * 9.0, int32) + 1, t) * x; });
       return Tensor(chain(values({1001}, t, 1)));
     }},
    {"gelu", [](DType t) { return gradient_sum({values({1003}, t, 1)}, [](const Tensors& x) { return gelu(x[0]); }); }},
    {"erf", [](DType t) { return erf(values({1003}, t, 1)); }},
    {"sum",
     [](DType t) {
       return sum(values({31, 67}, t, 1), 0);
     }},
    {"softmax",
     [](DType t) {
       return softmax(values({31, 67}, t, 1));
     }},
    {"cross entropy",
     [](DType t) {
       const Tensor labels = cast(abs(values({19}, float32, 2)) * 9.0, int64);
       return gradient_sum({values({19, 10}, t, 1)},
                           [&](const Tensors& x) { return sparse_softmax_cross_entropy(x[0], labels); });
     }},
    {"layer norm",
     [](DType t) {
       return gradient_sum({values({9, 35}, t, 1), values({35}, t, 2), values({35}, t, 3)},
                           [](const Tensors& x) { return layer_norm(x[0], x[1], x[2]); });
     }},
    {"batch norm",
     [](DType t) {
       return gradient_sum({values({9, 35}, t, 1), values({35}, t, 2), values({35}, t, 3)},
                           [](const Tensors& x) { return batch_norm(x[0], x[1], x[2]).output; });
     }},
    {"convolution",
     [](DType t) {
       return gradient_sum({values({2, 13, 11, 5}, t, 1), values({3, 3, 5, 17}, t, 2)},
                           [](const Tensors& x) { return conv(x[0], x[1], {.padding = "same"}); });
     }},
    {"depthwise convolution",
     [](DType t) {
       return gradient_sum({values({2, 9, 9, 6}, t, 1), values({3, 3, 6, 1}, t, 2)},
                           [](const Tensors& x) { return depthwise_conv(x[0], x[1]); });
     }},
    {"max pool",
     [](DType t) {
       return gradient_sum({values({2, 12, 12, 19}, t, 1)}, [](const Tensors& x) { return max_pool(x[0], {2, 2}); });
     }},
    {"average pool",
     [](DType t) {
       return gradient_sum({values({2, 12, 12, 19}, t, 1)}, [](const Tensors& x) {
         return average_pool(x[0], {2, 2});
       });
     }},
    {"lstm",
     [](DType t) {
       return gradient_sum(
           {values({5, 7, 4 * 12}, t, 1), values({5, 12}, t, 2), values({5, 12}, t, 3), values({12, 4 * 12}, t, 4)},
           [](const Tensors& x) { return lstm(x[0], x[1], x[2], x[3]).h; });
     },
     false},
    {"gru",
     [](DType t) {
       return gradient_sum(
           {values({5, 7, 3 * 12}, t, 1), values({5, 12}, t, 2), values({12, 3 * 12}, t, 3), values({3 * 12}, t, 4)},
           [](const Tensors& x) { return gru(x[0], x[1], x[2], x[3]).h; });
     },
     false},
    {"attention",
     [](DType t) {
       return gradient_sum({values({2, 11, 3, 8}, t, 1), values({2, 11, 3, 8}, t, 2), values({2, 11, 3, 8}, t, 3)},
                           [](const Tensors& x) { return dot_product_attention(x[0], x[1], x[2]); });
     }},
};

TEST(CpuLevels, AgreeWithTheBaseline) {
  for (const LevelCase& each : kLevelCases) {
    for (DType dtype : kFloats) {
      if (!each.takes_16_bits && size_of(dtype) == 2) continue;
      Tensor want;
      {
        const CpuLevelScope scope("baseline");
        want = each.run(dtype);
      }
      for (std::string_view level : available_cpu_levels()) {
        SCOPED_TRACE(std::string(each.name) + " at the level " + std::string(level));
        const CpuLevelScope scope(level);
        const Tensor got = each.run(dtype);
        EXPECT_EQ(got.dtype(), dtype);
        ASSERT_EQ(got.shape(), want.shape());
        // Sums of hundreds of products that are rounded once, not twice.
        expect_values(got, want.to_vector<double>(), 10 * tolerance(dtype));
      }
    }
  }
}

TEST(CpuLevels, HaveWhatIsNotFloatingToo) {
  for (std::string_view level : available_cpu_levels()) {
    const CpuLevelScope scope(level);
    for (DType dtype : kIntegers) {
      const Tensor x = tensor_of({1, 2, 3, 4}, {2, 2}, dtype);
      expect_tensor(x + x, dtype, {2, 2}, {2, 4, 6, 8});
      expect_tensor(matmul(x, x), dtype, {2, 2}, {7, 10, 15, 22});
      expect_tensor(max(x, 0), dtype, {2}, {3, 4});
      expect_tensor(cast(x, int64), int64, {2, 2}, {1, 2, 3, 4});
    }
  }
}

}  // namespace
}  // namespace cohort::test
