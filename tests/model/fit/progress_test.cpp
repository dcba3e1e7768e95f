#include "cohort/model/fit/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace cohort {
namespace {

TEST(Progress, DrawsKerasBarOnATerminal) {
  std::ostringstream out;
  ProgressBar bar(out, /*terminal=*/true);
  bar.set_params({.verbose = 1, .epochs = 2, .steps = 100});
  bar.on_train_begin();
  bar.on_epoch_begin(0);
  EXPECT_EQ(out.str(), "Epoch 1/2\n");
  Logs logs{{"accuracy", 0.5}, {"loss", 0.00012}};
  out.str("");
  bar.on_train_batch_end(49, logs);
  const std::string half = out.str();
  EXPECT_EQ(
      half.rfind("\r\x1b[1m 50/100\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━\x1b[0m \x1b[1m0s\x1b[0m", 0), 0u)
      << half;
  EXPECT_NE(half.find("us/step - accuracy: 0.5000 - loss: 1.2000e-04"), std::string::npos) << half;
  out.str("");
  bar.on_epoch_end(0, logs);
  const std::string last = out.str();
  EXPECT_EQ(last.front(), '\b');
  EXPECT_NE(last.find("\x1b[1m100/100\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m"), std::string::npos)
      << last;
  EXPECT_EQ(last.back(), '\n');
}

TEST(Progress, WritesALinePerEpochInAPipe) {
  for (int verbose : {1, 2}) {
    std::ostringstream out;
    ProgressBar bar(out, /*terminal=*/false);
    bar.set_params({.verbose = verbose, .epochs = 3, .steps = 7});
    bar.on_train_begin();
    bar.on_epoch_begin(1);
    Logs logs{{"loss", 1.5}};
    bar.on_epoch_end(1, logs);
    EXPECT_EQ(out.str().rfind("Epoch 2/3\n7/7 - 0s - ", 0), 0u) << out.str();
    EXPECT_NE(out.str().find("/step - loss: 1.5000\n"), std::string::npos) << out.str();
    EXPECT_EQ(out.str().find('\x1b'), std::string::npos);
  }
}

TEST(Progress, EndsItsLineWhenARunEndsEarly) {
  Logs logs{{"loss", 1.5}};
  for (bool exception : {false, true}) {
    std::ostringstream out;
    {
      ProgressBar bar(out, /*terminal=*/true);
      bar.set_params({.verbose = 1, .epochs = 1, .steps = 7});
      bar.on_train_begin();
      bar.on_epoch_begin(0);
      bar.on_train_batch_end(2, logs);
      EXPECT_NE(out.str().back(), '\n');
      if (!exception) bar.on_train_end(logs);
    }
    const std::string text = out.str();
    EXPECT_EQ(text.back(), '\n');
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  }
}

TEST(Progress, AddsNoLineToAFinishedOne) {
  Logs logs{{"loss", 1.5}};
  std::ostringstream out;
  {
    ProgressBar bar(out, /*terminal=*/true);
    bar.set_params({.verbose = 1, .epochs = 1, .steps = 1});
    bar.on_train_begin();
    bar.on_epoch_begin(0);
    bar.on_train_batch_end(0, logs);
    bar.on_epoch_end(0, logs);
    bar.on_train_end(logs);
  }
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Progress, IsSilentWhenValidatingInsideFit) {
  std::ostringstream out;
  ProgressBar bar(out, true);
  bar.set_params({.verbose = 1, .epochs = 1, .steps = 7});
  bar.on_train_begin();
  Logs logs{{"loss", 1.5}};
  bar.on_test_begin();
  bar.on_test_batch_end(0, logs);
  bar.on_test_end(logs);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace cohort
