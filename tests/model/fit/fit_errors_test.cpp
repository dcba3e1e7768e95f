// Bad input is an error that says what was expected and what came.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

template <class F>
void expect_error(ErrorCode code, std::initializer_list<const char*> parts, F run) {
  try {
    run();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const char* part : parts) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

struct CompiledLine {
  CompiledLine() : model({make<Linear>()}) { model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"}); }
  // Still trains after what went wrong.
  ~CompiledLine() {
    const History history = model.fit(line_x(), line_y(), {.epochs = 2, .verbose = 0});
    EXPECT_LT(history["loss"][1], history["loss"][0]);
  }
  Sequential model;
};

TEST(Errors, FitBeforeCompile) {
  Sequential model({make<Linear>()});
  expect_error(ErrorCode::FailedPrecondition, {"Model.fit: ", "compile()"}, [&] { model.fit(line_x(), line_y()); });
  expect_error(ErrorCode::FailedPrecondition, {"Model.evaluate: "}, [&] { model.evaluate(line_x(), line_y()); });
  expect_error(ErrorCode::FailedPrecondition, {"Model.train_on_batch: "}, [&] { model.train_on_batch(line_x()); });
}

TEST(Errors, DifferentNumbersOfSamples) {
  CompiledLine line;
  expect_error(ErrorCode::InvalidArgument, {"Model.fit: ", "x.shape=(10, 1)", "y.shape=(7, 1)"}, [&] {
    line.model.fit(line_x(), Tensor::full({7, 1}, 1.0), {.verbose = 0});
  });
  expect_error(ErrorCode::InvalidArgument, {"sample_weight.shape=(3,)"},
               [&] { line.model.fit(line_x(), line_y(), {.verbose = 0, .sample_weight = Tensor::full({3}, 1.0)}); });
}

TEST(Errors, EmptyData) {
  CompiledLine line;
  expect_error(ErrorCode::InvalidArgument, {"Model.fit: ", "at least one batch"}, [&] {
    line.model.fit(Tensor::full({0, 1}, 0.0), Tensor::full({0, 1}, 0.0), {.verbose = 0});
  });
  expect_error(ErrorCode::InvalidArgument, {"data must be given"}, [&] { line.model.fit(Dataset(), {.verbose = 0}); });
}

TEST(Errors, WrongRankAndShape) {
  CompiledLine line;
  line.model.fit(line_x(), line_y(), {.verbose = 0});
  EXPECT_THROW(line.model.fit(Tensor::full({10, 4}, 1.0), line_y(), {.verbose = 0}), Error);
  EXPECT_THROW(line.model.fit(Tensor::full({10}, 1.0), line_y(), {.verbose = 0}), Error);
  expect_error(ErrorCode::InvalidArgument, {"Model.fit: "},
               [&] { line.model.fit(Tensor::scalar(1.0), line_y(), {.verbose = 0}); });
}

TEST(Errors, WrongType) {
  CompiledLine line;
  EXPECT_THROW(line.model.fit(Tensor::of_strings(std::vector<std::string>(10, "x"), {10, 1}), line_y(), {.verbose = 0}),
               Error);
}

TEST(Errors, UnknownNames) {
  Sequential model({make<Linear>()});
  expect_error(ErrorCode::NotFound, {"sdg"}, [&] { model.compile({.optimizer = "sdg", .loss = "mse"}); });
  expect_error(ErrorCode::NotFound, {"mze"}, [&] { model.compile({.optimizer = "sgd", .loss = "mze"}); });
  expect_error(ErrorCode::NotFound, {"acuracy"},
               [&] { model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"acuracy"}}); });
  EXPECT_FALSE(model.compiled());
}

TEST(Errors, NoLoss) {
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd"});
  expect_error(ErrorCode::FailedPrecondition, {"loss"}, [&] { model.fit(line_x(), line_y(), {.verbose = 0}); });
}

TEST(Errors, OptionsOutOfRange) {
  CompiledLine line;
  EXPECT_THROW(line.model.fit(line_x(), line_y(), {.batch_size = 0, .verbose = 0}), Error);
  EXPECT_THROW(line.model.fit(line_x(), line_y(), {.verbose = 3}), Error);
  EXPECT_THROW(line.model.fit(line_x(), line_y(), {.epochs = -1, .verbose = 0}), Error);
  EXPECT_THROW(line.model.fit(line_x(), line_y(), {.verbose = 0, .validation_split = 1.5}), Error);
  EXPECT_THROW(line.model.fit(line_x(), line_y(), {.verbose = 0, .steps_per_epoch = 0}), Error);
  EXPECT_THROW(line.model.fit(line_x(), line_y(), {.verbose = 0, .validation_freq = 0}), Error);
}

TEST(Errors, LabelOutOfRange) {
  for (bool eager : {false, true}) {
    Sequential model({make<Linear>(3)});
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .run_eagerly = eager});
    const Tensor bad = Tensor::of<std::int32_t>({0, 1, 2, 3}, {4});
    EXPECT_THROW(model.fit(Tensor::full({4, 2}, 0.1), bad, {.verbose = 0, .shuffle = false}), Error);
    const Tensor good = Tensor::of<std::int32_t>({0, 1, 2, 0}, {4});
    EXPECT_NO_THROW(model.fit(Tensor::full({4, 2}, 0.1), good, {.verbose = 0}));
  }
}

// Reads a value where there is none yet.
class Peeks : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext&) override { return x * (x.to_vector<float>()[0] > 0 ? 1.0 : 2.0); }
};

TEST(Errors, ReadingAValueInsideATrace) {
  Sequential model({make<Peeks>(), make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THROW(model.fit(line_x(), line_y(), {.verbose = 0}), Error);
  model.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = true});
  EXPECT_NO_THROW(model.fit(line_x(), line_y(), {.verbose = 0}));
}

TEST(Errors, NotANumberInTheDataDoesNotStopTraining) {
  CompiledLine line;
  std::vector<float> x = line_x().to_vector<float>();
  x[3] = std::numeric_limits<float>::quiet_NaN();
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = model.fit(Tensor::of(x, {10, 1}), line_y(), {.epochs = 2, .verbose = 0});
  EXPECT_EQ(history.epoch().size(), 2u);
  EXPECT_TRUE(std::isnan(history["loss"][1]));
}

}  // namespace
}  // namespace cohort
