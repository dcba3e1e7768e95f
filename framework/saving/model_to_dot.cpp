#include "cohort/saving/model_to_dot.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/model/functional.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/dot_label.h"

namespace cohort {
namespace {

bool is_graph(const Layer& layer) {
  const auto* model = dynamic_cast<const Model*>(&layer);
  return model && (model->functional() || dynamic_cast<const Sequential*>(model));
}

const Model& as_model(const Layer& layer) { return dynamic_cast<const Model&>(layer); }

// A picture being drawn: what has a box, which arrows are drawn.
class DotDrawing {
 public:
  explicit DotDrawing(const ModelToDotOptions& options) : options_(options) {}

  // The boxes of a model's layers, then the arrows between them.
  std::string draw(const Model& model, int depth) {
    const std::string margin(static_cast<std::size_t>(2 * depth), ' ');
    const std::vector<Ref<Layer>> layers = model.functional() ? model.functional()->layers() : model.layers();
    if (!model.functional()) model.inputs();  // a stack calls its layers on symbols when somebody asks for them
    std::string text;
    for (const Ref<Layer>& layer : layers) {
      if (options_.expand_nested && is_graph(*layer)) {
        text += margin + "subgraph " + dot_quoted("cluster_" + id_of(*layer)) + " {\n" + margin + "  style=dashed;\n" +
                margin + "  label=" + dot_quoted(layer->name()) + ";\n" + margin + "  labeljust=l;\n" +
                draw(as_model(*layer), depth + 1) + margin + "}\n";
      } else {
        text += margin + box(*layer);
      }
    }
    if (model.functional()) {
      for (const std::shared_ptr<LayerCall>& call : model.functional()->calls()) {
        const std::vector<SymbolicTensor> inputs = call->inputs.flatten();
        if (begins(model, *call->layer)) continue;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          text += arrow(*inputs[i].source()->layer, inputs[i].output(), *call->layer, i, margin);
        }
      }
    } else {
      for (std::size_t i = 1; i < layers.size(); ++i) text += arrow(*layers[i - 1], 0, *layers[i], 0, margin);
    }
    return text;
  }

  std::string box(const Layer& layer) {
    return id_of(layer) + " [label=" + dot_label(layer, options_) + ", fontname=Helvetica, border=0, margin=0];\n";
  }

 private:
  std::string id_of(const Layer& layer) {
    return "layer_" + std::to_string(ids_.emplace(&layer, ids_.size()).first->second);
  }

  // A model may be cut off behind a layer that it takes for its input.
  static bool begins(const Model& model, const Layer& layer) {
    const std::vector<SymbolicTensor> inputs = model.functional()->inputs().flatten();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const SymbolicTensor& input) { return input.source()->layer.get() == &layer; });
  }

  std::string arrow(const Layer& from, int output, const Layer& to, std::size_t input, const std::string& margin) {
    const Layer* source = &from;
    const Layer* target = &to;
    // An expanded model has no box of its own: the arrow leads to the one inside it that takes or gives the value.
    while (options_.expand_nested && is_graph(*source)) {
      const SymbolicTensor symbol = as_model(*source).outputs().flatten().at(static_cast<std::size_t>(output));
      source = symbol.source()->layer.get();
      output = symbol.output();
    }
    while (options_.expand_nested && is_graph(*target)) {
      const Model& inside = as_model(*target);
      target = inside.functional() ? inside.functional()->inputs().flatten().at(input).source()->layer.get()
                                   : inside.layers().front().get();
    }
    const std::string text = id_of(*source) + " -> " + id_of(*target);
    return arrows_.insert(text).second ? margin + text + " [penwidth=2];\n" : std::string();
  }

  const ModelToDotOptions& options_;
  std::map<const Layer*, std::size_t> ids_;
  std::set<std::string> arrows_;
};

void check_dot_options(const Model& model, const ModelToDotOptions& options) {
  constexpr const char* kWho = "model_to_dot";
  if (!model.built()) {
    throw failed_precondition(kWho, "the model must be built", {{"model", model.name()}},
                              "Call build(), or the model on a batch of data.");
  }
  const auto check = [](const char* name, const std::string& value, std::initializer_list<const char*> known) {
    if (std::find(known.begin(), known.end(), value) != known.end()) return;
    throw invalid_argument(kWho, std::string(name) + " must be one of " + join(known), {{name, value}});
  };
  check("rankdir", options.rankdir, {"TB", "LR", "BT", "RL"});
  check("splines", options.splines, {"ortho", "curved", "polyline", "spline", "line"});
  if (options.dpi < 1) throw invalid_argument(kWho, "dpi must be positive", {{"dpi", options.dpi}});
}

}  // namespace

std::string model_to_dot(const Model& model, ModelToDotOptions options) {
  check_dot_options(model, options);
  DotDrawing drawing(options);
  return "digraph " + dot_quoted(model.name()) + " {\n  rankdir=" + options.rankdir +
         ";\n  concentrate=true;\n  dpi=" + std::to_string(options.dpi) + ";\n  splines=" + options.splines +
         ";\n  node [shape=record];\n" + (is_graph(model) ? drawing.draw(model, 1) : "  " + drawing.box(model)) + "}\n";
}

}  // namespace cohort
