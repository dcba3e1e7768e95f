#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/callbacks/csv_logger.h"
#include "cohort/callbacks/lambda_callback.h"
#include "cohort/callbacks/progbar_logger.h"
#include "cohort/core/error.h"
#include "tests/callbacks/driven_callback.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::callbacks {
namespace {

using testing::HasSubstr;

std::pair<Tensor, Tensor> ones_and_twos() { return {Tensor::full({6, 1}, 1.0), Tensor::full({6, 1}, 2.0)}; }

TEST(LambdaCallback, HasEveryHook) {
  std::map<std::string, int> calls;
  const auto count = [&calls](const char* name) { return [&calls, name](auto&&...) { ++calls[name]; }; };
  const Ref<Callback> callback = LambdaCallback({.on_epoch_begin = count("epoch_begin"),
                                                 .on_epoch_end = count("epoch_end"),
                                                 .on_train_begin = count("train_begin"),
                                                 .on_train_end = count("train_end"),
                                                 .on_train_batch_begin = count("train_batch_begin"),
                                                 .on_train_batch_end = count("train_batch_end"),
                                                 .on_test_begin = count("test_begin"),
                                                 .on_test_end = count("test_end"),
                                                 .on_test_batch_begin = count("test_batch_begin"),
                                                 .on_test_batch_end = count("test_batch_end"),
                                                 .on_predict_begin = count("predict_begin"),
                                                 .on_predict_end = count("predict_end"),
                                                 .on_predict_batch_begin = count("predict_batch_begin"),
                                                 .on_predict_batch_end = count("predict_batch_end")});
  DrivenModel driven;
  const auto [x, y] = ones_and_twos();
  driven.model().fit(x, y, {.batch_size = 2, .epochs = 2, .verbose = 0, .callbacks = {callback}});
  driven.model().evaluate(x, y, {.batch_size = 3, .verbose = 0, .callbacks = {callback}});
  driven.model().predict(x, {.batch_size = 1, .verbose = 0, .callbacks = {callback}});
  const std::map<std::string, int> expected = {
      {"epoch_begin", 2},         {"epoch_end", 2},        {"train_begin", 1},   {"train_end", 1},
      {"train_batch_begin", 6},   {"train_batch_end", 6},  {"test_begin", 1},    {"test_end", 1},
      {"test_batch_begin", 2},    {"test_batch_end", 2},   {"predict_begin", 1}, {"predict_end", 1},
      {"predict_batch_begin", 6}, {"predict_batch_end", 6}};
  EXPECT_EQ(calls, expected);
}

TEST(LambdaCallback, AsksForNoBatchesWithoutNeed) {
  EXPECT_EQ(LambdaCallback({.on_test_end = [](Logs&) {}})->batch_hooks(), BatchHooks::None);
  EXPECT_EQ(LambdaCallback({.on_predict_batch_begin = [](std::int64_t) {}})->batch_hooks(), BatchHooks::Every);
}

TEST(ProgbarLogger, IsNotShownTwice) {
  DrivenModel driven;
  const auto [x, y] = ones_and_twos();
  const auto lines_with = [&](std::vector<Ref<Callback>> callbacks) {
    testing::internal::CaptureStdout();
    driven.model().fit(x, y, {.epochs = 1, .verbose = 2, .callbacks = std::move(callbacks)});
    const std::string text = testing::internal::GetCapturedStdout();
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines_with({}), 1);
  EXPECT_EQ(lines_with({ProgbarLogger()}), 1);
}

TEST(CSVLogger, GoesOnInAFileThatIsThere) {
  const test::TemporaryFolder folder;
  DrivenModel driven;
  driven.drive(CSVLogger(folder.file("log.csv")), val_losses({0.5, 0.25}));
  driven.drive(CSVLogger(folder.file("log.csv"), {.append = true}), val_losses({0.125}));
  EXPECT_EQ(test::content_of(folder.path() / "log.csv"),
            "epoch,loss,val_loss\r\n0,1.0,0.5\r\n1,1.0,0.25\r\n0,1.0,0.125\r\n");
  driven.drive(CSVLogger(folder.file("log.csv")), val_losses({0.75}));
  EXPECT_EQ(test::content_of(folder.path() / "log.csv"), "epoch,loss,val_loss\r\n0,1.0,0.75\r\n");
}

TEST(CSVLogger, SaysWhatIsWrong) {
  EXPECT_THAT(test::error_of([] { CSVLogger("x.csv", {.separator = ", "}); }),
              HasSubstr("CSVLogger: separator must be one character"));
  EXPECT_NO_THROW(CSVLogger("x.csv", {.separator = "→"}));
  DrivenModel driven;
  EXPECT_THAT(test::error_of([&] { driven.drive(CSVLogger("/no/such/folder/log.csv"), val_losses({1.0})); }),
              HasSubstr("filename=/no/such/folder/log.csv"));
}

}  // namespace
}  // namespace cohort::callbacks
