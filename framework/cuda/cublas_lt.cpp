#include "cohort/cuda/cublas_lt.h"

#include <map>
#include <mutex>
#include <string>

#include "cohort/core/error.h"
#include "cohort/cuda/shared_library.h"

namespace cohort::cuda {
namespace {

static_assert(CUBLAS_VER_MAJOR == 13, "the name of the library says the version of the headers");

CublasLt load_cublas_lt() {
  const SharedLibrary library(kCublasLtLibrary, "matrix products");
  CublasLt functions{};
  library.find("cublasLtCreate", functions.create);
  library.find("cublasLtGetVersion", functions.version);
  library.find("cublasLtGetStatusString", functions.status_text);
  library.find("cublasLtMatmulDescInit_internal", functions.init_operation);
  library.find("cublasLtMatmulDescSetAttribute", functions.set_operation);
  library.find("cublasLtMatrixLayoutInit_internal", functions.init_layout);
  library.find("cublasLtMatrixLayoutSetAttribute", functions.set_layout);
  library.find("cublasLtMatmulPreferenceInit_internal", functions.init_preference);
  library.find("cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
  library.find("cublasLtMatmulAlgoGetHeuristic", functions.find_algorithms);
  library.find("cublasLtMatmulAlgoCheck", functions.check_algorithm);
  library.find("cublasLtMatmul", functions.multiply);
  return functions;
}

}  // namespace

void CublasLt::check(cublasStatus_t status, std::source_location place) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw internal_error("GPU", "cuBLASLt is expected to do what it was asked",
                       {{"status", status_text(status)},
                        {"place", std::string(place.file_name()) + ":" + std::to_string(place.line())}});
}

const CublasLt& cublas_lt() {
  static const CublasLt functions = load_cublas_lt();
  return functions;
}

cublasLtHandle_t cublas_lt_handle(const CudaDevice& device) {
  static auto* mutex = new std::mutex;
  static auto* handles = new std::map<int, cublasLtHandle_t>;
  const CublasLt& library = cublas_lt();
  std::lock_guard lock(*mutex);
  cublasLtHandle_t& handle = (*handles)[device.index()];
  if (!handle) {
    device.make_current();
    library.check(library.create(&handle));
  }
  return handle;
}

}  // namespace cohort::cuda
