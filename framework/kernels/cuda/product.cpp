#include "cohort/kernels/cuda/product.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "cohort/kernels/cuda/product_choice.h"
#include "cohort/kernels/cuda/relu_mask.h"
#include "cohort/kernels/cuda/small_product.h"
#include "cohort/kernels/cuda/tiled_product.h"

namespace cohort::kernels::cuda {
namespace {

using Mask = ProductFinish::Mask;

// Calls for one batch whose axes do not merge; from there on own kernels do it in one.
constexpr std::int64_t kMostCalls = 64;

bool can_be_read(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % LibraryProduct::kAlignment == 0;
}

// What the library may do beside the product, the most first.
std::vector<cublasLtEpilogue_t> epilogues_of(const ProductFinish& finish) {
  // b is on the left for the library.
  if (finish.column_sums) return {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_DEFAULT};
  if (finish.mask == Mask::Applied) return {CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DEFAULT};
  if (finish.wide_bias) return {CUBLASLT_EPILOGUE_DEFAULT};
  if (finish.activation == "Relu") {
    const auto relu = finish.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    if (finish.mask == Mask::None) return {relu, CUBLASLT_EPILOGUE_DEFAULT};
    const auto noted = finish.has_bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
    return {noted, relu, CUBLASLT_EPILOGUE_DEFAULT};
  }
  if (finish.has_bias && finish.activation.empty()) return {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_DEFAULT};
  return {CUBLASLT_EPILOGUE_DEFAULT};
}

}  // namespace

Product::Product(const ProductShape& shape, cohort::cuda::CudaDevice& device, const ProductFinish& finish)
    : shape_(shape),
      device_(&device),
      finish_(shape.operands, finish.activation, finish.has_bias, finish.wide_bias),
      sums_(finish.sums),
      column_sums_(finish.column_sums),
      mask_(finish.mask),
      small_(is_small_product(shape)) {
  if (small_ || !is_floating(shape.operands) || shape.m == 0 || shape.n == 0 || shape.k == 0 || shape.products() == 0)
    return;
  library_ = ask_library(finish);
}

std::optional<LibraryProduct> Product::ask_library(const ProductFinish& finish) const {
  device_->reserve_workspace(kWorkspace);
  const DType vector = finish.column_sums ? finish.sums : shape_.operands;
  // The library may take longer for sums and masks than kernels of their own do: two ways are tried then. The other
  // epilogues cost it nothing.
  const std::size_t wanted = finish.column_sums || finish.mask != Mask::None ? 2 : 1;
  std::vector<LibraryProduct> ways;
  for (const cublasLtEpilogue_t epilogue : epilogues_of(finish)) {
    LibraryProduct way(shape_, epilogue, vector, *device_);
    if (way.calls() > kMostCalls) return std::nullopt;
    if (ways.size() < wanted && !way.algorithms(1).empty()) ways.push_back(std::move(way));
  }
  if (ways.empty()) return std::nullopt;
  return choose_product(std::move(ways), *device_,
                        [this](const LibraryProduct& way, const ProductMemory& memory, cudaStream_t stream) {
                          finish_run(way.epilogue(), memory, stream);
                        });
}

void Product::finish_run(cublasLtEpilogue_t done, const ProductMemory& memory, cudaStream_t stream) const {
  if (done == CUBLASLT_EPILOGUE_DEFAULT) {
    if (column_sums_) column_sums_(memory.b, memory.vector, stream);
    finish_.run(memory.c, memory.vector, shape_.products() * shape_.m, shape_.n, *device_, stream);
  }
  if (!LibraryProduct::has_mask(done)) run_mask(memory, stream);
}

void Product::run_mask(const ProductMemory& memory, cudaStream_t stream) const {
  const std::int64_t count = shape_.products() * shape_.m * shape_.n;
  if (mask_ == Mask::Made) enqueue_relu_mask(shape_.operands, memory.c, memory.mask, count, *device_, stream);
  if (mask_ == Mask::Applied) enqueue_masking(shape_.operands, memory.c, memory.mask, count, *device_, stream);
}

void Product::run(const void* a, const void* b, void* c, const void* bias, cudaStream_t stream) const {
  run({a, b, c, const_cast<void*>(bias)}, stream);
}

void Product::run(const ProductMemory& memory, cudaStream_t stream) const {
  if (small_) {
    const SmallSums sums{column_sums_ ? memory.vector : nullptr, sums_ != shape_.operands};
    enqueue_small_product(shape_, finish_, memory.a, memory.b, memory.c, memory.vector, sums, *device_, stream);
    return run_mask(memory, stream);
  }
  const void* const all[] = {memory.a, memory.b, memory.c, memory.mask};
  if (library_ && std::all_of(std::begin(all), std::end(all), can_be_read)) {
    library_->run(memory, stream);
    finish_run(library_->epilogue(), memory, stream);
  } else {
    enqueue_tiled_product(shape_, memory.a, memory.b, memory.c, stream);
    finish_run(CUBLASLT_EPILOGUE_DEFAULT, memory, stream);
  }
}

}  // namespace cohort::kernels::cuda
