#include "cohort/distribute/worker/pipelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "cohort/datasets/sources/range.h"
#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;

constexpr int kElements = 40;

// Each task has a dataset of its own, made of the same bytes.
Dataset shuffled(bool repeated) {
  Dataset data = datasets::range(kElements).shuffle(10, {.seed = 5});
  if (repeated) data = data.repeat(3);
  return parse_dataset(serialize(data.batch(2).prefetch(2)));
}

std::vector<std::int64_t> take(Pipeline& pipeline, int count) {
  std::vector<std::int64_t> values;
  Tensors element;
  for (int i = 0; i < count && pipeline.next(element); ++i) {
    for (const std::int64_t value : element.at(0).to_vector<std::int64_t>()) values.push_back(value);
  }
  return values;
}

std::vector<std::int64_t> take_all(DatasetIterator& iterator) {
  std::vector<std::int64_t> values;
  Tensors element;
  while (iterator.next(element)) {
    for (const std::int64_t value : element.at(0).to_vector<std::int64_t>()) values.push_back(value);
  }
  return values;
}

// As somebody sees them who walks the dataset from end to end.
std::vector<std::vector<std::int64_t>> passes(bool repeated, std::uint64_t count) {
  const auto iterator = shuffled(repeated).make_iterator();
  std::vector<std::vector<std::int64_t>> result;
  for (std::uint64_t pass = 0; pass < count; ++pass) {
    result.push_back(take_all(*iterator));
    iterator->rewind();
  }
  return result;
}

class PipelineSeeks : public testing::TestWithParam<bool> {};

// Workers jump between stretches as they come free, with and without a position that another worker saved.
TEST_P(PipelineSeeks, AnyStretchIsTheSameHoweverOneGetsThere) {
  const auto expected = passes(GetParam(), 3);
  EXPECT_NE(expected[0], expected[1]);
  const auto batches = static_cast<std::uint64_t>(expected[0].size() / 2);
  ASSERT_EQ(batches, static_cast<std::uint64_t>(GetParam() ? 60 : 20));
  std::mt19937 random(3);
  Pipeline one(shuffled(GetParam())), other(shuffled(GetParam()));
  struct Saved {
    std::uint64_t rewinds, at;
    std::string state;
  };
  std::vector<Saved> saved;
  for (int round = 0; round < 300; ++round) {
    Pipeline& pipeline = random() % 2 ? one : other;
    Lease lease{.rewinds = random() % 3, .first = random() % batches};
    if (!saved.empty() && random() % 2) {
      const Saved& from = saved[random() % saved.size()];
      if (from.at <= lease.first) {
        lease.rewinds = from.rewinds;
        lease.state_at = from.at;
        lease.state = from.state;
      }
    }
    ASSERT_TRUE(pipeline.seek(lease));
    const auto count = std::min<std::uint64_t>(1 + random() % 5, batches - lease.first);
    const auto& pass = expected[lease.rewinds];
    const std::vector<std::int64_t> wanted(pass.begin() + static_cast<std::ptrdiff_t>(2 * lease.first),
                                           pass.begin() + static_cast<std::ptrdiff_t>(2 * (lease.first + count)));
    ASSERT_EQ(take(pipeline, static_cast<int>(count)), wanted) << "round " << round;
    saved.push_back({lease.rewinds, lease.first + count, pipeline.save()});
  }
}

TEST_P(PipelineSeeks, APassThatEndsBeforeTheStretchSaysSo) {
  const std::uint64_t batches = GetParam() ? 60 : 20;
  Pipeline pipeline(shuffled(GetParam()));
  EXPECT_FALSE(pipeline.seek({.first = batches + 1}));
  EXPECT_TRUE(pipeline.seek({.first = batches}));
  EXPECT_TRUE(take(pipeline, 1).empty());
  EXPECT_TRUE(pipeline.seek({.first = batches - 1}));
  EXPECT_EQ(take(pipeline, 5).size(), 2u);
  EXPECT_TRUE(pipeline.seek({.rewinds = 1}));
  EXPECT_EQ(take(pipeline, 1000), passes(GetParam(), 2)[1]);
}

TEST_P(PipelineSeeks, AStateThatIsNoneIsAnErrorAndDoesNoHarm) {
  Pipeline pipeline(shuffled(GetParam()));
  // From behind the lease; a pipeline that stands a little before it skips, and looks at no state.
  ASSERT_TRUE(pipeline.seek({.first = 5}));
  EXPECT_NE(error_of([&] { pipeline.seek({.first = 4, .state_at = 2, .state = "no state at all"}); }), "");
  ASSERT_TRUE(pipeline.seek({.first = 3}));
  const auto pass = passes(GetParam(), 1)[0];
  EXPECT_EQ(take(pipeline, 2), std::vector<std::int64_t>(pass.begin() + 6, pass.begin() + 10));
}

// A dataset that was walked before is shuffled in another order the next time, here as on the chief.
TEST_P(PipelineSeeks, BeginsWhereTheChiefsIteratorDoes) {
  const Dataset chief = shuffled(GetParam());
  chief.make_iterator();
  const auto second = chief.make_iterator();
  Pipeline pipeline(shuffled(GetParam()), second->save());
  for (std::uint64_t pass = 0; pass < 2; ++pass) {
    const std::vector<std::int64_t> expected = take_all(*second);
    second->rewind();
    EXPECT_NE(expected, passes(GetParam(), 2)[pass]);
    ASSERT_TRUE(pipeline.seek({.rewinds = pass}));
    EXPECT_EQ(take(pipeline, 1000), expected);
  }
  ASSERT_TRUE(pipeline.seek({.rewinds = 0}));
  EXPECT_NE(take(pipeline, 1000), passes(GetParam(), 1)[0]);
}

INSTANTIATE_TEST_SUITE_P(OnceOrRepeated, PipelineSeeks, testing::Bool());

// A dataset without an end, of which passes are left half way.
TEST(Pipelines, AgreeOnEveryPassHoweverFarTheyWentInTheLastOne) {
  const Dataset endless = datasets::range(10).shuffle(10, {.seed = 1}).repeat();
  Pipeline one(parse_dataset(serialize(endless))), other(parse_dataset(serialize(endless)));
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    ASSERT_TRUE(one.seek({.rewinds = pass, .first = 3}));
    take(one, 30);
    ASSERT_TRUE(one.seek({.rewinds = pass + 1}));
    ASSERT_TRUE(other.seek({.rewinds = pass + 1}));
    EXPECT_EQ(take(one, 15), take(other, 15)) << pass;
  }
}

TEST(Pipelines, RefuseMorePassesThanAJobMakes) {
  Pipeline pipeline(shuffled(false), {});
  EXPECT_THAT(error_of([&] { pipeline.seek({.rewinds = ~std::uint64_t{0}}); }),
              HasSubstr("a lease has at most 2^24 rewinds"));
  EXPECT_TRUE(pipeline.seek({.rewinds = 3, .first = 2}));
}

TEST(Pipelines, AreMadeOnceAndFound) {
  ConstantStore constants;
  Pipelines pipelines(constants);
  EXPECT_THAT(error_of([&] { pipelines.find(0, 0); }), HasSubstr("NotFound"));
  Message request, reply;
  request.head.method = Method::CreatePipeline;
  proto::CreatePipelineProto meta;
  meta.set_dataset(2);
  meta.set_pipeline(1);
  meta.set_chain(serialize(datasets::range(9)));
  request.meta = meta.SerializeAsString();
  const auto create = [&] { answer(request, reply, pipelines, &Pipelines::create); };
  create();
  const std::shared_ptr<Pipeline> made = pipelines.find(2, 1);
  ASSERT_TRUE(made->seek({.first = 4}));
  create();  // the message came twice
  EXPECT_EQ(pipelines.find(2, 1), made);
  EXPECT_EQ(take(*made, 2), (std::vector<std::int64_t>{4, 5}));
  EXPECT_THAT(error_of([&] { pipelines.find(1, 2); }), HasSubstr("dataset=1, pipeline=2"));
  request.meta = "\xff\xff\xff";
  EXPECT_THAT(error_of(create), HasSubstr("DataLoss"));
}

// What a task is told to make of rows that it gets along.
void create(Pipelines& pipelines, int dataset, int pipeline, float value) {
  Message request, reply;
  request.head.method = Method::CreatePipeline;
  proto::CreatePipelineProto metadata;
  metadata.set_dataset(dataset);
  metadata.set_pipeline(pipeline);
  ConstantTable constants;
  metadata.set_chain(serialize(datasets::from_tensor_slices(Tensor::full({4}, value)), constants));
  for (const auto& [hash, tensor] : constants.tensors) {
    metadata.mutable_constants()->add_hashes(hash);
    request.parts.push_back(tensor);
  }
  request.meta = metadata.SerializeAsString();
  answer(request, reply, pipelines, &Pipelines::create);
}

TEST(Pipelines, AreReleasedWithTheirConstants) {
  ConstantStore constants;
  Pipelines pipelines(constants);
  create(pipelines, 1, 0, 1.0f);
  create(pipelines, 1, 1, 2.0f);
  create(pipelines, 2, 0, 1.0f);  // shares the rows of the first
  create(pipelines, 3, 0, 3.0f);
  EXPECT_EQ(constants.size(), 3u);
  const std::shared_ptr<Pipeline> used = pipelines.find(1, 1);
  proto::ReleaseProto releases;
  releases.add_datasets(1);
  releases.add_datasets(7);  // one that this task never heard of
  pipelines.release(releases);
  EXPECT_THAT(error_of([&] { pipelines.find(1, 0); }), HasSubstr("NotFound"));
  EXPECT_THAT(error_of([&] { pipelines.find(1, 1); }), HasSubstr("NotFound"));
  EXPECT_EQ(constants.size(), 2u);
  // A closure that has begun, although nobody waits for it any more, comes to its end.
  ASSERT_TRUE(used->seek({.first = 2}));
  Tensors element;
  EXPECT_TRUE(used->next(element));
  EXPECT_EQ(element.at(0).item<float>(), 2.0f);
  pipelines.release_all();
  EXPECT_THAT(error_of([&] { pipelines.find(3, 0); }), HasSubstr("NotFound"));
  EXPECT_EQ(constants.size(), 0u);
}

TEST(Pipelines, ALongWayIsLeftWhenItIsCancelled) {
  Pipeline pipeline(datasets::range(1000).repeat());
  int looks = 0;
  const auto cancel = [&] {
    if (++looks == 3) throw Error(ErrorCode::Cancelled, "Server: a closure was cancelled");
  };
  const auto far = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(error_of([&] { pipeline.seek({.first = far}, cancel); }), HasSubstr("cancelled"));
  looks = 0;
  EXPECT_THAT(error_of([&] { pipeline.seek({.rewinds = 1 << 20}, cancel); }), HasSubstr("cancelled"));
  ASSERT_TRUE(pipeline.seek({.first = 1003}));
  EXPECT_EQ(take(pipeline, 2), (std::vector<std::int64_t>{3, 4}));
}

TEST(Pipelines, APlaceBehindTheEndIsKnownWithoutWalkingThere) {
  Pipeline pipeline(datasets::range(std::int64_t{1} << 60));
  EXPECT_FALSE(pipeline.seek({.first = (std::uint64_t{1} << 60) + 1}));
}

}  // namespace
}  // namespace cohort::distribute
