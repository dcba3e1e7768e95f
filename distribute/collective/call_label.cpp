#include "cohort/distribute/collective/call_label.h"

#include "cohort/core/dtype.h"

namespace cohort::distribute::collective {

const char* to_string(CallKind kind) {
  switch (kind) {
    case CallKind::AllReduce:
      return "all_reduce";
    case CallKind::AllGather:
      return "all_gather";
    case CallKind::ReduceScatter:
      return "reduce_scatter";
    case CallKind::Broadcast:
      return "broadcast";
    case CallKind::Barrier:
      return "barrier";
  }
  return "an unknown call";
}

std::string CallLabel::to_string() const {
  std::string text = collective::to_string(kind);
  if (kind != CallKind::Barrier) {
    const bool known = dtype < kDTypeCount;
    text += " of " + std::to_string(bytes) + " bytes of " +
            (known ? cohort::to_string(static_cast<DType>(dtype)) : "an unknown type");
  }
  if (kind == CallKind::Broadcast) text += " from rank " + std::to_string(root);
  return text + ", call " + std::to_string(sequence);
}

}  // namespace cohort::distribute::collective
