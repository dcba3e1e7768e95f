#include "cohort/distribute/worker/constant_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/distribute/protocol/messages.pb.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;

proto::ConstantsProto naming(const std::vector<std::string>& brought, const std::vector<std::string>& known) {
  proto::ConstantsProto names;
  for (const std::string& hash : brought) names.add_hashes(hash);
  for (const std::string& hash : known) names.add_known(hash);
  return names;
}

TEST(ConstantStore, AConstantStaysAsLongAsSomebodyHoldsIt) {
  ConstantStore store;
  auto first = std::make_unique<HeldConstants>(
      store.take(naming({"a", "b"}, {}), {Tensor::scalar(1.0), Tensor::scalar(2.0), Tensor::scalar(3.0)}));
  EXPECT_EQ(first->attached, 2u);
  EXPECT_EQ(first->table.find("b")->item<float>(), 2.0f);
  auto second = std::make_unique<HeldConstants>(store.take(naming({"c"}, {"b"}), {Tensor::scalar(4.0)}));
  EXPECT_EQ(second->attached, 1u);
  EXPECT_EQ(second->table.find("b")->item<float>(), 2.0f);
  EXPECT_EQ(second->table.find("a"), nullptr) << "only what the message names";
  EXPECT_EQ(store.size(), 3u);
  first.reset();
  EXPECT_EQ(store.size(), 2u);
  EXPECT_THAT(error_of([&] { store.take(naming({}, {"a"}), {}); }), HasSubstr("DataLoss"));
  EXPECT_EQ(store.take(naming({}, {"b"}), {}).table.find("b")->item<float>(), 2.0f);
  second.reset();
  EXPECT_EQ(store.size(), 0u);
}

TEST(ConstantStore, OneThatComesAgainIsTheOneThatIsThere) {
  ConstantStore store;
  const Tensor value = Tensor::full({1000}, 1.0), again = value.clone();
  const HeldConstants held = store.take(naming({"a"}, {}), {value});
  EXPECT_TRUE(store.take(naming({"a"}, {}), {again}).table.find("a")->same_as(value));
}

TEST(ConstantStore, AMessageBringsWhatItNames) {
  ConstantStore store;
  EXPECT_THAT(error_of([&] {
                store.take(naming({"a", "b"}, {}), {Tensor::scalar(1.0)});
              }),
              HasSubstr("constants=2, parts=1"));
  EXPECT_EQ(store.size(), 0u);
}

}  // namespace
}  // namespace cohort::distribute
