#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/text.h"
#include "cohort/saving/config_json.h"
#include "cohort/saving/dot_label.h"
#include "cohort/saving/json/object_json.h"

namespace cohort {
namespace {

// Names may hold anything.
std::string html_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string plain_class_name(const Layer& layer) {
  const std::string name = layer.class_name();
  return name.substr(name.rfind('>') + 1);
}

// "relu"; empty for a layer that has no activation.
std::string activation_name(const Layer& layer) {
  const Json config = Json::parse(config_to_json(layer));
  const auto found = config.find("activation");
  if (found == config.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_object() ? found->value("class_name", "") : std::string();
}

// One as it is, several in brackets.
std::string joined(const std::vector<std::string>& parts) {
  return parts.size() == 1 ? parts[0] : "[" + join(parts) + "]";
}

struct LayerEnds {
  std::string input_shapes = "?", output_shapes = "?", output_dtypes = "?";
};

// Of a layer that was called once: else they may differ from call to call.
LayerEnds ends_of(const Layer& layer) {
  std::shared_ptr<LayerCall> only;
  for (const std::weak_ptr<LayerCall>& each : layer.inbound_calls()) {
    const std::shared_ptr<LayerCall> call = each.lock();
    if (call && only) return {};
    if (call) only = call;
  }
  if (!only) return {};
  std::vector<std::string> inputs, outputs, dtypes;
  for (const SymbolicTensor& input : only->inputs.flatten()) inputs.push_back(input.shape().to_string());
  for (const TensorSpec& output : only->outputs.flatten()) {
    outputs.push_back(output.shape.to_string());
    dtypes.emplace_back(to_string(output.dtype));
  }
  return {joined(inputs), joined(outputs), joined(dtypes)};
}

std::string cell(const std::string& name, const std::string& value) {
  return R"(<td bgcolor="white"><font point-size="14">)" + name + ": <b>" + html_text(value) + "</b></font></td>";
}

std::string colored_cell(const char* color, const char* text) {
  return std::string("<td bgcolor=\"") + color + R"("><font point-size="14" color="white"><b>)" + text +
         "</b></font></td>";
}

}  // namespace

std::string dot_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string dot_label(const Layer& layer, const ModelToDotOptions& options) {
  const std::string class_name = html_text(plain_class_name(layer));
  const LayerEnds ends = ends_of(layer);
  std::vector<std::string> cells;
  if (options.show_shapes) {
    if (class_name != "InputLayer") cells.push_back(cell("Input shape", ends.input_shapes));
    cells.push_back(cell("Output shape", ends.output_shapes));
  }
  if (options.show_dtype) cells.push_back(cell("Output dtype", ends.output_dtypes));
  if (options.show_trainable && !layer.weights().empty()) {
    cells.push_back(layer.trainable() ? colored_cell("forestgreen", "Trainable")
                                      : colored_cell("firebrick", "Non-trainable"));
  }
  const std::string span = " colspan=\"" + std::to_string(std::max<std::size_t>(1, cells.size())) + "\"";

  std::string table = R"(<<table border="0" cellborder="1" bgcolor="black" cellpadding="10">)";
  table += "<tr><td" + span + R"( bgcolor="black"><font point-size="16" color="white">)";
  table += options.show_layer_names ? "<b>" + html_text(layer.name()) + "</b> (" + class_name + ")"
                                    : "<b>" + class_name + "</b>";
  table += "</font></td></tr>";
  if (options.show_layer_activations) {
    if (const std::string activation = activation_name(layer); !activation.empty()) {
      table += "<tr><td bgcolor=\"white\"" + span + R"(><font point-size="14">Activation: <b>)" +
               html_text(activation) + "</b></font></td></tr>";
    }
  }
  if (!cells.empty()) {
    table += "<tr>";
    for (const std::string& each : cells) table += each;
    table += "</tr>";
  }
  return table + "</table>>";
}

}  // namespace cohort
