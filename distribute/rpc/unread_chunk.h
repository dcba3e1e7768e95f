#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "cohort/distribute/protocol/message.h"
#include "cohort/distribute/protocol/unread_part.h"

namespace cohort::distribute::rpc {

// Where the chunk is a whole message of Method::Exchange that nobody answers, with one large part of bytes and no meta:
// takes it, sets the head and gives the part, which keeps what the network has received. The head is as damaged as the
// rest may be. nullptr for any other chunk, which stays as it is.
std::shared_ptr<UnreadPart> set_aside(grpc::ByteBuffer& chunk, Head& head);

}  // namespace cohort::distribute::rpc
