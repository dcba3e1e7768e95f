#pragma once

#include <nccl.h>

#include <source_location>

namespace cohort::distribute::collective {

// The functions of NCCL, which is loaded on first use.
struct NcclLibrary {
  decltype(&ncclGetUniqueId) make_id;
  decltype(&ncclCommInitRank) join;
  decltype(&ncclCommDestroy) leave;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) async_error;
  decltype(&ncclGetErrorString) error_text;
  decltype(&ncclGetLastError) last_error;
  decltype(&ncclGroupStart) begin_group;
  decltype(&ncclGroupEnd) end_group;
  decltype(&ncclAllReduce) all_reduce;
  decltype(&ncclBroadcast) broadcast;

  // Throws Unavailable, naming the place, unless all is well.
  void check(ncclResult_t result, std::source_location place = std::source_location::current()) const;
};

// Throws NotFound where the library is missing.
const NcclLibrary& nccl_library();

}  // namespace cohort::distribute::collective
