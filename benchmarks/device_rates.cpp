#include "benchmarks/device_rates.h"

#include <cohort/cohort.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <thread>

namespace cohort::bench {
namespace {

// Seconds of `calls` calls that nobody waits for between.
double seconds_of(const std::function<void()>& body, int calls) {
  Device& device = default_device();
  device.synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) body();
  device.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Seconds of one call among many, in the best of several rounds.
double best_of_rounds(const std::function<void()>& body) {
  constexpr double kRoundSeconds = 0.03;  // as the peers have it: a longer one runs into the limit of power
  constexpr int kWarmCalls = 5, kRounds = 8;
  seconds_of(body, kWarmCalls);  // kernels are made and chosen
  // Trying them may have brought the GPU to the limit of its power, from which it comes back when it has rested.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double once = seconds_of(body, 1);
  const int calls = static_cast<int>(std::clamp(kRoundSeconds / once, 1.0, 1000.0));
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) best = std::min(best, seconds_of(body, calls) / calls);
  return best;
}

// Random numbers: with zeros products take less power and are faster than they are in use.
Tensor drawn(const Shape& shape, bool bfloat16) {
  return ops::cast(ops::random_normal(shape), bfloat16 ? DType::BFloat16 : DType::Float32);
}

const char* precision_name(bool bfloat16) { return bfloat16 ? "bf16" : "float32"; }

}  // namespace

void print_device_product(const ProductOptions& options) {
  const auto [m, k, n] = options.size;
  const bool transposed = options.transposed;
  const Tensor a = drawn(transposed ? Shape{k, m} : Shape{m, k}, options.bfloat16), b = drawn({k, n}, options.bfloat16);
  const double time = best_of_rounds([&] { ops::matmul(a, b, transposed); });
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  std::printf(
      "{\"product\": \"%lldx%lldx%lld\", \"device\": \"%s\", \"precision\": \"%s\", \"transposed\": %s, \"ms\": %.4f, "
      "\"tflops\": %.4g}\n",
      static_cast<long long>(m), static_cast<long long>(k), static_cast<long long>(n), default_device().name().c_str(),
      precision_name(options.bfloat16), transposed ? "true" : "false", time * 1e3, operations / time * 1e-12);
}

void print_attention(const AttentionSize& size, bool bfloat16) {
  const Shape shape{size.batch, size.steps, size.heads, size.size};
  const Tensor query = drawn(shape, bfloat16), key = drawn(shape, bfloat16), value = drawn(shape, bfloat16),
               slope = drawn(shape, bfloat16);
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return ops::dot_product_attention(q, k, v, {.is_causal = true});
  };
  const Function there = function(attend);
  const Function back = function([attend](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy) {
    GradientTape tape;
    for (const Tensor& each : {q, k, v}) tape.watch(each);
    const Tensor output = attend(q, k, v);
    const Gradients slopes = tape.gradients({output}, {q, k, v}, {dy});
    return Tensors{output, slopes[0], slopes[1], slopes[2]};
  });
  const double forward = best_of_rounds([&] { there(query, key, value); });
  const double both = best_of_rounds([&] { back(query, key, value, slope); });
  const auto pairs = static_cast<double>(size.batch * size.heads * size.steps * size.steps);
  const double operations = 3.5 * 0.5 * 4.0 * pairs * static_cast<double>(size.size);
  std::printf(
      "{\"attention\": \"%lldx%lldx%lldx%lld\", \"device\": \"%s\", \"precision\": \"%s\", \"forward_ms\": %.4f, "
      "\"ms\": %.4f, \"tflops\": %.4g}\n",
      static_cast<long long>(size.batch), static_cast<long long>(size.steps), static_cast<long long>(size.heads),
      static_cast<long long>(size.size), default_device().name().c_str(), precision_name(bfloat16), forward * 1e3,
      both * 1e3, operations / both * 1e-12);
}

}  // namespace cohort::bench
