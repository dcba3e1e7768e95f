#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/core/op.h"

// Calls of every op, large enough that kernels cut them for threads.
namespace cohort::test {

struct OpSample {
  std::string name;
  Tensors inputs;
  std::function<Tensors(const Tensors&)> run;
  bool gradient = true;  // the inputs' gradients count too
};

// Collects samples; a call returns a tensor or several.
class OpSamples : public std::vector<OpSample> {
 public:
  template <class F>
  void add(std::string name, Tensors inputs, F function) {
    push_back({std::move(name), std::move(inputs), as_several(std::move(function)), true});
  }
  // For ops that only make values, or that nothing flows back through.
  template <class F>
  void add_plain(std::string name, Tensors inputs, F function) {
    push_back({std::move(name), std::move(inputs), as_several(std::move(function)), false});
  }
  // The gradients of the last sample as one more, so that its gradient's own ops have their gradients taken too.
  void add_second_order();

 private:
  template <class F>
  static std::function<Tensors(const Tensors&)> as_several(F function) {
    if constexpr (std::is_same_v<std::invoke_result_t<F, const Tensors&>, Tensors>) {
      return function;
    } else {
      return [=](const Tensors& x) { return Tensors{function(x)}; };
    }
  }
};

OpSamples op_samples();
// What a call gives, and behind it the gradients of its floating inputs.
Tensors results_of(const OpSample& sample);

// The families that op_samples() joins.
void add_elementwise_samples(OpSamples& samples);
void add_array_samples(OpSamples& samples);
void add_index_samples(OpSamples& samples);
void add_reduction_samples(OpSamples& samples);
void add_product_samples(OpSamples& samples);
void add_network_samples(OpSamples& samples);
void add_image_samples(OpSamples& samples);
void add_linalg_samples(OpSamples& samples);
void add_random_samples(OpSamples& samples);
void add_text_samples(OpSamples& samples);
void add_variable_samples(OpSamples& samples);

// Numbers spread over [low, high), made by the library: quickly, and the same for the same arguments.
Tensor sample_numbers(const Shape& shape, double low, double high, DType dtype = DType::Float32, std::int64_t seed = 1);
// Between -1 and 1.
inline Tensor sample_numbers(const Shape& shape, std::int64_t seed = 1) {
  return sample_numbers(shape, -1, 1, DType::Float32, seed);
}
// Whole numbers in [0, count).
Tensor sample_indices(const Shape& shape, std::int64_t count, std::int64_t seed = 1, DType dtype = DType::Int32);

}  // namespace cohort::test
