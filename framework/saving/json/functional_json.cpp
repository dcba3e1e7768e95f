#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "cohort/core/error.h"
#include "cohort/model/functional.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/layer/layer_arguments.h"
#include "cohort/model/sequential.h"
#include "cohort/model/symbols/operation.h"
#include "cohort/saving/json/layer_json.h"

// Functional models as Keras writes them: each layer once, with the calls ("inbound nodes") it has in this model.
namespace cohort {
namespace {

constexpr const char* kFunctional = "Functional";

// One output of one call of a layer.
using Place = std::tuple<std::string, std::int64_t, std::int64_t>;

// Calls are counted per model: those a layer has elsewhere do not count.
using CallNumbers = std::map<const LayerCall*, int>;

CallNumbers number_calls(const FunctionalGraph& graph) {
  CallNumbers numbers;
  std::map<const Layer*, int> counts;
  for (const auto& call : graph.calls()) numbers[call.get()] = counts[call->layer.get()]++;
  return numbers;
}

int number_of(const SymbolicTensor& symbol, const CallNumbers& numbers) {
  const auto found = numbers.find(symbol.source().get());
  return found == numbers.end() ? 0 : found->second;
}

Json history(const SymbolicTensor& symbol, const CallNumbers& numbers) {
  return Json::array({symbol.source()->layer->name(), number_of(symbol, numbers), symbol.output()});
}

Json symbol_to_json(const SymbolicTensor& symbol, const CallNumbers& numbers) {
  return Json{{"class_name", "__keras_tensor__"},
              {"config",
               {{"shape", shape_to_json(symbol.shape())},
                {"dtype", to_string(symbol.dtype())},
                {"keras_history", history(symbol, numbers)}}}};
}

template <class Leaf>
Json tree_to_json(const Tree<SymbolicTensor>& tree, const Leaf& leaf) {
  if (tree.is_leaf()) return leaf(tree.leaf());
  const bool dict = tree.kind() == Tree<SymbolicTensor>::Kind::Dict;
  Json result = dict ? Json::object() : Json::array();
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (dict) {
      result[tree.key(i)] = tree_to_json(tree[i], leaf);
    } else {
      result.push_back(tree_to_json(tree[i], leaf));
    }
  }
  return result;
}

Error malformed(std::string_view expected, const Json& value) {
  return invalid_argument(kFunctional, expected, {{"value", excerpt(value)}});
}

Place place_from_json(const Json& value) {
  if (!value.is_array() || value.size() < 3 || !value[0].is_string() || !value[1].is_number_integer() ||
      !value[2].is_number_integer()) {
    throw malformed("a place in the graph is [layer, call, output]", value);
  }
  return {value[0].get<std::string>(), value[1].get<std::int64_t>(), value[2].get<std::int64_t>()};
}

// Keras counts the calls of a functional model from 1 where it lists a model's inputs and outputs, and only there.
bool counts_from_one(const Layer& layer) {
  const auto* model = dynamic_cast<const Model*>(&layer);
  return model != nullptr && model->functional() != nullptr && dynamic_cast<const Sequential*>(model) == nullptr;
}

// Args and kwargs of a call: the layer's named arguments in order as long as none is missing, the rest by name.
Json call_to_json(const LayerCall& call, const CallNumbers& numbers) {
  const auto symbol = [&](const SymbolicTensor& each) { return symbol_to_json(each, numbers); };
  const std::vector<std::string> names = call.layer->argument_names();
  Json args = Json::array(), kwargs = Json::object();
  const bool named = is_called_by_name(*call.layer, call.inputs);
  if (!named) args.push_back(tree_to_json(call.inputs, symbol));
  const auto* operation = dynamic_cast<const Operation*>(call.layer.get());
  const bool lists_all = operation && operation->lists_all_arguments();
  bool in_order = true;
  for (std::size_t i = named ? 0 : 1; i < names.size(); ++i) {
    const Tree<SymbolicTensor>* member = named ? call.inputs.find(names[i]) : nullptr;
    const AttributeValue* attribute = call.arguments.find(names[i]);
    if (member == nullptr && attribute == nullptr) {
      if (lists_all) args.push_back(nullptr);
      in_order = lists_all;
      continue;
    }
    if (names[i] == "mask") in_order = false;  // where Keras puts it, and a model's second argument is another
    Json value = member ? tree_to_json(*member, symbol) : attribute_to_json(*attribute);
    if (in_order) {
      args.push_back(std::move(value));
    } else {
      kwargs[names[i]] = std::move(value);
    }
  }
  for (const Attributes::Entry& entry : call.arguments) {
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) {
      kwargs[entry.name] = attribute_to_json(entry.value);
    }
  }
  return Json{{"args", std::move(args)}, {"kwargs", std::move(kwargs)}};
}

bool holds_symbol(const Json& value) {
  if (!value.is_structured()) return false;
  if (value.is_object() && value.contains("class_name") && value["class_name"] == "__keras_tensor__") return true;
  return std::any_of(value.begin(), value.end(), holds_symbol);
}

// The symbols made so far while a model is read.
class Reader {
 public:
  explicit Reader(int depth) : depth_(depth) {}

  void read_layers(const Json& entries) {
    if (!entries.is_array()) throw malformed("layers must be a list", entries);
    struct Pending {
      std::string name;
      Json nodes;
      std::size_t done = 0;
    };
    std::vector<Pending> pending;
    for (const Json& entry : entries) {
      const Ref<Layer> layer = layer_from_json(entry, depth_);
      const std::string name =
          entry.contains("name") && entry["name"].is_string() ? entry["name"] : Json(layer->name());
      if (!layers_.emplace(name, layer).second) throw malformed("each name occurs once among the layers", name);
      layer->set_name(name);
      if (const auto input = layer.as<InputLayer>()) symbols_[{name, 0, 0}] = input->input_symbol();
      const Json nodes = entry.contains("inbound_nodes") ? entry["inbound_nodes"] : Json::array();
      if (!nodes.is_array()) throw malformed("inbound_nodes must be a list", nodes);
      pending.push_back({name, nodes});
    }
    // A call may need symbols of layers that stand later in the file.
    for (bool progress = true; std::exchange(progress, false);) {
      for (Pending& each : pending) {
        while (each.done < each.nodes.size() && make_call(each.name, each.done, each.nodes[each.done])) {
          ++each.done;
          progress = true;
        }
      }
    }
    for (const Pending& each : pending) {
      if (each.done < each.nodes.size()) throw malformed("every call's inputs must be made by other calls", each.name);
    }
  }

  // Places as they stand in input_layers and output_layers: one, a list of them, or a dict.
  Symbols places(const Json& value) const {
    if (value.is_array() && !value.empty() && value[0].is_string()) {
      auto [name, call, output] = place_from_json(value);
      const auto layer = layers_.find(name);
      if (call > 0 && layer != layers_.end() && counts_from_one(*layer->second)) --call;
      return Symbols(at({name, call, output}));
    }
    std::vector<Tree<SymbolicTensor>> list;
    std::vector<Tree<SymbolicTensor>::Named> dict;
    if (value.is_object()) {
      for (const auto& [key, each] : value.items()) dict.emplace_back(key, places(each));
      return Symbols(Tree<SymbolicTensor>::dict(std::move(dict)));
    }
    if (!value.is_array()) throw malformed("inputs and outputs are places in the graph", value);
    for (const Json& each : value) list.push_back(places(each));
    return Symbols(Tree<SymbolicTensor>::tuple(std::move(list)));
  }

 private:
  SymbolicTensor at(const Place& place) const {
    const auto found = symbols_.find(place);
    if (found == symbols_.end()) throw malformed("a place must name a call of a layer in the file", std::get<0>(place));
    return found->second;
  }

  // A call's argument; nothing while a symbol in it is not made yet.
  std::optional<Tree<SymbolicTensor>> argument(const Json& value) const {
    using Symbolic = Tree<SymbolicTensor>;
    if (value.is_object() && value.contains("class_name") && value["class_name"] == "__keras_tensor__") {
      if (!value.contains("config") || !value["config"].contains("keras_history")) {
        throw malformed("a symbol must have a keras_history", value);
      }
      const auto found = symbols_.find(place_from_json(value["config"]["keras_history"]));
      if (found == symbols_.end()) return std::nullopt;
      return Symbolic(found->second);
    }
    if (!value.is_structured()) {
      throw unimplemented(kFunctional, "a layer is called with symbols only", {{"argument", excerpt(value)}});
    }
    std::vector<Symbolic> list;
    std::vector<Symbolic::Named> dict;
    for (const auto& [key, each] : value.items()) {
      std::optional<Symbolic> member = argument(each);
      if (!member) return std::nullopt;
      list.push_back(*member);
      dict.emplace_back(key, *member);
    }
    return value.is_object() ? Symbolic::dict(std::move(dict)) : Symbolic::tuple(std::move(list));
  }

  bool make_call(const std::string& name, std::size_t number, const Json& node) {
    if (!node.is_object() || !node.contains("args") || !node["args"].is_array())
      throw malformed("a call has args", node);
    const Layer& layer = *layers_.at(name);
    const std::vector<std::string> names = layer.argument_names();
    const Json& args = node["args"];
    if (args.empty() || args.size() > std::max<std::size_t>(names.size(), 1)) {
      throw unimplemented(kFunctional, "a layer is called with the arguments it names",
                          {{"layer", name}, {"args", args.size()}});
    }
    // Every argument under its name; those without symbols are attributes.
    std::vector<Tree<SymbolicTensor>::Named> symbols;
    Attributes attributes;
    bool complete = true;
    const auto take = [&](const std::string& key, const Json& value) {
      if (value.is_null() || (key == "mask" && value == false)) return;
      if (!holds_symbol(value)) return attributes.set(key, attribute_from_json(value, kFunctional));
      std::optional<Tree<SymbolicTensor>> tree = argument(value);
      complete = complete && tree;
      if (tree) symbols.emplace_back(key, std::move(*tree));
    };
    for (std::size_t i = 0; i < args.size(); ++i) take(names.empty() ? "inputs" : names[i], args[i]);
    const Json keywords = node.contains("kwargs") ? node["kwargs"] : Json::object();
    for (const auto& [key, value] : keywords.items()) {
      if (holds_symbol(value) && std::find(names.begin(), names.end(), key) == names.end()) {
        throw unimplemented(kFunctional, "symbols are arguments that the layer names",
                            {{"layer", name}, {key, excerpt(value)}});
      }
      take(key, value);
    }
    if (!complete) return false;
    if (symbols.empty()) throw malformed("a layer is called with at least one symbol", node);
    const bool bare = symbols.size() == 1 && (names.empty() || symbols[0].first == names[0]) && holds_symbol(args[0]);
    const Symbols inputs(bare ? symbols[0].second : Tree<SymbolicTensor>::dict(std::move(symbols)));
    const std::vector<SymbolicTensor> outputs = layers_.at(name)->apply_symbols(inputs, attributes).flatten();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      symbols_[{name, static_cast<std::int64_t>(number), static_cast<std::int64_t>(i)}] = outputs[i];
    }
    return true;
  }

  int depth_;
  std::map<std::string, Ref<Layer>> layers_;
  std::map<Place, SymbolicTensor> symbols_;
};

}  // namespace

Json functional_config_to_json(const Model& model) {
  const FunctionalGraph& graph = *model.functional();
  const CallNumbers numbers = number_calls(graph);
  const auto place = [&](const SymbolicTensor& each) {
    const Layer& layer = *each.source()->layer;
    return Json::array({layer.name(), number_of(each, numbers) + (counts_from_one(layer) ? 1 : 0), each.output()});
  };
  Json layers = Json::array();
  for (const Ref<Layer>& layer : graph.layers()) {
    Json entry = layer_to_json(*layer);
    entry["name"] = layer->name();
    entry["inbound_nodes"] = Json::array();
    for (const auto& call : graph.calls()) {
      if (call->layer.get() != layer.get() || call->inputs.empty()) continue;
      entry["inbound_nodes"].push_back(call_to_json(*call, numbers));
    }
    layers.push_back(std::move(entry));
  }
  return Json{{"name", model.name()},
              {"trainable", model.trainable()},
              {"layers", std::move(layers)},
              {"input_layers", tree_to_json(graph.inputs(), place)},
              {"output_layers", tree_to_json(graph.outputs(), place)}};
}

Ref<Model> functional_from_config(const Json& config, int depth) {
  for (const char* key : {"layers", "input_layers", "output_layers"}) {
    if (!config.is_object() || !config.contains(key))
      throw malformed(std::string("a config with '") + key + "' is expected", config);
  }
  Reader reader(depth);
  reader.read_layers(config["layers"]);
  const Json name = config.contains("name") ? config["name"] : Json();
  return Ref<Model>(std::make_shared<Model>(reader.places(config["input_layers"]),
                                            reader.places(config["output_layers"]),
                                            ModelOptions{.name = name.is_string() ? name.get<std::string>() : ""}));
}

}  // namespace cohort
