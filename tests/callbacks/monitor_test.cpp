#include "cohort/callbacks/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/callbacks/early_stopping.h"
#include "cohort/callbacks/reduce_lr_on_plateau.h"
#include "cohort/core/error.h"
#include "tests/callbacks/driven_callback.h"
#include "tests/support/error_of.h"

namespace cohort::callbacks {
namespace {

using test::error_of;
using testing::HasSubstr;

// Whether more is better, as the model's own metrics say; of its last one where no figure is named.
bool more_is_better(const MetricsArgument& metrics, std::string figure = {}) {
  DrivenModel driven;
  driven.model().compile({.optimizer = "sgd", .loss = "mse", .metrics = metrics});
  driven.model().evaluate(Tensor::full({2, 1}, 1.0), Tensor::full({2, 1}, 1.0), {.verbose = 0});
  if (figure.empty()) figure = "val_" + driven.model().metrics_names().back();
  Monitor monitor("EarlyStopping", figure, "auto");
  return monitor.improved(2.0, 1.0, driven.model());
}

TEST(Monitor, AsksTheMetricWhichDirectionIsBetter) {
  EXPECT_TRUE(more_is_better({"accuracy"}, "val_accuracy"));
  EXPECT_TRUE(more_is_better({"binary_accuracy"}, "binary_accuracy"));
  EXPECT_TRUE(more_is_better({"AUC"}));
  EXPECT_FALSE(more_is_better({"mae"}, "val_mae"));
  EXPECT_FALSE(more_is_better({"binary_crossentropy"}, "val_binary_crossentropy"));
  EXPECT_FALSE(more_is_better({}, "val_loss"));
  EXPECT_FALSE(more_is_better({}, "loss"));
}

TEST(Monitor, SaysWhenTheDirectionIsNotKnown) {
  const std::string problem = "EarlyStopping: monitor must be a figure whose better direction is known";
  EXPECT_THAT(error_of([] { more_is_better({"accuracy"}, "val_speed"); }), HasSubstr(problem));
  // Counts are neither good nor bad by themselves.
  EXPECT_THAT(error_of([] { more_is_better({"TruePositives"}); }), HasSubstr(problem));
}

// As Keras does, even where the figure is not looked at yet.
TEST(Monitor, IsDecidedAtTheEndOfTheFirstEpoch) {
  DrivenModel driven;
  EXPECT_THROW(driven.drive(EarlyStopping({.monitor = "speed", .start_from_epoch = 5}), val_losses({1.0})), Error);
  EXPECT_THROW(driven.drive(ReduceLROnPlateau({.monitor = "speed"}), val_losses({1.0})), Error);
  EXPECT_NO_THROW(driven.drive(EarlyStopping({.monitor = "speed", .mode = "max"}), val_losses({1.0})));
}

TEST(Monitor, ComparesInSinglePrecision) {
  DrivenModel driven;
  Monitor monitor("EarlyStopping", "loss", "min");
  EXPECT_FALSE(monitor.improved(0.5 - 1e-12, 0.5, driven.model()));
  EXPECT_TRUE(monitor.improved(0.5 - 1e-6, 0.5, driven.model()));
}

TEST(ReduceLROnPlateau, RefusesAFactorThatDoesNotReduce) {
  EXPECT_THAT(error_of([] { ReduceLROnPlateau({.factor = 1.0}); }), HasSubstr("factor=1"));
}

}  // namespace
}  // namespace cohort::callbacks
