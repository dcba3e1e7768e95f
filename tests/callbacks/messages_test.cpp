// What callbacks print with verbose = 1, compared with what Keras 3.15 prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cohort/callbacks/early_stopping.h"
#include "cohort/callbacks/learning_rate_scheduler.h"
#include "cohort/callbacks/reduce_lr_on_plateau.h"
#include "cohort/callbacks/terminate_on_nan.h"
#include "cohort/core/error.h"
#include "tests/callbacks/driven_callback.h"

namespace cohort::callbacks {
namespace {

std::string printed_by(const Ref<Callback>& callback, const std::vector<Logs>& epochs) {
  DrivenModel driven;
  testing::internal::CaptureStdout();
  driven.drive(callback, epochs);
  return testing::internal::GetCapturedStdout();
}

TEST(CallbackMessages, EarlyStopping) {
  EXPECT_EQ(printed_by(EarlyStopping({.patience = 1, .verbose = 1, .restore_best_weights = true}),
                       val_losses({1.0, 0.5, 0.6, 0.7})),
            "Epoch 3: early stopping\nRestoring model weights from the end of the best epoch: 2.\n");
  EXPECT_EQ(printed_by(EarlyStopping({.patience = 1}), val_losses({1.0, 0.5, 0.6, 0.7})), "");
}

TEST(CallbackMessages, ReduceLROnPlateau) {
  EXPECT_EQ(
      printed_by(ReduceLROnPlateau({.factor = 0.3, .patience = 1, .verbose = 1}), val_losses({1.0, 0.5, 0.6, 0.7})),
      "\nEpoch 3: ReduceLROnPlateau reducing learning rate to 0.030000000447034835.\n"
      "\nEpoch 4: ReduceLROnPlateau reducing learning rate to 0.009000000357627868.\n");
}

TEST(CallbackMessages, LearningRateScheduler) {
  const std::vector<double> rates = {0.5, 1e-5, 2.0, 0.1};
  const auto of_epoch = [rates](std::int64_t epoch) { return rates.at(static_cast<std::size_t>(epoch)); };
  EXPECT_EQ(printed_by(LearningRateScheduler(of_epoch, {.verbose = 1}), val_losses({1, 1, 1, 1})),
            "\nEpoch 1: LearningRateScheduler setting learning rate to 0.5.\n"
            "\nEpoch 2: LearningRateScheduler setting learning rate to 1e-05.\n"
            "\nEpoch 3: LearningRateScheduler setting learning rate to 2.0.\n"
            "\nEpoch 4: LearningRateScheduler setting learning rate to 0.1.\n");
}

TEST(CallbackMessages, TerminateOnNaN) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::vector<Logs> epochs = {{{"loss", 1.0}}, {{"loss", bad}}, {{"loss", 1.0}}};
    EXPECT_EQ(printed_by(TerminateOnNaN(), epochs), "Batch 0: Invalid loss, terminating training\n");
    DrivenModel driven;
    EXPECT_THROW(driven.drive(TerminateOnNaN({.raise_error = true}), epochs), Error);
  }
}

}  // namespace
}  // namespace cohort::callbacks
