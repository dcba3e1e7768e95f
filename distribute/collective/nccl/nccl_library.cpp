#include "cohort/distribute/collective/nccl/nccl_library.h"

#include <string>

#include "cohort/core/error.h"
#include "cohort/cuda/shared_library.h"

namespace cohort::distribute::collective {
namespace {

static_assert(NCCL_MAJOR == 2, "the name of the library says the version of the headers");

NcclLibrary load_nccl() {
  const cuda::SharedLibrary library(cuda::kNcclLibrary, "reductions between GPUs");
  NcclLibrary functions{};
  library.find("ncclGetUniqueId", functions.make_id);
  library.find("ncclCommInitRank", functions.join);
  library.find("ncclCommDestroy", functions.leave);
  library.find("ncclCommAbort", functions.abort);
  library.find("ncclCommGetAsyncError", functions.async_error);
  library.find("ncclGetErrorString", functions.error_text);
  library.find("ncclGetLastError", functions.last_error);
  library.find("ncclGroupStart", functions.begin_group);
  library.find("ncclGroupEnd", functions.end_group);
  library.find("ncclAllReduce", functions.all_reduce);
  library.find("ncclBroadcast", functions.broadcast);
  return functions;
}

}  // namespace

void NcclLibrary::check(ncclResult_t result, std::source_location place) const {
  if (result == ncclSuccess) return;
  throw Error(ErrorCode::Unavailable, "NCCL", "GPUs are expected to reach one another",
              {{"error", error_text(result)},
               {"NCCL says", last_error(nullptr)},
               {"place", std::string(place.file_name()) + ":" + std::to_string(place.line())}},
              "NCCL_DEBUG=INFO tells more; implementation \"RING\" does without it.");
}

const NcclLibrary& nccl_library() {
  static const NcclLibrary functions = load_nccl();
  return functions;
}

}  // namespace cohort::distribute::collective
