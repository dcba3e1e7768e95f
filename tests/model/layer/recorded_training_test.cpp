// A training= that a functional model's call of a layer recorded, against what Keras 3.15.1 does in the same calls.

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/layers/layers.h"
#include "cohort/model/model.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/model_json.h"

namespace cohort {
namespace {

Tensor batch_of_ones() { return Tensor::full({8, 16}, 1.0); }

bool drops(const Tensor& y) {
  const std::vector<float> values = y.to_vector<float>();
  return std::find(values.begin(), values.end(), 0.0f) != values.end();
}

LayerHandle<Model> dropout_model(std::optional<bool> recorded) {
  const SymbolicTensor x = Input({16});
  return make<Model>(Symbols(x), Symbols(layers::Dropout(0.5)(x, {.training = recorded})));
}

// Calls a model as it is called itself, or says what it was told.
class Around : public Layer {
 public:
  Around(LayerHandle<Model> model, bool passes_on) : model_(track("model", model)), passes_on_(passes_on) {}
  Tensor call(const Tensor& x, const CallContext& context) override {
    return passes_on_ ? model_(x, {.training = context.training}) : model_(x);
  }

 private:
  LayerHandle<Model> model_;
  bool passes_on_;
};

class Silencing : public Layer {
 public:
  explicit Silencing(LayerHandle<Model> model) : model_(track("model", model)) {}
  Tensor call(const Tensor& x, const CallContext&) override {
    return model_->apply(x, {.training = false, .training_said = true}).leaf();
  }

 private:
  LayerHandle<Model> model_;
};

struct RecordedRow {
  std::optional<bool> recorded;
  bool bare, told_false,
      told_true;  // whether Keras's model(x), model(x, training=False), model(x, training=True) drops
};
const RecordedRow kRecordedRows[] = {
    {std::nullopt, false, false, true},
    {true, true, false, true},
    {false, false, false, true},
};

TEST(RecordedTraining, CountsWhereNobodySaysOtherwise) {
  for (const RecordedRow& row : kRecordedRows) {
    const LayerHandle<Model> model = dropout_model(row.recorded);
    SCOPED_TRACE(row.recorded ? (*row.recorded ? "true" : "false") : "none");
    EXPECT_EQ(drops(model(batch_of_ones())), row.bare);
    EXPECT_EQ(drops(model(batch_of_ones(), {.training = false})), row.told_false);
    EXPECT_EQ(drops(model(batch_of_ones(), {.training = true})), row.told_true);
    EXPECT_FALSE(drops(model->predict(batch_of_ones(), {.verbose = 0})));
  }
}

TEST(RecordedTraining, CountsInsideOtherLayersAndModels) {
  for (const RecordedRow& row : kRecordedRows) {
    SCOPED_TRACE(row.recorded ? (*row.recorded ? "true" : "false") : "none");
    const LayerHandle<Model> model = dropout_model(row.recorded);
    const SymbolicTensor x = Input({16});
    auto nested = make<Model>(Symbols(x), Symbols(model(x)));
    auto sequential = make<Sequential>({model});
    auto around = make<Around>(model, false), passing_on = make<Around>(model, true);
    const auto check = [&](const auto& layer) {
      EXPECT_EQ(drops(layer(batch_of_ones())), row.bare);
      EXPECT_EQ(drops(layer(batch_of_ones(), {.training = false})), row.told_false);
      EXPECT_EQ(drops(layer(batch_of_ones(), {.training = true})), row.told_true);
    };
    check(nested);
    check(sequential);
    check(around);
    check(passing_on);
  }
}

TEST(RecordedTraining, IsSilencedByALayerThatSaysSo) {
  auto silencing = make<Silencing>(dropout_model(true));
  EXPECT_FALSE(drops(silencing(batch_of_ones())));
  EXPECT_FALSE(drops(silencing(batch_of_ones(), {.training = true})));
}

TEST(RecordedTraining, OfANestedModelCountsForItsLayers) {
  const SymbolicTensor x = Input({16});
  auto outer = make<Model>(Symbols(x), Symbols(dropout_model(std::nullopt)(x, {.training = true})));
  EXPECT_TRUE(drops(outer(batch_of_ones())));
  EXPECT_FALSE(drops(outer(batch_of_ones(), {.training = false})));
  auto off = make<Model>(Symbols(x), Symbols(dropout_model(true)(x, {.training = false})));
  EXPECT_FALSE(drops(off(batch_of_ones())));
}

TEST(RecordedTraining, IsReadBackFromAFile) {
  const Ref<Model> read = model_from_json(model_to_json(*dropout_model(true)));
  EXPECT_TRUE(drops((*read)(batch_of_ones())));
  EXPECT_FALSE(drops((*read)(batch_of_ones(), {.training = false})));
  const SymbolicTensor x = Input({16});
  auto off = make<Model>(Symbols(x), Symbols(dropout_model(true)(x, {.training = false})));
  const Ref<Model> read_off = model_from_json(model_to_json(*off));
  EXPECT_FALSE(drops((*read_off)(batch_of_ones())));
  EXPECT_TRUE(drops((*read_off)(batch_of_ones(), {.training = true})));
  EXPECT_EQ(model_to_json(*read_off), model_to_json(*off));
}

}  // namespace
}  // namespace cohort
