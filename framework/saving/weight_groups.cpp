#include "cohort/saving/weight_groups.h"

#include <algorithm>
#include <map>

#include "cohort/core/text.h"
#include "cohort/model/sequential.h"

namespace cohort {
namespace {

// A layer's own weights in Keras's order: those made trainable first, frozen or not.
Variables own_variables(const Layer& layer) {
  Variables variables = layer.weights();  // its own before its sub-layers'
  variables.resize(layer.own_weights().size());
  return variables;
}

// By name, private ones last.
bool visited_before(const std::string& a, const std::string& b) {
  const bool a_is_private = a.starts_with("_"), b_is_private = b.starts_with("_");
  return a_is_private != b_is_private ? b_is_private : a < b;
}

// Calls visit(path, layer) for a layer and all below it, each once, under the paths Keras gives them: attribute names,
// and in a model's list of layers the class names, counted.
template <class LayerType, class Visit>
void walk(LayerType& layer, const std::string& path, std::vector<const Layer*>& seen, const Visit& visit) {
  if (std::find(seen.begin(), seen.end(), &layer) != seen.end()) return;
  seen.push_back(&layer);
  visit(path, layer);
  const auto* model = dynamic_cast<const Model*>(&layer);
  const auto walk_list = [&] {
    std::map<std::string, int> counts;
    for (const Ref<Layer>& each : model->layers()) {
      std::string name = snake_case_name(each->class_name());
      if (const int count = counts[name]++; count > 0) name += "_" + std::to_string(count);
      walk<LayerType>(*each, path_join(path, "layers/" + name), seen, visit);
    }
  };
  // A model that computes in code has its list as one attribute among others: what sorts before "layers" is stored
  // under its own name, the rest in the list.
  const bool list_first = model && (model->functional() || dynamic_cast<const Sequential*>(model));
  bool list_due = model && !list_first;
  if (list_first) walk_list();
  std::vector<std::pair<std::string, Ref<Layer>>> attributes = layer.sublayers();
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const auto& a, const auto& b) { return visited_before(a.first, b.first); });
  for (const auto& [name, each] : attributes) {
    if (list_due && visited_before("layers", name)) {
      walk_list();
      list_due = false;
    }
    walk<LayerType>(*each, path_join(path, name), seen, visit);
  }
  if (list_due) walk_list();
}

template <class LayerType>
std::vector<WeightGroupOf<LayerType>> groups_below(LayerType& model) {
  std::vector<WeightGroupOf<LayerType>> groups;
  std::vector<const Layer*> seen;
  walk(model, "", seen, [&groups](const std::string& path, LayerType& layer) {
    groups.push_back({path_join(path, "vars"), &layer, own_variables(layer)});
  });
  return groups;
}

}  // namespace

std::vector<WeightGroup> weight_groups(Model& model) { return groups_below<Layer>(model); }
std::vector<ConstWeightGroup> weight_groups(const Model& model) { return groups_below<const Layer>(model); }

std::string below_layer(const std::string& group_path, const std::string& name) {
  return group_path.substr(0, group_path.size() - std::string_view("vars").size()) + name;
}

}  // namespace cohort
