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
    proto::RunGraphProto metadata;
    metadata.ParseFromString(request.meta);
    named.assign(metadata.constants().hashes().begin(), metadata.constants().hashes().end());
    parts = request.parts.size();
    if (gone) throw Error(ErrorCode::Unavailable, "ps:0: connection reset");
    reply.head = request.head;
  }
  bool gone = false;
  std::vector<std::string> named;
  std::size_t parts = 0;
};

class ConstantsOfCalls : public testing::Test {
 protected:
  // With a part of its own.
  void call(const std::vector<std::string>& hashes) {
    ConstantTable constants;
    for (const std::string& hash : hashes) constants.tensors.emplace_back(hash, Tensor::scalar(1.0));
    call_with_constants<Method::RunGraph>(stream_, {}, {}, constants, sent_, {Tensor::scalar(2.0)});
  }
  ConstantsStream stream_;
  SentConstants sent_;
};

TEST_F(ConstantsOfCalls, TravelOnce) {
  call({"a", "b"});
  EXPECT_THAT(stream_.named, ElementsAre("a", "b"));
  EXPECT_EQ(stream_.parts, 3u);
  call({"b", "c"});
  EXPECT_THAT(stream_.named, ElementsAre("c"));
  EXPECT_EQ(stream_.parts, 2u);
  call({"a", "b", "c"});
  EXPECT_THAT(stream_.named, IsEmpty());
  EXPECT_EQ(stream_.parts, 1u);
  sent_.clear();
  call({"c"});
  EXPECT_THAT(stream_.named, ElementsAre("c"));
}

TEST_F(ConstantsOfCalls, TravelAgainAfterACallThatFailed) {
  call({"a"});
  stream_.gone = true;
  EXPECT_THAT(error_of([&] { call({"a", "b"}); }), HasSubstr("connection reset"));
  stream_.gone = false;
  call({"a", "b"});
  EXPECT_THAT(stream_.named, ElementsAre("b"));
  EXPECT_EQ(stream_.parts, 2u);
}

}  // namespace
}  // namespace cohort::distribute
