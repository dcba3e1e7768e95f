#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/graph/graph.h"

namespace cohort::distribute {

// Which constants a task has: those that something it was told of names. Not thread-safe.
class SentConstants {
 public:
  // Puts those the task lacks before the other parts of a message, and names all of them.
  void attach(const ConstantTable& constants, proto::ConstantsProto& names, Tensors& parts) const;
  // The task has answered the message that named these, for a function or for a pipeline of a dataset.
  void note_function(std::uint64_t handle, const proto::ConstantsProto& names) { note({handle, kFunction}, names); }
  void note_pipeline(int dataset, int pipeline, const proto::ConstantsProto& names) {
    note({static_cast<std::uint64_t>(dataset), pipeline}, names);
  }
  // The task is told to let go of these, and of constants that nothing else names.
  void release_function(std::uint64_t handle);
  void release_dataset(int dataset);
  void clear();

 private:
  using User = std::pair<std::uint64_t, int>;
  static constexpr int kFunction = -1;
  using Users = std::map<User, std::vector<std::string>>;

  void note(const User& user, const proto::ConstantsProto& names);
  Users::iterator release(Users::iterator user);

  std::map<std::string, int> users_of_;  // each constant: how many name it
  Users named_by_;
};

// A call whose request names constants, as `metadata` says afterwards: those that the task lacks come along.
template <Method M, class Stream>
ReceivedReply<M> call_with_constants(Stream& stream, const Head& head, typename MetadataOf<M>::Request& metadata,
                                     const ConstantTable& constants, const SentConstants& sent, Tensors parts = {}) {
  metadata.clear_constants();
  sent.attach(constants, *metadata.mutable_constants(), parts);
  return call<M>(stream, head, metadata, std::move(parts));
}

}  // namespace cohort::distribute
