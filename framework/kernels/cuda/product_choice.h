#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cohort/kernels/cuda/library_product.h"

namespace cohort::kernels::cuda {

// Enqueues what must follow when the product was done in this way.
using ProductRest = std::function<void(const LibraryProduct& way, const ProductMemory& memory, cudaStream_t stream)>;

// Of several ways to have the library do the same, the best with the algorithm that does it best; nothing where the
// library has none. Large products are tried out on the device, with what follows them, and the choice is kept for
// later processes. Where the same bits are wanted each time, or there is no memory for that, or it is a small one, the
// first way that the library can go is taken with the algorithm that the library likes best.
std::optional<LibraryProduct> choose_product(std::vector<LibraryProduct> ways, cohort::cuda::CudaDevice& device,
                                             const ProductRest& rest);

}  // namespace cohort::kernels::cuda
