// Input of a job whose worker is killed in the middle of an epoch, and whose chief then ends, too: started again with
// other numbers of workers, every element comes once, augmented as on one machine.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "cohort/cohort.h"
#include "cohort/data/auto_shard.h"
#include "tests/support/deadline.h"
#include "tests/support/paths.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kInputNumbers = 40;

// Of number n the n-th unit vector, turned round or not, times 1 plus a random part; and a target far below.
Dataset flipped(const Dataset& numbers) {
  return numbers
      .map([](const Tensor& number) {
        const Tensor coin = ops::random_uniform({1}, -1, 1, DType::Float32, 13);
        const Tensor noise = ops::random_uniform({1}, 0, 1, DType::Float32, 17);
        const Tensor unit = ops::one_hot(number, kInputNumbers);
        return std::tuple(ops::sign(coin) * (1.0 + noise) * unit, ops::reshape(0.0 * noise - 1e6, {1}));
      })
      .batch(1);
}

class AfterHooks : public Callback {
 public:
  explicit AfterHooks(std::function<void(std::int64_t)> action) : action_(std::move(action)) {}
  void on_train_batch_end(std::int64_t, Logs&) override { action_(++hooks_); }

 private:
  std::function<void(std::int64_t)> action_;
  std::int64_t hooks_ = 0;
};

// What each number has added to its weight when the job ends; nothing where it is cut off.
std::vector<float> train_flipped(const Dataset& data, const std::string& backup,
                                 const std::function<void(std::int64_t)>& action = {}) {
  // The slope of |x w - y| with y far below is x: each element adds itself to the weights.
  Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mean_absolute_error", .steps_per_execution = 2});
  FitOptions options{.epochs = 2, .verbose = 0};
  if (!backup.empty()) options.callbacks.push_back(callbacks::BackupAndRestore(backup, {.save_freq = 8}));
  if (action) options.callbacks.push_back(make<AfterHooks>(action));
  try {
    model.fit(data, options);
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cut off");
    return {};
  }
  return read_now(model.weights()[0]).to_vector<float>();
}

// One part of a job. A worker is killed after a few hooks and, where it is to be cut off, the chief soon after.
std::vector<float> train_on_processes(int workers, const Dataset& data, const std::string& backup,
                                      const std::string& root, bool cut_off) {
  ProcessCluster cluster(workers, 1, 0, false, {"--data-root", root});
  distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()));
  auto scope = strategy.scope();
  bool killed = false;
  const auto action = [&](std::int64_t hook) {
    if (hook == 3 && workers > 1) {
      cluster.worker(0).kill();
      killed = true;
    }
    if (hook == 6 && cut_off) throw std::runtime_error("cut off");
  };
  const std::vector<float> weights = train_flipped(data, backup, action);
  EXPECT_EQ(killed, workers > 1);
  EXPECT_EQ(weights.empty(), cut_off);
  return weights;
}

void expect_same_as_on_one_machine(const Dataset& data, const TemporaryFolder& folder) {
  const Deadline deadline(120s);
  const std::vector<float> whole = train_flipped(data, "");
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kInputNumbers));
  const std::string root = folder.path().string(), backup = folder.file("backup");
  train_on_processes(2, data, backup, root, true);
  train_on_processes(3, data, backup, root, true);
  EXPECT_EQ(train_on_processes(1, data, backup, root, false), whole);
}

TEST(KilledInput, OfADatasetComesOnce) {
  const TemporaryFolder folder;
  expect_same_as_on_one_machine(flipped(datasets::range(kInputNumbers).shuffle(kInputNumbers, {.seed = 7})), folder);
}

// Of a length that nobody knows.
Dataset numbers_in_records(const TemporaryFolder& folder, int files) {
  std::vector<std::string> paths;
  for (int file = 0; file < files; ++file) {
    paths.push_back(folder.file("records" + std::to_string(file)));
    datasets::TFRecordWriter writer(paths.back());
    for (std::int64_t number = file; number < kInputNumbers; number += files) {
      writer.write(datasets::example({{"number", Tensor::of<std::int64_t>({number}, {1})}}));
    }
    writer.close();
  }
  return datasets::tf_records(paths)
      .apply(datasets::parse_example({{"number", datasets::FixedLenFeature({}, DType::Int64)}}))
      .map([](const Element& features) { return features[0].leaf(); });
}

TEST(KilledInput, OfOneFileOfRecordsComesOnce) {
  const TemporaryFolder folder;
  const Dataset data = flipped(numbers_in_records(folder, 1));
  ASSERT_EQ(data.cardinality(), kUnknownCardinality);
  ASSERT_EQ(resolve_auto_shard(data, AutoShardPolicy::Auto, 2), AutoShardPolicy::Data);
  expect_same_as_on_one_machine(data, folder);
}

TEST(KilledInput, OfFilesOfRecordsComesOnce) {
  const TemporaryFolder folder;
  const Dataset data = flipped(numbers_in_records(folder, 5));
  ASSERT_EQ(resolve_auto_shard(data, AutoShardPolicy::Auto, 2), AutoShardPolicy::File);
  expect_same_as_on_one_machine(data, folder);
}

}  // namespace
}  // namespace cohort::test
