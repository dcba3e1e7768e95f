#include "cohort/data/auto_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "cohort/data/dataset_function.h"
#include "cohort/data/host_function.h"
#include "cohort/datasets/transforms/with_options.h"
#include "cohort/ops/ops.h"
#include "cohort/ops/random_ops.h"
#include "tests/datasets/elements.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using datasets::range;
using datasets::text_lines;
using datasets::with_options;
using datasets::test::all;
using datasets::test::numbers;
using test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

using Lines = std::vector<std::string>;

void wait_now_and_then(const Tensors& arguments, Tensors& results) {
  const auto number = *static_cast<const std::int64_t*>(arguments[0].raw());
  if (number % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  results = {arguments[0]};
}
COHORT_HOST_FUNCTION("test>wait_now_and_then", wait_now_and_then);

Lines lines_of(const Dataset& dataset) {
  Lines lines;
  const auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element);) {
    const auto* first = static_cast<const std::string*>(element.at(0).raw());
    lines.insert(lines.end(), first, first + element.at(0).shape().num_elements());
  }
  return lines;
}

// Files of 3 lines each: "0.0", "0.1", "0.2", "1.0", ...
class AutoShard : public testing::Test {
 protected:
  Dataset files(int count) const {
    std::vector<std::string> paths;
    for (int file = 0; file < count; ++file) {
      paths.push_back(folder_.file("file" + std::to_string(file)));
      std::ofstream out(paths.back());
      for (int line = 0; line < 3; ++line) out << file << "." << line << "\n";
    }
    return text_lines(paths);
  }
  // All shares of a dataset, of which together each line comes once.
  static std::vector<Lines> shares(const Dataset& dataset, AutoShardPolicy policy, std::int64_t workers) {
    std::vector<Lines> result;
    Lines together;
    for (std::int64_t index = 0; index < workers; ++index) {
      result.push_back(lines_of(parse_dataset(serialize(shard_for(dataset, policy, workers, index)))));
      together.insert(together.end(), result.back().begin(), result.back().end());
    }
    EXPECT_THAT(together, UnorderedElementsAreArray(lines_of(dataset)));
    return result;
  }

  const test::TemporaryFolder folder_;
};

// Workers that walk in an order of their own would lose elements and repeat others.
TEST(AutoShardOrder, SharesOfDataKeepIt) {
  const Dataset any_order =
      range(40).map(HostFunction::registered("test>wait_now_and_then", TensorSpec{DType::Int64, {}}),
                    {.num_parallel_calls = 4, .deterministic = false});
  std::vector<std::int64_t> together, expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  for (const std::int64_t worker : {0, 1}) {
    for (const std::int64_t number : numbers(shard_for(any_order, AutoShardPolicy::Data, 2, worker))) {
      EXPECT_EQ(number % 2, worker);
      together.push_back(number);
    }
  }
  EXPECT_THAT(together, UnorderedElementsAreArray(expected));
  EXPECT_EQ(in_order(any_order).fingerprint(), any_order.fingerprint());
}

TEST_F(AutoShard, ByFilesGivesEveryNthFile) {
  const Dataset data = files(5);
  EXPECT_THAT(shares(data, AutoShardPolicy::File, 2),
              ElementsAre(Lines{"0.0", "0.1", "0.2", "2.0", "2.1", "2.2", "4.0", "4.1", "4.2"},
                          Lines{"1.0", "1.1", "1.2", "3.0", "3.1", "3.2"}));
  EXPECT_EQ(shares(data.batch(2).prefetch(1), AutoShardPolicy::File, 5)[3], (Lines{"3.0", "3.1", "3.2"}));
  EXPECT_EQ(shares(data.shuffle(100, {.seed = 1}).batch(4), AutoShardPolicy::File, 3)[2].size(), 3u);
  // Both sources of one chain are divided.
  const Dataset joined = data.concatenate(data.shuffle(1));
  EXPECT_EQ(shares(joined, AutoShardPolicy::File, 5)[4], (Lines{"4.0", "4.1", "4.2", "4.0", "4.1", "4.2"}));
}

TEST_F(AutoShard, ByFilesNeedsAFileForEachWorker) {
  EXPECT_THAT(error_of([&] { shard_for(files(2).batch(2), AutoShardPolicy::File, 3, 0); }),
              AllOf(HasSubstr("files=2"), HasSubstr("num_workers=3"), HasSubstr("DATA")));
  EXPECT_THAT(error_of([&] { shard_for(range(9).batch(2), AutoShardPolicy::File, 3, 0); }),
              AllOf(HasSubstr("source=range"), HasSubstr("DATA")));
  EXPECT_THAT(error_of([&] {
                shard_for(Dataset::zip({files(4), range(9)}), AutoShardPolicy::File, 3, 0);
              }),
              HasSubstr("source=range"));
  EXPECT_THAT(error_of([&] { shard_for(files(4).assert_cardinality(12), AutoShardPolicy::File, 3, 0); }),
              HasSubstr("assert_cardinality"));
}

TEST_F(AutoShard, ByDataDividesBatchesBeforeTheLastPrefetch) {
  const Dataset data = range(10).batch(2).prefetch(2);
  const Dataset share = shard_for(data, AutoShardPolicy::Data, 2, 1);
  EXPECT_EQ(all(share), (std::vector<std::vector<std::int64_t>>{{2, 3}, {6, 7}}));
  EXPECT_EQ(share.kind(), "prefetch");
  EXPECT_EQ(share.inputs()[0].kind(), "shard");
  EXPECT_EQ(share.attributes().get<std::int64_t>("buffer_size"), 2);
  EXPECT_EQ(shares(files(3).batch(2), AutoShardPolicy::Data, 4)[1], (Lines{"0.2", "1.0"}));
}

TEST_F(AutoShard, ByDataIsTheOrderOfOneMachine) {
  // Made anew each time: a dataset that was walked before is shuffled in another order.
  const auto make = [] { return range(20).shuffle(20, {.seed = 3}).batch(3); };
  const auto whole = all(make());
  for (std::int64_t index = 0; index < 3; ++index) {
    const auto share = all(shard_for(make(), AutoShardPolicy::Data, 3, index));
    ASSERT_EQ(share.size(), index == 0 ? 3u : 2u);
    for (std::size_t i = 0; i < share.size(); ++i)
      EXPECT_EQ(share[i], whole.at(i * 3 + static_cast<std::size_t>(index)));
  }
}

// Lines with what a map has drawn for each.
std::vector<std::string> drawn_for(const Dataset& lines) {
  const Dataset drawn =
      lines.map([](const Tensor& line) { return std::tuple(line, ops::random_uniform({}, 0, 1, DType::Float32, 5)); });
  std::vector<std::string> all;
  const auto iterator = drawn.make_iterator();
  for (int pass = 0; pass < 2; ++pass, iterator->rewind()) {
    for (Tensors element; iterator->next(element);) {
      all.push_back(element.at(0).to_strings().at(0) + " " + std::to_string(element.at(1).item<float>()));
    }
  }
  return all;
}

TEST_F(AutoShard, ByFilesDrawsWhatOneMachineDraws) {
  files(7);
  std::vector<std::string> paths;
  for (int file = 0; file < 7; ++file) paths.push_back(folder_.file("file" + std::to_string(file)));
  std::vector<std::string> records;
  for (int file = 0; file < 7; ++file) {
    records.push_back(folder_.file("records" + std::to_string(file)));
    datasets::TFRecordWriter writer(records.back());
    for (int record = 0; record <= file; ++record) writer.write(std::to_string(file) + "." + std::to_string(record));
    writer.close();
  }
  const Dataset names = datasets::from_tensor_slices(Tensor::of_strings(paths, {7}));
  const std::vector<std::pair<std::string, Dataset>> kinds = {
      {"text_lines", text_lines(paths)},
      {"tf_records", datasets::tf_records(records)},
      {"fixed_length_records", datasets::fixed_length_records(paths, 4)},
      {"csv", datasets::csv(paths, {.tensors = {{.columns = {0}, .dtype = DType::String}}, .header = false})},
      {"interleave", names.interleave(DatasetFunction::registered("text_lines"))},
  };
  for (const auto& [kind, data] : kinds) {
    SCOPED_TRACE(kind);
    const std::vector<std::string> whole = drawn_for(data);
    ASSERT_GE(whole.size(), 42u);
    for (const std::int64_t workers : {2, 3}) {
      std::vector<std::string> together;
      for (std::int64_t index = 0; index < workers; ++index) {
        const Dataset share = parse_dataset(serialize(shard_for(data, AutoShardPolicy::File, workers, index)));
        // Divided once more, a file is still the one it was.
        for (const std::int64_t half : {0, 1}) {
          const auto lines = drawn_for(shard_for(share, AutoShardPolicy::File, 2, half));
          together.insert(together.end(), lines.begin(), lines.end());
        }
      }
      EXPECT_THAT(together, UnorderedElementsAreArray(whole));
    }
  }
}

TEST_F(AutoShard, OffLeavesTheDatasetAlone) {
  EXPECT_EQ(numbers(shard_for(range(4), AutoShardPolicy::Off, 3, 2)), numbers(range(4)));
  EXPECT_EQ(numbers(shard_for(range(4), AutoShardPolicy::Data, 1, 0)), numbers(range(4)));
  EXPECT_EQ(shard_for(files(1), AutoShardPolicy::File, 1, 0).fingerprint(), files(1).fingerprint());
}

TEST_F(AutoShard, AutoIsByFilesWhereThereAreEnough) {
  const auto became = [](const Dataset& data, std::int64_t workers) {
    return resolve_auto_shard(data, AutoShardPolicy::Auto, workers);
  };
  EXPECT_EQ(became(files(3).batch(2), 3), AutoShardPolicy::File);
  EXPECT_EQ(became(files(3).batch(2), 4), AutoShardPolicy::Data);
  EXPECT_EQ(became(range(9), 2), AutoShardPolicy::Data);
  EXPECT_EQ(became(Dataset::zip({files(3), range(9)}), 2), AutoShardPolicy::Data);
  // Each worker's first elements would be others than one machine's.
  EXPECT_EQ(became(files(3).take(4), 2), AutoShardPolicy::Data);
  EXPECT_EQ(became(files(3).enumerate(), 2), AutoShardPolicy::Data);
  EXPECT_EQ(resolve_auto_shard(range(9), AutoShardPolicy::File, 2), AutoShardPolicy::File);
  EXPECT_EQ(shares(files(4), AutoShardPolicy::Auto, 4)[3], (Lines{"3.0", "3.1", "3.2"}));
  EXPECT_EQ(shares(files(2), AutoShardPolicy::Auto, 3)[2], (Lines{"0.2", "1.2"}));
}

TEST_F(AutoShard, AutoIsSaidOnceByTheFirstWorker) {
  const auto said_by = [&](std::int64_t index, AutoShardPolicy policy) {
    testing::internal::CaptureStderr();
    shard_for(files(2), policy, 7, index);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said_by(1, AutoShardPolicy::Auto), "");
  EXPECT_EQ(said_by(0, AutoShardPolicy::Data), "");
  EXPECT_THAT(said_by(0, AutoShardPolicy::Auto), AllOf(HasSubstr("policy DATA"), HasSubstr("2 files for 7 workers")));
  EXPECT_EQ(said_by(0, AutoShardPolicy::Auto), "");
}

TEST_F(AutoShard, IsCarriedByOptions) {
  EXPECT_EQ(auto_shard_policy_of(range(3)), std::nullopt);
  const Dataset off = range(3).apply(with_options({.auto_shard_policy = AutoShardPolicy::Off}));
  EXPECT_EQ(auto_shard_policy_of(off), AutoShardPolicy::Off);
  EXPECT_EQ(auto_shard_policy_of(parse_dataset(serialize(off.batch(2).prefetch(1)))), AutoShardPolicy::Off);
  EXPECT_EQ(auto_shard_policy_of(off.apply(with_options({})).batch(2)), AutoShardPolicy::Off);
  EXPECT_EQ(auto_shard_policy_of(off.apply(with_options({.auto_shard_policy = AutoShardPolicy::File}))),
            AutoShardPolicy::File);
  // Options behind the batches do not keep the division from being there.
  const Dataset last = range(8).batch(2).apply(with_options({.auto_shard_policy = AutoShardPolicy::Data}));
  EXPECT_EQ(all(shard_for(last, AutoShardPolicy::Data, 2, 0)),
            (std::vector<std::vector<std::int64_t>>{{0, 1}, {4, 5}}));
}

TEST_F(AutoShard, RefusesWorkersThatAreNone) {
  EXPECT_THROW(shard_for(range(3), AutoShardPolicy::Data, 0, 0), Error);
  EXPECT_THROW(shard_for(range(3), AutoShardPolicy::Off, 2, 2), Error);
  EXPECT_THROW(shard_for(range(3), AutoShardPolicy::Off, 2, -1), Error);
  EXPECT_THROW(shard_for(range(3), static_cast<AutoShardPolicy>(7), 2, 0), Error);
  EXPECT_THROW(shard_for(Dataset(), AutoShardPolicy::Data, 2, 0), Error);
}

}  // namespace
}  // namespace cohort
