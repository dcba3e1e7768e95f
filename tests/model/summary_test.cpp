#include <gtest/gtest.h>

#include "cohort/model/layer/input_layer.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::Linear;

namespace printed_as {
class Dense : public Linear {
 public:
  using Linear::Linear;
};
}  // namespace printed_as

// As Keras 3.15 prints it on a terminal of 100 columns.
constexpr const char* kBuilt =
    R"(Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━┓
┃ Layer (type)                         ┃ Output Shape                ┃         Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━┩
│ dense (Dense)                        │ (None, 300)                 │           1,500 │
├──────────────────────────────────────┼─────────────────────────────┼─────────────────┤
│ dense_1 (Dense)                      │ (None, 1)                   │             301 │
└──────────────────────────────────────┴─────────────────────────────┴─────────────────┘
 Total params: 1,801 (7.04 KB)
 Trainable params: 1,801 (7.04 KB)
 Non-trainable params: 0 (0.00 B)
)";

TEST(Summary, OfASequential) {
  reset_layer_names();
  Sequential model(
      {Ref<Layer>(std::make_shared<InputLayer>(Shape{4})), make<printed_as::Dense>(300), make<printed_as::Dense>(1)});
  EXPECT_EQ(model.summary_text({.line_length = 88}), kBuilt);
  model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  model.fit(Tensor::full({2, 4}, 1.0), Tensor::full({2, 1}, 1.0), {.verbose = 0});
  const std::string text = model.summary_text({.line_length = 88});
  EXPECT_NE(text.find("\n Optimizer params: 2 ("), std::string::npos) << text;
}

TEST(Summary, OfWhatIsNotBuilt) {
  reset_layer_names();
  Sequential model({make<printed_as::Dense>(3)});
  const std::string text = model.summary_text({.line_length = 88});
  EXPECT_NE(text.find("│ dense (Dense)                        │ ?                           │     0 (unbuilt) │"),
            std::string::npos)
      << text;
}

namespace printed_as {
class Concatenate : public Layer {
 public:
  void build_many(const std::vector<Shape>&) override {}
  Tensor call_many(const Tensors& inputs, const CallContext&) override { return inputs[0] + inputs[1]; }
};
}  // namespace printed_as

constexpr const char* kConnected =
    R"(Model: "functional"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)              ┃ Output Shape           ┃        Param # ┃ Connected to           ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━┩
│ inp (InputLayer)          │ (None, 4)              │              0 │ -                      │
├───────────────────────────┼────────────────────────┼────────────────┼────────────────────────┤
│ dense (Dense)             │ (None, 3)              │             15 │ inp[0][0]              │
├───────────────────────────┼────────────────────────┼────────────────┼────────────────────────┤
│ dense_1 (Dense)           │ (None, 3)              │             12 │ dense[0][0],           │
│                           │                        │                │ dense_1[0][0]          │
├───────────────────────────┼────────────────────────┼────────────────┼────────────────────────┤
│ second (InputLayer)       │ (None, 3)              │              0 │ -                      │
├───────────────────────────┼────────────────────────┼────────────────┼────────────────────────┤
│ concatenate (Concatenate) │ (None, 3)              │              0 │ dense_1[1][0],         │
│                           │                        │                │ second[0][0]           │
└───────────────────────────┴────────────────────────┴────────────────┴────────────────────────┘
 Total params: 27 (108.00 B)
 Trainable params: 27 (108.00 B)
 Non-trainable params: 0 (0.00 B)
)";

TEST(Summary, ShowsConnections) {
  reset_layer_names();
  SymbolicTensor a = Input({4}, {.name = "inp"}), b = Input({3}, {.name = "second"});
  SymbolicTensor x = make<printed_as::Dense>(3)(a);
  auto shared = make<printed_as::Dense>(3);
  x = shared(shared(x));
  Model model({a, b}, make<printed_as::Concatenate>()({x, b}));
  EXPECT_EQ(model.summary_text({.line_length = 96}), kConnected);
}

}  // namespace
}  // namespace cohort
