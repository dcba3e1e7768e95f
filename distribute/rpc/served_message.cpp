#include "cohort/distribute/rpc/served_message.h"

#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/rpc/request_handling.h"

namespace cohort::distribute::rpc {

bool ServedMessage::answer(Service& service, grpc::Status& end) {
  const bool is_refused = refused(), one_way = (request_.head.flags & kOneWay) != 0;
  std::uint32_t status = reader_.status();
  if (is_refused) {
    reply_.head = {.method = request_.head.method, .sequence = request_.head.sequence};
    reply_.meta.swap(request_.meta);
  } else {
    status = handle_request(service, request_, reply_, caller_ ? &*caller_ : nullptr);
  }
  request_.parts.clear();
  request_.unread = nullptr;
  share_.release();
  if (one_way) {
    reply_.parts.clear();
    // There is no other way to tell the caller that what it has sent is not taken.
    if (status != 0) {
      end = {is_refused ? grpc::StatusCode::RESOURCE_EXHAUSTED : grpc::StatusCode::FAILED_PRECONDITION, reply_.meta};
    }
    return false;
  }
  try {
    writer_.begin(reply_, status);
  } catch (const Error& error) {
    reply_.meta = error.what();
    reply_.parts.clear();
    writer_.begin(reply_, 1 + static_cast<std::uint32_t>(error.code()));
  }
  reply_.parts.clear();
  return true;
}

}  // namespace cohort::distribute::rpc
