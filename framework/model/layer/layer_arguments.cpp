#include "cohort/model/layer/layer_arguments.h"

#include <algorithm>

#include "cohort/core/masks.h"
#include "cohort/core/text.h"
#include "cohort/model/model.h"

namespace cohort {
namespace {

void check_names(const Layer& layer, const std::vector<std::string>& names, const Element& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::find(names.begin(), names.end(), inputs.key(i)) != names.end()) continue;
    throw invalid_argument(layer.title(), "inputs must be arguments of this layer",
                           {{"argument", in_quotes(inputs.key(i))}}, "It takes: " + join(names) + ".");
  }
}

}  // namespace

bool names_arguments(const Layer& layer, const std::vector<std::string>& keys) {
  if (dynamic_cast<const Model*>(&layer) == nullptr) return !layer.argument_names().empty();
  return keys.size() == 2 && std::is_permutation(keys.begin(), keys.end(), layer.argument_names().begin());
}

void settle_arguments(const Layer& layer, Element& inputs, CallContext& context) {
  if (!is_called_by_name(layer, inputs)) return;
  const std::vector<std::string> names = layer.argument_names();
  check_names(layer, names, inputs);
  const bool masks_given = context.mask.kind() == Element::Kind::Dict;
  std::vector<Element::Named> members, masks;
  for (const std::string& name : names) {
    const Element* member = inputs.find(name);
    if (!member || name == "mask") continue;
    const Element* mask = masks_given ? context.mask.find(name) : nullptr;
    members.emplace_back(name, *member);
    masks.emplace_back(name, mask ? *mask : member->map(mask_of));
  }
  if (const Element* mask = inputs.find("mask"); mask && !members.empty() && members[0].first == names[0]) {
    masks[0].second = *mask;
  }
  const bool bare = members.size() == 1 && members[0].first == names[0];
  inputs = bare ? members[0].second : Element::dict(std::move(members));
  if (bare) {
    context.mask = std::move(masks[0].second);
  } else {
    context.mask = Element::dict(std::move(masks));
  }
}

}  // namespace cohort
