#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/protocol/methods.h"

namespace cohort::distribute {

template <class Metadata>
void write_metadata(const Metadata& metadata, Message& message) {
  if constexpr (std::is_same_v<Metadata, NoMetadata>) {
    message.meta.clear();
  } else {
    metadata.SerializeToString(&message.meta);
  }
}

// Throws DataLoss, from `who`, when the message holds something else.
template <class Metadata>
void read_metadata(std::string_view who, const Message& message, Metadata& metadata) {
  bool fits = false;
  if constexpr (std::is_same_v<Metadata, NoMetadata>) {
    fits = message.meta.empty();
  } else {
    fits = metadata.ParseFromString(message.meta);
  }
  if (!fits) {
    throw Error(ErrorCode::DataLoss, who, "the message of a method is expected",
                {{"method", to_string(message.head.method)}, {"bytes", message.meta.size()}});
  }
}

// Makes a request of method M of a message whose parts are set; the message keeps its memory.
template <Method M>
void write_request(const Head& head, const typename MetadataOf<M>::Request& metadata, Message& request) {
  request.head = head;
  request.head.method = M;
  write_metadata(metadata, request);
}

// A reply to M as its caller sees it.
template <Method M>
struct ReceivedReply {
  Head head;
  typename MetadataOf<M>::Reply metadata;
  Tensors parts;
};

// Sends a request and waits for its reply on any kind of stream.
template <Method M, class Stream>
ReceivedReply<M> call(Stream& stream, const Head& head, const typename MetadataOf<M>::Request& metadata = {},
                      Tensors parts = {}) {
  Message request, reply;
  request.parts = std::move(parts);
  write_request<M>(head, metadata, request);
  stream.call(request, reply);
  ReceivedReply<M> received;
  read_metadata(to_string(M), reply, received.metadata);
  received.head = reply.head;
  received.parts = std::move(reply.parts);
  return received;
}

// Lets the handler of a method answer a message.
template <Method M, class Handler>
void answer(const Message& request, Message& reply, Handler& handler,
            void (Handler::*handle)(const Request<M>&, Reply<M>&)) {
  typename MetadataOf<M>::Request asked;
  typename MetadataOf<M>::Reply answered;
  read_metadata("Server", request, asked);
  Reply<M> to{reply.head, answered, reply.parts};
  (handler.*handle)({request.head, asked, request.parts}, to);
  write_metadata(answered, reply);
}

}  // namespace cohort::distribute
