#include <charconv>

#include "cohort/model/symbols/operation_axes.h"
#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"

// Keras's operations that move, join and pick elements.
namespace cohort {
namespace {

using operations::Arguments;
using operations::Integers;
using Kind = OperationField::Kind;

Integers axes_of(const Attributes& config, const char* name = "axis") { return config.get<Integers>(name, {}); }

Element elements(const Tensors& tensors) { return Element::tuple({tensors.begin(), tensors.end()}); }

Element split(const Arguments& arguments, const Attributes& config) {
  const Tensor& x = arguments[0].leaf();
  const Integers sections = config.get<Integers>("indices_or_sections");
  if (sections.size() == 1) return elements(ops::split(x, static_cast<int>(sections[0]), axis_of(config)));
  Integers sizes;
  for (std::size_t i = 0; i < sections.size(); ++i) sizes.push_back(sections[i] - (i ? sections[i - 1] : 0));
  sizes.push_back(-1);
  return elements(ops::split(x, sizes, axis_of(config)));
}

std::int64_t bound(std::string_view text) {
  if (text == "None") return ops::SliceSpec::kOpen;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw invalid_argument("GetItem", "an index is a number, None, '...' or slice(start, stop, step)",
                           {{"index", text}});
  }
  return value;
}

ops::SliceSpec slice_of(std::string_view text) {
  const std::string_view whole = text;
  text.remove_prefix(6);  // "slice("
  ops::SliceSpec spec;
  std::int64_t* parts[] = {&spec.begin, &spec.end, &spec.step};
  for (int i = 0; i < 3; ++i) {
    const std::size_t end = text.find(i < 2 ? ", " : ")");
    if (end == std::string_view::npos) bound(whole);  // throws
    *parts[i] = bound(text.substr(0, end));
    text.remove_prefix(end + (i < 2 ? 2 : 1));
  }
  if (spec.step == ops::SliceSpec::kOpen) spec.step = 1;
  return spec;
}

// x[key], the key as texts: "slice(0, None, 2)", "None" for a new axis, "..." and numbers.
Element get_item(const Arguments& arguments, const Attributes& config) {
  Tensor x = arguments[0].leaf();
  std::vector<std::string> key;
  const AttributeValue* given = config.find("key");
  if (const auto* one = given ? std::get_if<std::int64_t>(given) : nullptr) key = {std::to_string(*one)};
  if (const auto* many = given ? std::get_if<Integers>(given) : nullptr) {
    for (const std::int64_t index : *many) key.push_back(std::to_string(index));
  }
  if (const auto* texts = given ? std::get_if<std::vector<std::string>>(given) : nullptr) key = *texts;
  const auto news = std::count(key.begin(), key.end(), "None") + std::count(key.begin(), key.end(), "...");
  std::vector<ops::SliceSpec> slices;
  std::vector<int> picked, added;
  int result_axis = 0;
  for (const std::string& index : key) {
    if (index == "None") {
      added.push_back(result_axis++);
    } else if (index == "...") {
      const int skipped = x.rank() - static_cast<int>(key.size()) + static_cast<int>(news);
      slices.resize(slices.size() + static_cast<std::size_t>(std::max(skipped, 0)));
      result_axis += skipped;
    } else if (index.starts_with("slice(")) {
      slices.push_back(slice_of(index));
      ++result_axis;
    } else {
      const std::int64_t at = bound(index);
      picked.push_back(static_cast<int>(slices.size()));
      slices.push_back({.begin = at, .end = at == -1 ? ops::SliceSpec::kOpen : at + 1});
    }
  }
  x = ops::strided_slice(x, slices);
  if (!picked.empty()) x = ops::squeeze(x, {picked.begin(), picked.end()});
  for (const int axis : added) x = ops::expand_dims(x, axis);
  return x;
}

void add(const char* name, std::vector<std::string> arguments, std::vector<OperationField> fields,
         std::function<Element(const Arguments&, const Attributes&)> compute) {
  operations::add_typed_operation("numpy", name, std::move(arguments), std::move(fields), std::move(compute));
}

const bool shaping_registered = [] {
  const OperationField axis{"axis", Kind::Integer}, any_axis{"axis", Kind::OptionalInteger};
  add("Reshape", {"x"}, {{"newshape", Kind::Integers}}, [](const Arguments& a, const Attributes& config) {
    return ops::reshape(a[0].leaf(), axes_of(config, "newshape"));
  });
  add("ExpandDims", {"x"}, {{"axis", Kind::Integers}}, [](const Arguments& a, const Attributes& config) {
    Tensor x = a[0].leaf();
    for (const std::int64_t each : axes_of(config)) x = ops::expand_dims(x, static_cast<int>(each));
    return x;
  });
  add("Squeeze", {"x"}, {{"axis", Kind::OptionalIntegers}},
      [](const Arguments& a, const Attributes& config) { return ops::squeeze(a[0].leaf(), axes_of(config)); });
  add("Transpose", {"x"}, {{"axes", Kind::OptionalIntegers}}, [](const Arguments& a, const Attributes& config) {
    return ops::transpose(a[0].leaf(), axes_of(config, "axes"));
  });
  add("Swapaxes", {"x"}, {{"axis1", Kind::Integer}, {"axis2", Kind::Integer}},
      [](const Arguments& a, const Attributes& config) {
        return ops::swapaxes(a[0].leaf(), axis_of(config, "axis1"), axis_of(config, "axis2"));
      });
  add("Moveaxis", {"x"}, {{"source", Kind::Integer}, {"destination", Kind::Integer}},
      [](const Arguments& a, const Attributes& config) {
        return ops::moveaxis(a[0].leaf(), axis_of(config, "source"), axis_of(config, "destination"));
      });
  add("BroadcastTo", {"x"}, {{"shape", Kind::Integers}}, [](const Arguments& a, const Attributes& config) {
    return ops::broadcast_to(a[0].leaf(), axes_of(config, "shape"));
  });
  add("Concatenate", {"xs"}, {axis},
      [](const Arguments& a, const Attributes& config) { return ops::concatenate(a[0].flatten(), axis_of(config)); });
  add("Stack", {"x"}, {axis},
      [](const Arguments& a, const Attributes& config) { return ops::stack(a[0].flatten(), axis_of(config)); });
  add("Split", {"x"}, {{"indices_or_sections", Kind::Integers}, axis}, split);
  add("Tile", {"x"}, {{"repeats", Kind::Integers}},
      [](const Arguments& a, const Attributes& config) { return ops::tile(a[0].leaf(), axes_of(config, "repeats")); });
  add("Repeat", {"x"}, {{"repeats", Kind::Integer}, any_axis}, [](const Arguments& a, const Attributes& config) {
    return ops::repeat(flat_without_axis(a[0].leaf(), config), axis_of(config, "repeats"), axis_of(config));
  });
  add("Flip", {"x"}, {{"axis", Kind::OptionalIntegers}},
      [](const Arguments& a, const Attributes& config) { return ops::flip(a[0].leaf(), axes_of(config)); });
  add("Roll", {"x"}, {{"shift", Kind::Integer}, any_axis}, [](const Arguments& a, const Attributes& config) {
    const Tensor& x = a[0].leaf();
    const Tensor rolled = ops::roll(flat_without_axis(x, config), axis_of(config, "shift"), axis_of(config));
    return config.has("axis") ? rolled : ops::reshape_like(rolled, x);
  });
  add("Take", {"x", "indices"}, {any_axis}, [](const Arguments& a, const Attributes& config) {
    return ops::take(flat_without_axis(a[0].leaf(), config), a[1].leaf(), axis_of(config));
  });
  add("TakeAlongAxis", {"x", "indices"}, {any_axis}, [](const Arguments& a, const Attributes& config) {
    return ops::take_along_axis(flat_without_axis(a[0].leaf(), config), a[1].leaf(), axis_of(config));
  });
  add("GetItem", {"x", "key"}, {}, get_item);
  return true;
}();

std::string text_of(std::int64_t bound) {
  return bound == ops::SliceSpec::kOpen ? std::string("None") : std::to_string(bound);
}

SymbolicTensor call_numpy(const char* name, const OperationArgument& x, const Attributes& config) {
  return call_operation(std::string("numpy>") + name, {x}, config).flatten().at(0);
}

Integers one(std::int64_t value) { return {value}; }
// Nothing given stands for null.
Attributes given_axes(const char* name, const Integers& axes) {
  return axes.empty() ? Attributes() : Attributes{{name, axes}};
}

}  // namespace

namespace ops {

SymbolicTensor reshape(const SymbolicTensor& x, const Integers& shape) {
  return call_numpy("Reshape", x, {{"newshape", shape}});
}
SymbolicTensor expand_dims(const SymbolicTensor& x, int axis) {
  return call_numpy("ExpandDims", x, {{"axis", one(axis)}});
}
SymbolicTensor squeeze(const SymbolicTensor& x, const Integers& axes) {
  return call_numpy("Squeeze", x, given_axes("axis", axes));
}
SymbolicTensor transpose(const SymbolicTensor& x, const Integers& axes) {
  return call_numpy("Transpose", x, given_axes("axes", axes));
}
SymbolicTensor swapaxes(const SymbolicTensor& x, int axis1, int axis2) {
  return call_numpy("Swapaxes", x, {{"axis1", axis1}, {"axis2", axis2}});
}
SymbolicTensor moveaxis(const SymbolicTensor& x, int source, int destination) {
  return call_numpy("Moveaxis", x, {{"source", source}, {"destination", destination}});
}
SymbolicTensor broadcast_to(const SymbolicTensor& x, const Integers& shape) {
  return call_numpy("BroadcastTo", x, {{"shape", shape}});
}
SymbolicTensor concatenate(const std::vector<SymbolicTensor>& tensors, int axis) {
  return call_numpy("Concatenate", tensors, {{"axis", axis}});
}
SymbolicTensor stack(const std::vector<SymbolicTensor>& tensors, int axis) {
  return call_numpy("Stack", tensors, {{"axis", axis}});
}
std::vector<SymbolicTensor> split(const SymbolicTensor& x, int num, int axis) {
  return call_operation("numpy>Split", {x}, {{"indices_or_sections", one(num)}, {"axis", axis}}).flatten();
}
SymbolicTensor tile(const SymbolicTensor& x, const Integers& multiples) {
  return call_numpy("Tile", x, {{"repeats", multiples}});
}
SymbolicTensor repeat(const SymbolicTensor& x, int repeats, int axis) {
  return call_numpy("Repeat", x, {{"repeats", repeats}, {"axis", axis}});
}
SymbolicTensor flip(const SymbolicTensor& x, const Integers& axes) {
  return call_numpy("Flip", x, given_axes("axis", axes));
}
SymbolicTensor roll(const SymbolicTensor& x, std::int64_t shift, int axis) {
  return call_numpy("Roll", x, {{"shift", shift}, {"axis", axis}});
}
SymbolicTensor take(const SymbolicTensor& x, const SymbolicTensor& indices, int axis) {
  return call_operation("numpy>Take", {x, indices}, {{"axis", axis}}).leaf();
}
SymbolicTensor take_along_axis(const SymbolicTensor& x, const SymbolicTensor& indices, int axis) {
  return call_operation("numpy>TakeAlongAxis", {x, indices}, {{"axis", axis}}).leaf();
}
SymbolicTensor strided_slice(const SymbolicTensor& x, const std::vector<SliceSpec>& axes) {
  std::vector<std::string> key;
  for (const SliceSpec& axis : axes) {
    key.push_back("slice(" + text_of(axis.begin) + ", " + text_of(axis.end) + ", " + text_of(axis.step) + ")");
  }
  return call_operation("numpy>GetItem", {x}, {}, {{"key", key}}).leaf();
}
SymbolicTensor take_at(const SymbolicTensor& x, std::int64_t index, int axis) {
  const int at = normalize_axis(axis, x.shape().rank(), "take_at");
  std::vector<std::string> key(static_cast<std::size_t>(at), "slice(None, None, None)");
  key.push_back(std::to_string(index));
  return call_operation("numpy>GetItem", {x}, {}, {{"key", key}}).leaf();
}

}  // namespace ops
}  // namespace cohort
