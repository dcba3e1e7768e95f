#include "cohort/saving/plot_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/files/atomic_file.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/merging/concatenate.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/model_to_dot.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::Not;

// How often a text occurs.
int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

LayerHandle<Sequential> stack() {
  const auto model =
      make<Sequential>({layers::Dense(4, {.activation = "relu", .name = "hidden"}), layers::Dense(2, {.name = "last"})},
                       {.name = "stack"});
  model->build({kUnknown, 3});
  return model;
}

// left goes through a stack, then right joins it.
Model branched() {
  const SymbolicTensor left = Input({3}, {.name = "left"}), right = Input({3}, {.name = "right"});
  const auto inner =
      make<Sequential>({layers::Dense(4, {.name = "first"}), layers::Dense(2, {.name = "second"})}, {.name = "inner"});
  const SymbolicTensor joined = layers::Concatenate({.name = "join"})({inner(left), right});
  return Model({left, right}, layers::Dense(1, {.name = "out"})(joined), {.name = "branched"});
}

TEST(ModelToDot, HasABoxForEachLayerAndAnArrowForEachEdge) {
  const std::string chain = model_to_dot(*stack());
  EXPECT_THAT(chain, testing::StartsWith("digraph \"stack\" {\n  rankdir=TB;\n"));
  EXPECT_EQ(count(chain, "[label="), 2);
  EXPECT_EQ(count(chain, " -> "), 1);
  EXPECT_THAT(chain, HasSubstr("<b>hidden</b> (Dense)"));
  const std::string graph = model_to_dot(branched(), {.rankdir = "LR"});
  EXPECT_THAT(graph, HasSubstr("rankdir=LR;"));
  EXPECT_EQ(count(graph, "[label="), 5);
  EXPECT_EQ(count(graph, " -> "), 4);
  EXPECT_THAT(graph, HasSubstr("<b>inner</b> (Sequential)"));
}

TEST(ModelToDot, OpensModelsInside) {
  const std::string graph = model_to_dot(branched(), {.expand_nested = true});
  EXPECT_EQ(count(graph, "subgraph"), 1);
  EXPECT_THAT(graph, HasSubstr("label=\"inner\""));
  EXPECT_EQ(count(graph, "[label="), 6);  // no box for the model itself
  EXPECT_EQ(count(graph, " -> "), 5);
  EXPECT_THAT(graph, Not(HasSubstr("(Sequential)")));
}

TEST(ModelToDot, ShowsWhatIsAskedFor) {
  const auto stacked = stack();
  const Model& model = *stacked;
  model.layers()[1]->set_trainable(false);
  const std::string plain = model_to_dot(model, {.show_layer_names = false});
  EXPECT_THAT(plain, Not(HasSubstr("hidden")));
  EXPECT_THAT(plain, Not(HasSubstr("shape:")));
  const std::string full = model_to_dot(
      model, {.show_shapes = true, .show_dtype = true, .show_layer_activations = true, .show_trainable = true});
  EXPECT_THAT(full, HasSubstr("Input shape: <b>(None, 3)</b>"));
  EXPECT_THAT(full, HasSubstr("Output shape: <b>(None, 4)</b>"));
  EXPECT_THAT(full, HasSubstr("Output dtype: <b>float32</b>"));
  EXPECT_THAT(full, HasSubstr("Activation: <b>relu</b>"));
  EXPECT_THAT(full, HasSubstr("Activation: <b>linear</b>"));
  EXPECT_EQ(count(full, "<b>Trainable</b>"), 1);
  EXPECT_EQ(count(full, "<b>Non-trainable</b>"), 1);
  EXPECT_THAT(model_to_dot(branched(), {.show_shapes = true}), HasSubstr("Input shape: <b>[(None, 2), (None, 3)]</b>"));
}

TEST(ModelToDot, DrawsAModelInCodeAsOneBox) {
  class Passing : public Model {
   public:
    std::string class_name() const override { return "mine>Passing"; }
    Element call_element(const Element& inputs, const CallContext&) override { return inputs; }
  };
  Passing model;
  model(Tensor::full({1, 1}, 1.0));
  EXPECT_EQ(count(model_to_dot(model), "[label="), 1);
}

TEST(ModelToDot, NamesMayHoldAnything) {
  Sequential model({layers::Dense(1, {.name = R"(a<b>&"c")"})}, {.name = R"(quo"te\)"});
  model.build({kUnknown, 1});
  const std::string dot = model_to_dot(model);
  EXPECT_THAT(dot, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
  EXPECT_THAT(dot, testing::StartsWith(R"(digraph "quo\"te\\" {)"));
}

TEST(ModelToDot, SaysWhatIsWrong) {
  EXPECT_THAT(error_of([] { model_to_dot(Sequential({layers::Dense(1)})); }), HasSubstr("the model must be built"));
  EXPECT_THAT(error_of([] { model_to_dot(*stack(), {.rankdir = "UP"}); }), HasSubstr("rankdir=UP"));
  EXPECT_THAT(error_of([] { model_to_dot(*stack(), {.splines = "wavy"}); }), HasSubstr("splines=wavy"));
}

TEST(PlotModel, WritesDotWithoutAnyProgram) {
  const test::TemporaryFolder folder;
  plot_model(*stack(), {.to_file = folder.file("model.dot"), .show_layer_names = true});
  EXPECT_EQ(read_file(folder.file("model.dot")), model_to_dot(*stack()));
}

TEST(PlotModel, DrawsPictures) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "the package graphviz is not installed";
  const test::TemporaryFolder folder;
  PlotModelOptions options{.to_file = folder.file("model.svg"),
                           .show_shapes = true,
                           .show_dtype = true,
                           .show_layer_names = true,
                           .expand_nested = true,
                           .show_layer_activations = true,
                           .show_trainable = true};
  plot_model(branched(), options);
  const std::string svg = read_file(folder.file("model.svg"));
  EXPECT_THAT(svg, HasSubstr("<svg"));
  EXPECT_THAT(svg, HasSubstr("(Concatenate)"));
  EXPECT_EQ(count(svg, "class=\"edge\""), 5);
  Sequential awkward({layers::Dense(1, {.name = R"(a<b>&"c")"})});
  awkward.build({kUnknown, 1});
  options.to_file = folder.file("model.png");
  plot_model(awkward, options);
  EXPECT_THAT(read_file(folder.file("model.png")), testing::StartsWith("\x89PNG"));
}

TEST(PlotModel, SaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { plot_model(*stack(), {.to_file = folder.file("model.docx")}); }),
              HasSubstr("to_file must end in .dot, .gv, .svg, .png, .pdf or .jpg"));
  const std::string before = std::getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  const std::string error = error_of([&] { plot_model(*stack(), {.to_file = folder.file("model.png")}); });
  setenv("PATH", before.c_str(), 1);
  EXPECT_THAT(error, HasSubstr("Install the package graphviz"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "model.png"));
}

}  // namespace
}  // namespace cohort
