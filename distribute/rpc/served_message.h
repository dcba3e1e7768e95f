#pragma once

#include <grpcpp/support/status.h>

#include <functional>
#include <optional>
#include <string>

#include "cohort/distribute/rpc/message_memory.h"
#include "cohort/distribute/rpc/message_reader.h"
#include "cohort/distribute/rpc/message_writer.h"
#include "cohort/distribute/rpc/transport.h"
#include "cohort/distribute/rpc/unread_chunk.h"

namespace cohort::distribute::rpc {

// A served stream's present request and its reply. Used by one thread at a time.
class ServedMessage {
 public:
  // `decided` as that of MessageMemory::Share.
  //   caller: who sends them, where that has been proven.
  ServedMessage(MessageMemory& memory, const std::string& connection, std::optional<TaskIdentity> caller,
                std::function<void(const std::string& refusal)> decided)
      : caller_(std::move(caller)), share_(memory, connection, std::move(decided)), reader_(/*asks=*/true) {}

  MessageReader& reader() { return reader_; }
  MessageWriter& writer() { return writer_; }
  // That was taken from the reader.
  const Message& request() const { return request_; }
  void take_request() { reader_.give(request_); }
  // Takes a chunk that is a request with an unread part, between two messages; false: it is for the reader.
  bool set_aside(grpc::ByteBuffer& chunk) {
    if (reader_.begins()) request_.unread = rpc::set_aside(chunk, request_.head);
    return request_.unread != nullptr;
  }
  // Whether the request was not taken in.
  bool refused() const { return !request_.unread && reader_.refused(); }

  // What the reader wants.
  MessageMemory::Answer ask_for_memory(std::string& refusal) { return share_.take(reader_.wanted(), refusal); }
  void decide(const std::string& refusal) { refusal.empty() ? reader_.admit() : reader_.refuse(refusal); }

  // Has the request handled, or refused where the reader has not taken it in. True when the writer has a reply; else,
  // where `end` is not OK, the stream must end with it.
  bool answer(Service& service, grpc::Status& end);

 private:
  const std::optional<TaskIdentity> caller_;
  Message request_, reply_;
  MessageMemory::Share share_;  // of the request
  MessageReader reader_;
  MessageWriter writer_;
};

}  // namespace cohort::distribute::rpc
