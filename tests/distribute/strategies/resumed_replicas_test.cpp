// A training of replicas in step that is cut off goes on from its backup as if nothing had happened, to the bit.
#include <gtest/gtest.h>

#include <stdexcept>

#include "cohort/cohort.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"
#include "tests/support/paths.h"

namespace cohort::distribute {
namespace {

using cohort::test::in_step_on;
using cohort::test::InStep;
using cohort::test::values_of;
using cohort::test::waves;

class CutAfterBatches : public Callback {
 public:
  explicit CutAfterBatches(int batches) : batches_(batches) {}
  void on_train_batch_end(std::int64_t, Logs&) override {
    if (--batches_ == 0) throw std::runtime_error("the power is cut");
  }

 private:
  int batches_;
};

struct Ended {
  std::vector<std::vector<float>> weights;
  std::vector<double> loss, error;  // of the last epoch
};

// Statistics that replicas have for themselves, dropout, and a last batch with a row for one replica alone.
//   cut: batches until it is cut off; 0: it is not.
Ended train_replicas(InStep kind, bool eagerly, const std::string& backup, int cut) {
  const StrategyHandle strategy = in_step_on(kind, 3);
  auto scope = strategy.scope();
  set_random_seed(5);
  Sequential model(
      {layers::Dense(6, {.activation = "tanh"}), layers::BatchNormalization(), layers::Dropout(0.3), layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .run_eagerly = eagerly});
  FitOptions options{.epochs = 2, .verbose = 0};
  if (!backup.empty()) options.callbacks.push_back(callbacks::BackupAndRestore(backup, {.save_freq = 1}));
  if (cut > 0) options.callbacks.push_back(make<CutAfterBatches>(cut));
  const Dataset data = datasets::from_tensor_slices(waves({22, 4}), waves({22, 2}, 11)).shuffle(30).batch(7);
  const History history = model.fit(data, options);
  return {values_of(model), {history["loss"].back()}, {history["mae"].back()}};
}

class ResumedReplicas : public testing::TestWithParam<std::tuple<InStep, bool>> {};

TEST_P(ResumedReplicas, GoOnToTheBit) {
  const auto [kind, eagerly] = GetParam();
  const Ended whole = train_replicas(kind, eagerly, {}, 0);
  for (const int cut : {2, 4, 7}) {  // in an epoch, at its end, in the next one
    SCOPED_TRACE(cut);
    const cohort::test::TemporaryFolder folder;
    const std::string backup = folder.file("backup");
    EXPECT_THROW(train_replicas(kind, eagerly, backup, cut), std::runtime_error);
    const Ended resumed = train_replicas(kind, eagerly, backup, 0);
    EXPECT_EQ(resumed.weights, whole.weights);
    EXPECT_EQ(resumed.loss, whole.loss);
    EXPECT_EQ(resumed.error, whole.error);
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, ResumedReplicas,
                         testing::Combine(testing::Values(InStep::Mirrored, InStep::CentralStorage), testing::Bool()),
                         [](const auto& info) {
                           return cohort::test::name_of(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "LineByLine" : "Traced");
                         });

}  // namespace
}  // namespace cohort::distribute
