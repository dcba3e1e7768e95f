#include "cohort/distribute/coordinator/sent_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A stream to a task that notes the constants of each request, and may be gone.
struct ConstantsStream {
  void call(const Message& request, Message& reply) {
    proto::RegisterServerProto metadata;
    metadata.ParseFromString(request.meta);
    brought.assign(metadata.constants().hashes().begin(), metadata.constants().hashes().end());
    known.assign(metadata.constants().known().begin(), metadata.constants().known().end());
    parts = request.parts.size();
    if (gone) throw Error(ErrorCode::Unavailable, "ps:0: connection reset");
    reply.head = request.head;
  }
  bool gone = false;
  std::vector<std::string> brought, known;
  std::size_t parts = 0;
};

ConstantTable table_of(const std::vector<std::string>& hashes) {
  ConstantTable constants;
  for (const std::string& hash : hashes) constants.tensors.emplace_back(hash, Tensor::scalar(1.0));
  return constants;
}

class ConstantsOfCalls : public testing::Test {
 protected:
  proto::ConstantsProto send(const std::vector<std::string>& hashes) {
    proto::RegisterServerProto metadata;
    // With a part of its own.
    call_with_constants<Method::RegisterServer>(stream_, {}, metadata, table_of(hashes), sent_, {Tensor::scalar(2.0)});
    return metadata.constants();
  }
  void tell_function(std::uint64_t handle, const std::vector<std::string>& hashes) {
    sent_.note_function(handle, send(hashes));
  }
  void tell_pipeline(int dataset, int pipeline, const std::vector<std::string>& hashes) {
    sent_.note_pipeline(dataset, pipeline, send(hashes));
  }
  ConstantsStream stream_;
  SentConstants sent_;
};

TEST_F(ConstantsOfCalls, TravelOnce) {
  tell_function(1, {"a", "b"});
  EXPECT_THAT(stream_.brought, ElementsAre("a", "b"));
  EXPECT_THAT(stream_.known, IsEmpty());
  EXPECT_EQ(stream_.parts, 3u);
  tell_function(2, {"b", "c"});
  EXPECT_THAT(stream_.brought, ElementsAre("c"));
  EXPECT_THAT(stream_.known, ElementsAre("b"));
  EXPECT_EQ(stream_.parts, 2u);
  tell_pipeline(0, 0, {"a", "b", "c"});
  EXPECT_THAT(stream_.brought, IsEmpty());
  EXPECT_EQ(stream_.parts, 1u);
  sent_.clear();
  tell_function(3, {"c"});
  EXPECT_THAT(stream_.brought, ElementsAre("c"));
}

TEST_F(ConstantsOfCalls, TravelAgainAfterACallThatFailed) {
  tell_function(1, {"a"});
  stream_.gone = true;
  EXPECT_THAT(error_of([&] { tell_function(2, {"a", "b"}); }), HasSubstr("connection reset"));
  stream_.gone = false;
  tell_function(2, {"a", "b"});
  EXPECT_THAT(stream_.brought, ElementsAre("b"));
  EXPECT_EQ(stream_.parts, 2u);
}

TEST_F(ConstantsOfCalls, TravelAgainOnceNothingThatNamedThemIsLeft) {
  tell_function(1, {"a"});
  tell_pipeline(1, 0, {"a", "b"});
  tell_pipeline(1, 1, {"b"});
  tell_pipeline(2, 0, {"c"});
  sent_.release_function(1);
  sent_.release_function(2);  // nobody ever told of it
  tell_function(3, {"a", "b", "c"});
  EXPECT_THAT(stream_.known, ElementsAre("a", "b", "c"));
  sent_.release_dataset(1);
  sent_.release_function(3);
  tell_function(4, {"a", "b", "c"});
  EXPECT_THAT(stream_.brought, ElementsAre("a", "b"));
  EXPECT_THAT(stream_.known, ElementsAre("c"));
}

TEST_F(ConstantsOfCalls, AreCountedOnceForWhatIsToldTwice) {
  tell_function(1, {"a"});
  tell_function(1, {"a"});
  sent_.release_function(1);
  tell_function(1, {"a"});
  EXPECT_THAT(stream_.brought, ElementsAre("a"));
}

}  // namespace
}  // namespace cohort::distribute
