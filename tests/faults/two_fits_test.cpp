// Two calls of fit at once on one strategy: what happens to one is nothing to the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Rows of ones, and an error where there should be another.
class BrokenIterator : public DatasetIterator {
 public:
  bool next(Tensors& element) override {
    if (++given_ > 20) throw Error(ErrorCode::DataLoss, "BrokenIterator: the file is torn");
    element.assign(1, Tensor::full({1, 1}, 1.0));
    return true;
  }
  void rewind() override { given_ = 0; }
  void save_to(StateWriter&) const override {}
  void restore_from(StateReader&) override { given_ = 0; }

 private:
  int given_ = 0;
};

class BrokenStage : public DatasetStage {
 public:
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override { return 100; }
  std::unique_ptr<DatasetIterator> iterator() const override { return std::make_unique<BrokenIterator>(); }

 private:
  const ElementSpec spec_ = ElementSpec::tuple({TensorSpec{float32, {1, 1}}});
};

COHORT_DATASET("faults>broken",
               [](const std::vector<Dataset>&, const Attributes&) { return std::make_shared<BrokenStage>(); });

TEST(TwoFits, ErrorsAndCancelsAreTheirOwn) {
  const Deadline deadline(60s);
  const distribute::LocalCluster cluster({{"worker", 2}, {"ps", 2}});
  const distribute::ParameterServerStrategy strategy(cluster.resolver(), kOnBothServers);
  std::atomic<bool> over = false;
  std::thread sound([&] {
    for (int round = 0; round < 3; ++round) EXPECT_EQ(fit_sums(strategy, 400, 2), expected_sums(400, 2));
    over = true;
  });
  int stopped = 0;
  while (!over) {
    auto scope = strategy.scope();
    SummingModel broken;
    EXPECT_THAT(error_of([&] { broken.fit(Dataset::make("faults>broken", {}, {}), {.verbose = 0}); }),
                HasSubstr("the file is torn"));
    SummingModel left_early;
    left_early.fit(
        numbers(200),
        {.verbose = 0, .callbacks = {callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t batch, Logs&) {
                         if (batch >= 10) left_early.stop_training = true;
                       }})}});
    ++stopped;
  }
  sound.join();
  EXPECT_GT(stopped, 0);
}

}  // namespace
}  // namespace cohort::test
