#pragma once

#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute {

// Reads the method's own part of a message; throws when it is something else.
template <class Proto>
void parse_meta(const rpc::Message& message, Proto& proto) {
  if (!proto.ParseFromString(message.meta)) {
    throw Error(ErrorCode::DataLoss, "Server", "the message of a method is expected",
                {{"method", rpc::to_string(message.head.method)}, {"bytes", message.meta.size()}});
  }
}

}  // namespace cohort::distribute
