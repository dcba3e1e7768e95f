#include "cohort/callbacks/lambda_callback.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/callbacks/driven_callback.h"

namespace cohort::callbacks {
namespace {

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
  const Tensor x = Tensor::full({6, 1}, 1.0), y = Tensor::full({6, 1}, 2.0);
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

}  // namespace
}  // namespace cohort::callbacks
