#include "cohort/model/functional.h"

#include <gtest/gtest.h>

#include "cohort/ops/joining.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

class Join : public Layer {
 public:
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext&) override { return ops::concatenate(inputs, -1); }
};

// Keras's example of a graph with a shared layer, two inputs and two outputs.
struct TwoInputNet {
  TwoInputNet() {
    reset_layer_names();
    SymbolicTensor a = Input({4}, {.name = "a"}), b = Input({2});
    auto shared = make<Linear>(3, "ones");
    SymbolicTensor x = make<Linear>(3, "ones")(a);
    x = shared(shared(x));
    x = make<Join>()({x, b});
    auto p = make<Linear>(1, "ones"), q = make<Linear>(2, "ones");
    p->set_name("p");
    q->set_name("q");
    model = std::make_unique<Model>(Symbols{a, b}, Symbols{p(x), q(x)});
  }
  std::unique_ptr<Model> model;
};

TEST(Functional, RunsAGraphOfLayers) {
  TwoInputNet net;
  const Tensor a = Tensor::full({2, 4}, 1.0), b = Tensor::full({2, 2}, 1.0);
  const Element out = net.model->apply(Element::tuple({a, b}), {});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].leaf().to_vector<float>(), (std::vector<float>{110, 110}));  // 3 * (4*3*3) + 2
  EXPECT_EQ(out[1].leaf().shape(), (Shape{2, 2}));
  EXPECT_EQ(net.model->output_names(), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(net.model->functional()->input_names(), (std::vector<std::string>{"a", "input_layer"}));
  EXPECT_EQ(net.model->weights().size(), 8u);  // the shared layer counts once
}

TEST(Functional, OrdersLayersAsKeras) {
  TwoInputNet net;
  std::vector<std::string> names;
  for (const Ref<Layer>& layer : net.model->layers()) names.push_back(layer->name());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "linear", "linear_1", "input_layer", "join", "p", "q"}));
}

TEST(Functional, TrainsSeveralOutputs) {
  TwoInputNet net;
  net.model->compile({.optimizer = optimizers::SGD(1e-4),
                      .loss = {{"p", "mse"}, {"q", "mae"}},
                      .loss_weights = {{"p", 1.0}, {"q", 0.5}},
                      .metrics = {{"p", {"mae"}}, {"q", {"mse", "mae"}}}});
  const Tensor a = Tensor::full({6, 4}, 0.1), b = Tensor::full({6, 2}, 0.1);
  const Tensor p = Tensor::full({6, 1}, 1.0), q = Tensor::full({6, 2}, 2.0);
  const History history = net.model->fit({a, b}, {p, q}, {.batch_size = 3, .epochs = 2, .verbose = 0});
  std::vector<std::string> names;
  for (const auto& [name, values] : history.history()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "p_loss", "p_mae", "q_loss", "q_mae", "q_mse"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(history["loss"][i], history["p_loss"][i] + 0.5 * history["q_loss"][i], 1e-4);
    EXPECT_NEAR(history["q_loss"][i], history["q_mae"][i], 1e-4);
  }
  const Logs logs = net.model->evaluate({a, b}, {{"q", q}, {"p", p}}, {.verbose = 0});
  std::vector<std::string> order;
  for (const auto& [name, value] : logs) order.push_back(name);
  EXPECT_EQ(order, (std::vector<std::string>{"loss", "p_mae", "q_mse", "q_mae", "p_loss", "q_loss"}));
}

TEST(Functional, AListOfMetricsIsOneForEachOutput) {
  const Tensor a = Tensor::full({6, 4}, 0.1), b = Tensor::full({6, 2}, 0.1);
  const Tensor p = Tensor::full({6, 1}, 1.0), q = Tensor::full({6, 2}, 2.0);
  const auto figures = [&](const MetricsArgument& metrics, const MetricsArgument& weighted) {
    TwoInputNet net;
    net.model->compile({.optimizer = "sgd", .loss = {"mse", "mae"}, .metrics = metrics, .weighted_metrics = weighted});
    std::vector<std::string> names;
    for (const auto& [name, value] : net.model->evaluate({a, b}, {p, q}, {.verbose = 0})) names.push_back(name);
    return names;
  };
  EXPECT_EQ(figures({"mae", "mse"}, {}), (std::vector<std::string>{"loss", "p_mae", "q_mse", "p_loss", "q_loss"}));
  EXPECT_EQ(figures({}, {"mae", nullptr}), (std::vector<std::string>{"loss", "p_mae", "p_loss", "q_loss"}));
  for (const MetricsArgument::Items& wrong : {MetricsArgument::Items{"mae"}, {"mae", "mse", "mae"}}) {
    try {
      figures(MetricsArgument(wrong), {});
      FAIL() << wrong.size();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("a list of metrics needs one entry for each output"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Functional, OneOutputTakesMetricsHoweverNested) {
  const auto figures = [](const MetricsArgument& metrics) {
    Sequential model({make<Linear>(1)});
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = metrics});
    std::vector<std::string> names;
    for (const auto& [name, value] :
         model.evaluate(Tensor::full({4, 2}, 1.0), Tensor::full({4, 1}, 1.0), {.verbose = 0})) {
      names.push_back(name);
    }
    return names;
  };
  EXPECT_EQ(figures({{"out", {"mse"}}, {"aux", {"mae"}}}), (std::vector<std::string>{"loss", "mae", "mse"}));
  EXPECT_EQ(figures(MetricsArgument::per_output({{"mse"}, {"mae"}})), (std::vector<std::string>{"loss", "mse", "mae"}));
}

TEST(Functional, TakesFeaturesFromTheMiddle) {
  TwoInputNet net;
  const Ref<Layer> first = net.model->get_layer("linear");
  Model features(net.model->functional()->inputs(), first->output());
  const Element out = features.apply(Element::tuple({Tensor::full({2, 4}, 1.0), Tensor::full({2, 2}, 1.0)}), {});
  EXPECT_EQ(out.leaf().to_vector<float>(), (std::vector<float>(6, 4.0f)));
}

TEST(Functional, IsALayerOfAnotherModel) {
  auto inner = make<Sequential>({make<Linear>(2, "ones"), make<Linear>(2, "ones")});
  SymbolicTensor x = Input({3});
  Model model(x, make<Linear>(1, "ones")(inner(x)));
  EXPECT_EQ(model(Tensor::full({1, 3}, 1.0)).to_vector<float>(), (std::vector<float>{12}));
  EXPECT_EQ(model.weights().size(), 6u);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(Tensor::full({4, 3}, 1.0), Tensor::full({4, 1}, 1.0), {.verbose = 0});
  EXPECT_NE(all_weights(*inner)[0], 1.0f);
}

TEST(Functional, RefusesWhatCannotBe) {
  SymbolicTensor a = Input({4}, {.name = "left"}), b = Input({4}, {.name = "right"});
  SymbolicTensor sum = make<Join>()({a, b});
  try {
    Model model(a, sum);
    FAIL() << "an input was missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(error.what()).find("right"), std::string::npos) << error.what();
  }
  Sequential on_the_stack({make<Linear>()});
  EXPECT_THROW(on_the_stack(a), Error);
  Model model({a, b}, sum);
  EXPECT_THROW(model({Tensor::full({2, 4}, 1.0), Tensor::full({2, 5}, 1.0)}), Error);
  EXPECT_THROW(model(Tensor::full({2, 4}, 1.0)), Error);
}

}  // namespace
}  // namespace cohort
