// A job that is cut off in the middle of an epoch goes on with another number of workers: every element comes once,
// augmented as on one machine.
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "cohort/cohort.h"
#include "cohort/data/auto_shard.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;
using distribute::LocalCluster;
using distribute::ParameterServerStrategy;

constexpr std::int64_t kNumbers = 26;

// Of number n the n-th unit vector, times 1 plus a random part; and a target far below every prediction.
Dataset augmented(const Dataset& numbers) {
  return numbers
      .map([](const Tensor& number) {
        const Tensor noise = ops::random_uniform({1}, 0, 1, DType::Float32, 11);
        const Tensor unit = ops::one_hot(number, kNumbers);
        return std::tuple((1.0 + noise) * unit, ops::reshape(0.0 * noise - 1e6, {1}));
      })
      .batch(1);
}

class CutAfterHooks : public Callback {
 public:
  explicit CutAfterHooks(std::int64_t hook) : hook_(hook) {}
  void on_train_batch_end(std::int64_t, Logs&) override {
    if (--hook_ == 0) throw std::runtime_error("cut off");
  }

 private:
  std::int64_t hook_;
};

// One part of a job: until it is cut off, or to its end. What each number has added to its weight so far.
//   cut_after: batch hooks; 0: it is not cut off.
template <class Data>
std::vector<float> train_part(const Data& data, const std::string& backup, std::int64_t cut_after,
                              std::int64_t epochs) {
  // The slope of |x w - y| with y far below is x: each element adds itself to the weights.
  Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mean_absolute_error", .steps_per_execution = 2});
  FitOptions options{.epochs = epochs, .verbose = 0};
  if (!backup.empty()) options.callbacks.push_back(callbacks::BackupAndRestore(backup, {.save_freq = 2}));
  if (cut_after > 0) options.callbacks.push_back(make<CutAfterHooks>(cut_after));
  if (cut_after > 0) {
    EXPECT_THROW(model.fit(data, options), std::runtime_error);
    return {};
  }
  model.fit(data, options);
  return read_now(model.weights()[0]).template to_vector<float>();
}

template <class Data>
std::vector<float> train_on(int workers, const Data& data, const std::string& backup, std::int64_t cut_after,
                            std::int64_t epochs = 1) {
  LocalCluster cluster({{"worker", workers}, {"ps", 1}});
  ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  return train_part(data, backup, cut_after, epochs);
}

// Cut off on 2 workers, then on 3; 1 ends it.
template <class Data>
std::vector<float> train_on_two_three_and_one(const Data& data, std::int64_t epochs = 1) {
  const test::Deadline deadline(120s);
  const test::TemporaryFolder folder;
  const std::string backup = folder.file("backup");
  train_on(2, data, backup, 4, epochs);
  train_on(3, data, backup, 3, epochs);
  return train_on(1, data, backup, 0, epochs);
}

Dataset known_numbers() { return datasets::range(kNumbers).shuffle(kNumbers, {.seed = 7}); }
Dataset unknown_numbers() {
  return test::counted_source({.elements = kNumbers, .known = false}).map([](const Tensor& x, const Tensor&) {
    return ops::cast(ops::sum(x), DType::Int64) - 1;
  });
}

TEST(ResumedData, OfADatasetIsEveryElementOnceAugmentedAsOnOneMachine) {
  const Dataset data = augmented(known_numbers());
  const std::vector<float> whole = train_part(data, "", 0, 2);
  for (const float weight : whole) EXPECT_LE(weight, -2.0f);  // both epochs had every number
  EXPECT_EQ(train_on_two_three_and_one(data, 2), whole);
}

TEST(ResumedData, OfUnknownLengthIsEveryElementOnceAugmentedAsOnOneMachine) {
  const Dataset data = augmented(unknown_numbers());
  const std::vector<float> whole = train_part(data, "", 0, 1);
  EXPECT_EQ(train_on_two_three_and_one(data), whole);
}

// The pipelines of the first start stay, and those of more workers than there are now take turns.
TEST(ResumedData, OfACreatorStaysDividedAsItWas) {
  std::vector<std::int64_t> divided_by;
  const DatasetCreator creator([&](const InputContext& context) {
    divided_by.push_back(context.num_input_pipelines);
    return augmented(known_numbers().shard(context.num_input_pipelines, context.input_pipeline_id));
  });
  const std::vector<float> whole = train_part(augmented(known_numbers()), "", 0, 1);
  EXPECT_EQ(train_on_two_three_and_one(creator), whole);
  EXPECT_EQ(divided_by.back(), 2);
}

// Files are divided among the workers of the first start; whoever comes later takes on their pipelines.
TEST(ResumedData, OfFilesIsEveryElementOnceAugmentedAsOnOneMachine) {
  const test::TemporaryFolder folder;
  std::vector<std::string> files;
  for (std::int64_t number = 0; number < kNumbers;) {
    files.push_back(folder.file(std::to_string(number)));
    std::ofstream out(files.back());
    for (int line = 0; line < 7 && number < kNumbers; ++line) out << number++ << "\n";
  }
  const Dataset numbers = datasets::csv(files, {.tensors = {{.columns = {0}, .dtype = DType::Int64}}, .header = false});
  ASSERT_EQ(resolve_auto_shard(augmented(numbers), AutoShardPolicy::Auto, 2), AutoShardPolicy::File);
  const std::vector<float> whole = train_part(augmented(numbers), "", 0, 2);
  EXPECT_EQ(train_on_two_three_and_one(augmented(numbers), 2), whole);
}

}  // namespace
}  // namespace cohort
