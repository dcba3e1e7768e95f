#include "cohort/distribute/coordinator/remote_variable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/distribute/coordinator/changed_replies.h"
#include "tests/support/error_of.h"

namespace cohort::distribute::test {
namespace {

using cohort::test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST_F(ChangedReplies, AReadThatBringsNoValueIsRefused) {
  auto scope = strategy_.scope();
  const Variable variable(Tensor::scalar(3.0));
  EXPECT_EQ(read_now(variable).item<float>(), 3.0f);
  ps_.change(Method::RunGraph, [](Message& reply) { reply.parts.clear(); });
  EXPECT_THAT(error_of([&] { read_now(variable); }),
              AllOf(HasSubstr("DataLoss ReadVariable"), HasSubstr("parts=0, outputs=1")));
  ps_.change(Method::RunGraph, [](Message& reply) { reply.parts.push_back(Tensor::scalar(4.0)); });
  EXPECT_THAT(error_of([&] { read_now(variable); }), HasSubstr("parts=2, outputs=1"));
  ps_.change(Method::RunGraph, {});
  EXPECT_EQ(read_now(variable).item<float>(), 3.0f);
}

}  // namespace
}  // namespace cohort::distribute::test
