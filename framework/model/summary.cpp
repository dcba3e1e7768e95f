#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cohort/core/text.h"
#include "cohort/model/functional.h"
#include "cohort/model/model.h"
#include "cohort/model/text_table.h"

namespace cohort {
namespace {

struct Size {
  std::int64_t count = 0;
  double bytes = 0;
  std::string text() const { return with_commas(count) + " (" + memory_text(bytes) + ")"; }
};

Size size_of(const Variables& variables) {
  Size size;
  for (const Variable& variable : variables) {
    size.count += variable.shape().num_elements();
    size.bytes +=
        static_cast<double>(variable.shape().num_elements()) * static_cast<double>(cohort::size_of(variable.dtype()));
  }
  return size;
}

std::string shape_text(const Shape& shape) {
  return "(" + join(shape, [](std::int64_t size) { return size == kUnknown ? "None" : std::to_string(size); }) + ")";
}

std::string shapes_text(const std::vector<Shape>& shapes) {
  if (shapes.empty()) return "?";
  if (shapes.size() == 1) return shape_text(shapes[0]);
  return "[" + join(shapes, shape_text) + "]";
}

// "dense[0][0], meta[0][0]": layer, call and output of each input within the model.
std::string connections(const Layer& layer, const FunctionalGraph& graph) {
  std::vector<std::string> inputs;
  for (const std::shared_ptr<LayerCall>& call : graph.calls()) {
    if (call->layer.get() != &layer) continue;
    for (const SymbolicTensor& input : call->inputs.flatten()) {
      inputs.push_back(input.source()->layer->name() + "[" + std::to_string(input.source()->index) + "][" +
                       std::to_string(input.output()) + "]");
    }
  }
  return inputs.empty() ? "-" : join(inputs);
}

std::string_view without_package(std::string_view class_name) {
  const auto at = class_name.rfind('>');
  return at == std::string_view::npos ? class_name : class_name.substr(at + 1);
}

struct Rows {
  const SummaryOptions& options;
  const FunctionalGraph* connected;  // nullptr: no column of connections
  TextTable& table;

  void add(const Layer& layer, int level) const {
    const std::string prefix = level == 0 ? "" : std::string(static_cast<std::size_t>(level) * 3, ' ') + "└ ";
    std::vector<std::string> cells = {
        prefix + layer.name() + " (" + std::string(without_package(layer.class_name())) + ")",
        shapes_text(layer.output_shapes()),
        layer.built() ? with_commas(layer.count_params()) : std::string("0 (unbuilt)"),
    };
    if (connected) cells.push_back(connections(layer, *connected));
    if (options.show_trainable) cells.push_back(layer.weights().empty() ? "-" : layer.trainable() ? "Y" : "N");
    table.add_row(std::move(cells));
    const auto* model = dynamic_cast<const Model*>(&layer);
    if (options.expand_nested && model) {
      for (const Ref<Layer>& inner : model->layers()) add(*inner, level + 1);
    }
  }
};

std::int64_t terminal_columns() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

std::string Model::summary_text(SummaryOptions options) const {
  const FunctionalGraph* graph = functional();
  const bool connected = graph && !graph->is_chain();
  std::vector<double> positions =
      connected ? std::vector<double>{0.3, 0.56, 0.74, 1.0} : std::vector<double>{0.45, 0.80, 1.0};
  std::int64_t width = connected ? 108 : 88;
  std::vector<TextTable::Column> columns = {{"Layer (type)"}, {"Output Shape"}, {"Param #", TextTable::Align::Right}};
  if (connected) columns.push_back({"Connected to"});
  if (options.show_trainable) {
    width += 12;
    for (double& position : positions) position *= 0.90;
    positions.push_back(1.0);
    columns.push_back({"Trainable", TextTable::Align::Center});
  }
  width = options.line_length > 0 ? options.line_length : std::min(width, terminal_columns() - 4);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].width = static_cast<std::int64_t>(positions[i] * static_cast<double>(width)) - before;
    before += columns[i].width;
    if (columns[i].width < 4) {
      throw invalid_argument("Model.summary", "the line must be long enough for the table", {{"line_length", width}});
    }
  }
  TextTable table(columns, width);
  const Rows rows{options, connected ? graph : nullptr, table};
  for (const Ref<Layer>& layer : graph ? graph->layers() : layers()) rows.add(*layer, 0);

  const Size trainable = size_of(trainable_variables()), others = size_of(non_trainable_variables());
  Size total{trainable.count + others.count, trainable.bytes + others.bytes};
  const bool has_optimizer = compiled() && optimizer()->built();
  const Size slots = has_optimizer ? size_of(optimizer()->variables()) : Size();
  total.count += slots.count;
  total.bytes += slots.bytes;
  std::string text = "Model: \"" + name() + "\"\n" + table.to_string();
  text += " Total params: " + total.text() + "\n Trainable params: " + trainable.text() +
          "\n Non-trainable params: " + others.text() + "\n";
  if (has_optimizer) text += " Optimizer params: " + slots.text() + "\n";
  return text;
}

void Model::summary(SummaryOptions options) const { std::cout << summary_text(options) << std::flush; }

}  // namespace cohort
