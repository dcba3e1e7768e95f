#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>

#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/distribute/local_cluster.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/recurrent/rnn_cell.h"
#include "cohort/layers/reshaping/flatten.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/layer/tensor_function.h"
#include "cohort/model/model.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/saving/config_json.h"

// Every registered layer is part of a model that takes two steps here and two on a cluster.
namespace cohort {
namespace {

Tensor doubled(const Tensor& x) { return x * 2.0; }
COHORT_REGISTER_FUNCTION("every_layer", doubled);

// How a class is put into a model: its config and the inputs of its call, without the batch. A class that its defaults
// describe well enough needs no row.
struct Row {
  std::string config = "{}";
  std::vector<Shape> inputs = {{4, 6}};
  std::vector<std::string> names = {};  // of arguments; none: one input, or a list of them
  DType dtype = DType::Float32;         // integers are drawn from 0 to 3
  std::string left_out = {};            // why it is no layer to train
};

std::string object(const std::string& name, const std::string& config) {
  return R"({"module":"keras.layers","class_name":")" + name + R"(","config":)" + config +
         R"(,"registered_name":null})";
}

const std::map<std::string, Row>& table() {
  const std::vector<Shape> line = {{6, 4}}, image = {{6, 6, 4}}, volume = {{4, 4, 4, 2}}, vector = {{6}};
  const std::vector<Shape> two = {{4, 6}, {4, 6}}, three = {{4, 6}, {5, 6}, {5, 6}};
  const std::string cell = object("LSTMCell", R"({"units":3})");
  const auto with = [](std::string config, std::vector<Shape> inputs) {
    return Row{.config = std::move(config), .inputs = std::move(inputs)};
  };
  const auto left_out = [](const char* why) { return Row{.left_out = why}; };
  static const std::map<std::string, Row> rows = {
      {"Activation", with(R"({"activation":"tanh"})", vector)},
      {"ActivityRegularization", with(R"({"l2":0.1})", vector)},
      {"AdaptiveAveragePooling1D", with(R"({"output_size":3})", line)},
      {"AdaptiveAveragePooling2D", with(R"({"output_size":3})", image)},
      {"AdaptiveAveragePooling3D", with(R"({"output_size":2})", volume)},
      {"AdaptiveMaxPooling1D", with(R"({"output_size":3})", line)},
      {"AdaptiveMaxPooling2D", with(R"({"output_size":3})", image)},
      {"AdaptiveMaxPooling3D", with(R"({"output_size":2})", volume)},
      {"AdditiveAttention", with("{}", two)},
      {"AlphaDropout", with(R"({"rate":0.3})", vector)},
      {"Attention", with(R"({"use_scale":true})", two)},
      {"BatchNormalization", with("{}", image)},
      {"Bidirectional", with(R"({"layer":)" + object("LSTM", R"({"units":3})") + "}", line)},
      {"CategoryEncoding", {.config = R"({"num_tokens":4})", .inputs = {{5}}, .dtype = DType::Int32}},
      {"CenterCrop", with(R"({"height":4,"width":3})", image)},
      {"Conv1D", with(R"({"filters":3,"kernel_size":2})", line)},
      {"Conv1DTranspose", with(R"({"filters":3,"kernel_size":2})", line)},
      {"Conv2D", with(R"({"filters":3,"kernel_size":2})", image)},
      {"Conv2DTranspose", with(R"({"filters":3,"kernel_size":2})", image)},
      {"Conv3D", with(R"({"filters":3,"kernel_size":2})", volume)},
      {"Conv3DTranspose", with(R"({"filters":3,"kernel_size":2})", volume)},
      {"ConvLSTM1D", with(R"({"filters":2,"kernel_size":2})", {{3, 6, 4}})},
      {"ConvLSTM2D", with(R"({"filters":2,"kernel_size":2})", {{3, 5, 5, 2}})},
      {"ConvLSTM3D", with(R"({"filters":2,"kernel_size":2})", {{2, 4, 4, 4, 1}})},
      {"Cropping2D", with(R"({"cropping":[[1,1],[1,0]]})", image)},
      {"Dense", with(R"({"units":3})", line)},
      {"DepthwiseConv1D", with(R"({"kernel_size":2})", line)},
      {"DepthwiseConv2D", with(R"({"kernel_size":2})", image)},
      {"Discretization", with(R"({"bin_boundaries":[-0.2,0.0,0.2]})", vector)},
      {"Dot", with(R"({"axes":[2,2]})", two)},
      {"Dropout", with(R"({"rate":0.3})", vector)},
      {"EinsumDense", with(R"({"equation":"abc,cd->abd","output_shape":[null,5]})", line)},
      {"Embedding", {.config = R"({"input_dim":4,"output_dim":3})", .inputs = {{5}}, .dtype = DType::Int32}},
      {"Flatten", with("{}", line)},
      {"GRU", with(R"({"units":3})", line)},
      {"GaussianDropout", with(R"({"rate":0.3})", vector)},
      {"GaussianNoise", with(R"({"stddev":0.3})", vector)},
      {"GroupNormalization", with(R"({"groups":2})", image)},
      {"GroupQueryAttention",
       {.config = R"({"head_dim":3,"num_query_heads":4,"num_key_value_heads":2})",
        .inputs = two,
        .names = {"query", "value"}}},
      {"Hashing", {.config = R"({"num_bins":3})", .inputs = {{5}}, .dtype = DType::Int32}},
      {"InputLayer", left_out("stands at the head of every model")},
      {"IntegerLookup",
       {.config = R"({"vocabulary":[1,2,3],"output_mode":"int"})", .inputs = {{5}}, .dtype = DType::Int32}},
      {"LSTM", with(R"({"units":3})", line)},
      {"Lambda",
       with(R"({"function":{"module":"builtins","class_name":"function","config":"every_layer>doubled"}})", vector)},
      {"LayerNormalization", with("{}", line)},
      {"LayerScale", with(R"({"init_values":0.5,"projection_dim":4})", line)},
      {"Masking", with("{}", line)},
      {"MultiHeadAttention",
       {.config = R"({"num_heads":2,"key_dim":3,"dropout":0.2})", .inputs = three, .names = {"query", "value", "key"}}},
      {"Normalization", with(R"({"mean":0.1,"variance":2.0})", vector)},
      {"Permute", with(R"({"dims":[2,1]})", line)},
      {"RMSNormalization", with("{}", line)},
      {"RNN", with(R"({"cell":)" + cell + "}", line)},
      {"RandomBrightness", with(R"({"factor":0.2,"value_range":[0,1]})", image)},
      {"RandomContrast", with(R"({"factor":0.2})", image)},
      {"RandomCrop", with(R"({"height":6,"width":6})", image)},  // as Keras: crops in training only
      {"RandomFlip", with("{}", image)},
      {"RandomRotation", with(R"({"factor":0.2})", image)},
      {"RandomTranslation", with(R"({"height_factor":0.2,"width_factor":0.2})", image)},
      {"RandomZoom", with(R"({"height_factor":0.2})", image)},
      {"RepeatVector", with(R"({"n":3})", vector)},
      {"Rescaling", with(R"({"scale":0.5})", vector)},
      {"Reshape", with(R"({"target_shape":[8,3]})", line)},
      {"Resizing", with(R"({"height":4,"width":5})", image)},
      {"ReversibleEmbedding", {.config = R"({"input_dim":4,"output_dim":3})", .inputs = {{5}}, .dtype = DType::Int32}},
      {"SeparableConv1D", with(R"({"filters":3,"kernel_size":2})", line)},
      {"SeparableConv2D", with(R"({"filters":3,"kernel_size":2})", image)},
      {"SimpleRNN", with(R"({"units":3})", line)},
      {"SpatialDropout1D", with(R"({"rate":0.3})", line)},
      {"SpatialDropout2D", with(R"({"rate":0.3})", image)},
      {"SpatialDropout3D", with(R"({"rate":0.3})", volume)},
      {"SpectralNormalization", with(R"({"layer":)" + object("Dense", R"({"units":3})") + "}", vector)},
      {"StringLookup", left_out("takes strings, which are no inputs of a step")},
      {"TextVectorization", left_out("takes strings, which are no inputs of a step")},
      {"TimeDistributed", with(R"({"layer":)" + object("Dense", R"({"units":3})") + "}", line)},
  };
  return rows;
}

Symbols symbols_of(const std::vector<SymbolicTensor>& symbols) {
  return symbols.size() == 1 ? Symbols(symbols[0]) : Symbols(symbols);
}

// The row of a class; for one without, its defaults on the first of these inputs that it takes.
std::optional<Row> row_of(const std::string& class_name) {
  if (const auto row = table().find(class_name); row != table().end()) return row->second;
  if (dynamic_cast<const layers::RnnCell*>(Layer::registry().make(class_name).get())) {
    return Row{.left_out = "a cell is trained in its layer"};
  }
  const std::vector<std::vector<Shape>> candidates = {{{6}},          {{6, 4}},         {{6, 6, 4}},
                                                      {{4, 4, 4, 2}}, {{4, 6}, {4, 6}}, {{4, 6}, {5, 6}, {5, 6}}};
  for (const std::vector<Shape>& shapes : candidates) {
    std::vector<SymbolicTensor> symbols;
    for (const Shape& shape : shapes) symbols.push_back(Input(shape));
    try {
      Layer::registry().make(class_name)->apply_symbols(symbols_of(symbols));
      return Row{.inputs = shapes};
    } catch (const Error&) {  // it takes others
    }
  }
  return std::nullopt;
}

// Keras's own layers: not operations, nor what tests register.
std::vector<std::string> layer_classes() {
  std::vector<std::string> names;
  for (const std::string& name : Layer::registry().names()) {
    if (name.find('>') == std::string::npos) names.push_back(name);
  }
  return names;
}

constexpr std::int64_t kSamples = 8;

Tensor layer_inputs(const Shape& shape, DType dtype, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  std::uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
    if (dtype != DType::Float32) value = static_cast<float>((state >> 8) % 4);
  }
  return ops::cast(Tensor::of(values, shape), dtype);
}

std::vector<double> losses_of_two_steps(const std::string& class_name, const Row& row) {
  std::vector<SymbolicTensor> symbols;
  std::vector<Element> data;
  for (const Shape& shape : row.inputs) {
    symbols.push_back(Input(shape, {.dtype = row.dtype}));
    Shape batch = {kSamples};
    for (const std::int64_t size : shape) batch.push_back(size);
    data.emplace_back(layer_inputs(batch, row.dtype, static_cast<std::uint32_t>(data.size()) + 1));
  }
  Symbols inputs = symbols_of(symbols);
  if (!row.names.empty()) {
    std::vector<Tree<SymbolicTensor>::Named> named;
    for (std::size_t i = 0; i < symbols.size(); ++i) named.emplace_back(row.names[i], symbols[i]);
    inputs = Symbols(Tree<SymbolicTensor>::dict(std::move(named)));
  }
  const std::shared_ptr<Layer> layer = Layer::registry().make(class_name);
  from_json(*layer, row.config);
  SymbolicTensor x = layer->apply_symbols(inputs).flatten().at(0);
  if (x.dtype() != DType::Float32) x = ops::cast(x, DType::Float32);
  Model model(symbols_of(symbols), layers::Dense(1)(layers::Flatten()(x)));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Element given = data.size() == 1 ? data[0] : Element::tuple(data);
  const Tensor y = layer_inputs({kSamples, 1}, DType::Float32, 99);
  return model.fit(datasets::from_tensor_slices(Element::tuple({given, y})).batch(kSamples / 2),
                   {.epochs = 1, .verbose = 0})["loss"];
}

class EveryLayer : public testing::TestWithParam<std::string> {};

TEST_P(EveryLayer, TrainsOnAClusterAsItDoesHere) {
  const std::optional<Row> row = row_of(GetParam());
  ASSERT_TRUE(row) << "its defaults take none of the inputs tried here: give it a row in the table";
  if (!row->left_out.empty()) GTEST_SKIP() << row->left_out;
  set_random_seed(11);
  const std::vector<double> here = losses_of_two_steps(GetParam(), *row);
  const distribute::LocalCluster cluster({{"worker", 1}, {"ps", 2}});
  const distribute::ParameterServerStrategy strategy(cluster.resolver());
  const auto scope = strategy.scope();
  set_random_seed(11);
  const std::vector<double> there = losses_of_two_steps(GetParam(), *row);
  ASSERT_EQ(here.size(), there.size());
  EXPECT_TRUE(std::isfinite(here[0]));
  EXPECT_NEAR(here[0], there[0], 1e-6 * std::abs(here[0]));
}

TEST_P(EveryLayer, TrainsOnTwoDevicesOfAWorker) {
  std::optional<Row> row = row_of(GetParam());
  ASSERT_TRUE(row) << "its defaults take none of the inputs tried here: give it a row in the table";
  if (!row->left_out.empty()) GTEST_SKIP() << row->left_out;
  if (GetParam() == "BatchNormalization") row->config = R"({"synchronized":true})";
  set_random_seed(11);
  const double here = losses_of_two_steps(GetParam(), *row)[0];
  const distribute::LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {.devices = {"CPU:0", "CPU:1"}});
  const distribute::ParameterServerStrategy strategy(cluster.resolver());
  const auto scope = strategy.scope();
  set_random_seed(11);
  EXPECT_NEAR(losses_of_two_steps(GetParam(), *row)[0], here, 1e-4 * std::abs(here));
}

TEST_P(EveryLayer, TrainsInMixedPrecision) {
  const std::optional<Row> row = row_of(GetParam());
  ASSERT_TRUE(row) << "its defaults take none of the inputs tried here: give it a row in the table";
  if (!row->left_out.empty()) GTEST_SKIP() << row->left_out;
  set_random_seed(11);
  const double exact = losses_of_two_steps(GetParam(), *row)[0];
  mixed_precision::set_global_policy("mixed_bfloat16");
  set_random_seed(11);
  std::vector<double> mixed;
  EXPECT_NO_THROW(mixed = losses_of_two_steps(GetParam(), *row));
  mixed_precision::set_global_policy("float32");
  ASSERT_EQ(mixed.size(), 1u);
  EXPECT_NEAR(mixed[0], exact, 0.05 * exact + 0.02);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryLayer, testing::ValuesIn(layer_classes()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cohort
