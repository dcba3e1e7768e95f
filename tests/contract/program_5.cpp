// A layer of one's own, and a callback.
// clang-format off
#include <cohort/cohort.h>
namespace ch = cohort;

class Scale : public ch::Layer {                                 // 5. One's own layer, and a callback
 public:
  void build(const ch::Shape& input) override { gain_ = add_weight("gain", {input.back()}, {.initializer = "ones"}); }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override { return x * gain_; }
 private:
  ch::Variable gain_;
};
COHORT_REGISTER_LAYER("mine", Scale);                            // saved and loaded as "mine>Scale"

class StopEarly : public ch::Callback {
 public:
  void on_epoch_end(std::int64_t epoch, ch::Logs& logs) override {
    if (epoch == 2 && logs.has("loss")) model().stop_training = true;
  }
};

int main() {
  ch::Sequential model({ch::make<Scale>(), ch::layers::Dense(10)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const ch::Tensor x = ch::Tensor::full({16, 4}, 0.5), y = ch::Tensor::full({16, 10}, 1.0);
  const ch::History history = model.fit(x, y, {.epochs = 100, .callbacks = {ch::make<StopEarly>()}});
  const bool named = model.get_layer(std::int64_t{0})->class_name() == "mine>Scale";
  return history.epoch().size() == 3 && named ? 0 : 1;
}
