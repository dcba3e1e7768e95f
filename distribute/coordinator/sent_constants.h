#pragma once

#include <set>
#include <string>
#include <utility>

#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/graph/graph.h"

namespace cohort::distribute {

// Which constants a task has. Not thread-safe.
class SentConstants {
 public:
  // Puts those the task lacks before the other parts of a message and names them.
  void attach(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts) const;
  // The task has answered the message that named these.
  void note(const proto::ConstantsProto& names);
  void clear() { hashes_.clear(); }

 private:
  std::set<std::string> hashes_;
};

// A call whose request names constants: those that the task lacks come along.
template <Method M, class Stream>
ReceivedReply<M> call_with_constants(Stream& stream, const Head& head, typename MetadataOf<M>::Request metadata,
                                     const ConstantTable& constants, SentConstants& sent, Tensors parts = {}) {
  sent.attach(constants, *metadata.mutable_constants(), parts);
  ReceivedReply<M> reply = call<M>(stream, head, metadata, std::move(parts));
  sent.note(metadata.constants());
  return reply;
}

}  // namespace cohort::distribute
