// Exporting: a model's prediction as one graph with its weights, its architecture as JSON, a clone, a picture.
#include <cohort/cohort.h>

#include <fstream>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

bool equal(const ch::Tensor& a, const ch::Tensor& b) { return ops::all(ops::equal(a, b)).item<bool>(); }

int main() {
  ch::set_random_seed(26);
  const ch::SymbolicTensor a = ch::Input({4}, {.name = "a"}), b = ch::Input({4}, {.name = "b"});
  const ch::SymbolicTensor joined = layers::Dropout(0.5)(layers::Dense(8, {.activation = "relu"})(a * b));
  ch::Model model({a, b}, layers::Dense(2, {.name = "scores"})(joined), {.name = "product"});
  const ch::Tensor left = ops::random_normal({5, 4}), right = ops::random_normal({5, 4});
  const ch::Tensor expected = model.predict_on_batch({left, right});

  model.export_graph("product.graph");
  const ch::ExportedModel served = ch::load_exported("product.graph");
  check(served.name() == "product", "it keeps the model's name");
  check(equal(served.serve({left, right}), expected), "the graph computes what the model does, bit for bit");
  check(served.serve({left.rows(0, 2), right.rows(0, 2)}).shape() == ch::Shape({2, 2}), "for any batch");
  check(served.input_signature().size() == 2, "its signature has both inputs");

  const ch::Ref<ch::Model> copy = ch::model_from_json(ch::model_to_json(model));
  copy->set_weights(model.get_weights());
  check(equal(copy->predict_on_batch({left, right}), expected), "JSON and weights make the model again");
  const ch::Ref<ch::Model> clone = ch::clone_model(model);
  check(!equal(clone->predict_on_batch({left, right}), expected), "a clone has weights of its own");
  model.save_weights("product.weights.h5");
  clone->load_weights("product.weights.h5");
  check(equal(clone->predict_on_batch({left, right}), expected), "until it loads the model's");

  check(model.summary_text().find("scores") != std::string::npos, "the summary names the layers");
  ch::plot_model(model, {.to_file = "product.dot", .show_shapes = true, .show_layer_names = true});
  std::ifstream file("product.dot");
  const std::string dot{std::istreambuf_iterator<char>(file), {}};
  check(dot.find("digraph") != std::string::npos && dot.find("scores") != std::string::npos, "so does the picture");
}
