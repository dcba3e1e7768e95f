#include "cohort/callbacks/progbar_logger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/callbacks/driven_callback.h"

namespace cohort::callbacks {
namespace {

TEST(ProgbarLogger, IsNotShownTwice) {
  DrivenModel driven;
  const Tensor x = Tensor::full({6, 1}, 1.0), y = Tensor::full({6, 1}, 2.0);
  const auto lines_with = [&](std::vector<Ref<Callback>> callbacks) {
    testing::internal::CaptureStdout();
    driven.model().fit(x, y, {.epochs = 1, .verbose = 2, .callbacks = std::move(callbacks)});
    const std::string text = testing::internal::GetCapturedStdout();
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines_with({}), 1);
  EXPECT_EQ(lines_with({ProgbarLogger()}), 1);
}

}  // namespace
}  // namespace cohort::callbacks
