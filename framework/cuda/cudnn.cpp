#include "cohort/cuda/cudnn.h"

#include <map>
#include <mutex>
#include <string>

#include "cohort/core/error.h"
#include "cohort/cuda/shared_library.h"

namespace cohort::cuda {
namespace {

static_assert(CUDNN_MAJOR == 9, "the name of the library says the version of the headers");

Cudnn load_cudnn() {
  // It asks the loader for these two by their names, and calls nothing at all where that finds none: what is loaded
  // already is found.
  const SharedLibrary products(kCublasLtLibrary, "convolutions"), compiler(kNvrtcLibrary, "convolutions");
  const SharedLibrary library(kCudnnLibrary, "convolutions");
  Cudnn functions{};
  functions.library = library.handle();
  library.find("cudnnCreate", functions.create);
  library.find("cudnnSetStream", functions.set_stream);
  library.find("cudnnGetErrorString", functions.status_text);
  library.find("cudnnBackendCreateDescriptor", functions.create_descriptor);
  library.find("cudnnBackendDestroyDescriptor", functions.destroy_descriptor);
  library.find("cudnnBackendSetAttribute", functions.set_attribute);
  library.find("cudnnBackendGetAttribute", functions.get_attribute);
  library.find("cudnnBackendFinalize", functions.finalize);
  library.find("cudnnBackendExecute", functions.execute);
  return functions;
}

}  // namespace

void Cudnn::check(cudnnStatus_t status, std::source_location place) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw internal_error("GPU", "cuDNN is expected to do what it was asked",
                       {{"status", status_text(status)},
                        {"place", std::string(place.file_name()) + ":" + std::to_string(place.line())}});
}

const Cudnn& cudnn() {
  static const Cudnn functions = load_cudnn();
  return functions;
}

cudnnHandle_t cudnn_handle(const CudaDevice& device) {
  static auto* mutex = new std::mutex;
  static auto* handles = new std::map<int, cudnnHandle_t>;
  const Cudnn& library = cudnn();
  std::lock_guard lock(*mutex);
  cudnnHandle_t& handle = (*handles)[device.index()];
  if (!handle) {
    device.make_current();
    library.check(library.create(&handle));
    device.follow_stream(
        [handle, &library](cudaStream_t stream) { library.check(library.set_stream(handle, stream)); });
  }
  return handle;
}

}  // namespace cohort::cuda
