// What the Python tests of DLPack call by ctypes: tensors in and out of their process, and what Cohort says of them.
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "cohort/core/dlpack.h"
#include "cohort/ops/ops.h"

namespace ch = cohort;

namespace {

thread_local std::string text;

// The result of a call, or null; then `exchange_error` has the message.
template <class Call>
auto guarded(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    text = error.what();
    return {};
  }
}

const ch::Tensor& tensor_of(const void* handle) { return *static_cast<const ch::Tensor*>(handle); }
ch::Tensor* handle_of(const ch::Tensor& tensor) { return new ch::Tensor(tensor); }

}  // namespace

extern "C" {

// Why the last call of this thread gave null.
const char* exchange_error() { return text.c_str(); }

// Takes a managed tensor over, versioned or not.
void* exchange_take(void* managed, int versioned) {
  return guarded([&] {
    return handle_of(versioned ? ch::from_dlpack(static_cast<DLManagedTensorVersioned*>(managed))
                               : ch::from_dlpack(static_cast<DLManagedTensor*>(managed)));
  });
}

// Hands a tensor over, versioned or not.
void* exchange_give(const void* tensor, int versioned) {
  return guarded([&]() -> void* {
    if (versioned) return ch::to_dlpack(tensor_of(tensor));
    return ch::to_dlpack_unversioned(tensor_of(tensor));
  });
}

// A tensor 0, 1, 2, ... of a type, computed on a device.
void* exchange_count(const char* device, const char* dtype, long long size) {
  return guarded([&] {
    const ch::Tensor ones = ch::Tensor::full({size}, 1, ch::DType::Float32, ch::device_named(device));
    return handle_of(ch::ops::cast(ch::ops::cumsum(ones, 0) - ones, ch::dtype_from_string(dtype)));
  });
}

// 2 x + 1, computed where x is.
void* exchange_compute(const void* x) {
  return guarded([&] { return handle_of(tensor_of(x) * 2.0 + 1.0); });
}

// The address of the elements.
void* exchange_data(const void* tensor) { return tensor_of(tensor).raw(); }

// "float32(2, 3) CPU:0"
const char* exchange_describe(const void* tensor) {
  return guarded([&]() -> const char* {
    text = tensor_of(tensor).spec().to_string() + " " + tensor_of(tensor).device().name();
    return text.c_str();
  });
}

// The elements' values, as many as there are.
int exchange_values(const void* tensor, double* values) {
  return guarded([&] {
    const std::vector<double> all = tensor_of(tensor).to_vector<double>();
    std::copy(all.begin(), all.end(), values);
    return 1;
  });
}

// Lets a tensor go.
void exchange_drop(void* tensor) { delete static_cast<ch::Tensor*>(tensor); }

}  // extern "C"
