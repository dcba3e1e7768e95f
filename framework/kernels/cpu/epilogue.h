#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "cohort/core/dtype.h"
#include "cohort/core/kernel.h"
#include "cohort/kernels/functors.h"

namespace cohort {

// What a product does to its rows while they are in the cache: adds a bias and applies an activation, rounding between
// the two as the separate ops do.
template <class T>
class Epilogue {
 public:
  Epilogue() = default;
  // By the name of the activation's op, "" for none.
  Epilogue(const std::string& activation, bool has_bias) : has_bias_(has_bias) {
    if (!has_bias && activation.empty()) return;
    finish_ = row<None>;
    if (activation == "Relu") finish_ = row<fn::Relu>;
    if (activation == "Relu6") finish_ = row<fn::Relu6>;
    if constexpr (!std::is_integral_v<T>) {
      if (activation == "Sigmoid") finish_ = row<fn::Sigmoid>;
      if (activation == "Tanh") finish_ = row<fn::Tanh>;
      if (activation == "Softplus") finish_ = row<fn::Softplus>;
    }
  }

  bool has_bias() const { return has_bias_; }
  explicit operator bool() const { return finish_ != nullptr; }
  // `bias` is null where there is none.
  void operator()(T* values, const T* bias, std::int64_t count) const { finish_(values, bias, count); }

 private:
  struct None {
    template <class V>
    V operator()(V x) const {
      return x;
    }
  };

  template <class Activation>
  static void row(T* values, const T* bias, std::int64_t count) {
    using Compute = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    if (!bias) {
      for (std::int64_t j = 0; j < count; ++j) values[j] = T(Activation{}(Compute(values[j])));
      return;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const T sum = T(fn::Add{}(Compute(values[j]), Compute(bias[j])));
      values[j] = T(Activation{}(Compute(sum)));
    }
  }

  void (*finish_)(T*, const T*, std::int64_t) = nullptr;
  bool has_bias_ = false;
};

}  // namespace cohort
