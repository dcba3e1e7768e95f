#include <algorithm>
#include <charconv>

#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_arrays.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/matrices.h"

// Keras's operations that change shapes, turn tensors and pick elements.
namespace cohort {
namespace {

using operations::Arguments;
using operations::axes_of;
using operations::axis_of;
using operations::integer_of;
using operations::Integers;
using operations::integers_of;

int integer_field(const Attributes& config, const char* name) { return static_cast<int>(integer_of(config, name)); }

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

void add(const char* name, std::vector<std::string> arguments, const std::vector<std::string>& fields,
         operations::Compute compute) {
  operations::add_operation("numpy", name, std::move(arguments), fields, std::move(compute));
}

// One of x, of the matrices' offset and axes.
void add_of_diagonals(const char* name, Tensor (*function)(const Tensor&, std::int64_t, int, int)) {
  add(name, {"x"}, {"offset", "axis1", "axis2"}, [function](const Arguments& a, const Attributes& config) {
    return function(a[0].leaf(), integer_of(config, "offset"), static_cast<int>(integer_of(config, "axis1", 0)),
                    static_cast<int>(integer_of(config, "axis2", 1)));
  });
}

void add_band(const char* name, Tensor (*function)(const Tensor&, std::int64_t)) {
  add(name, {"x"}, {"k"}, [function](const Arguments& a, const Attributes& config) {
    return function(a[0].leaf(), integer_of(config, "k"));
  });
}

void add_like(const char* name, operations::OfOne function) {
  add(name, {"x"}, {"dtype"}, [function](const Arguments& a, const Attributes& config) {
    return function(ops::cast(a[0].leaf(), operations::dtype_of(config, a[0].leaf().dtype())));
  });
}

const bool shaping_registered = [] {
  operations::add_of_one("numpy", "Ravel", ops::ravel);
  operations::add_of_one("numpy", "Fliplr", ops::fliplr);
  operations::add_of_one("numpy", "Flipud", ops::flipud);
  add_band("Tril", ops::tril);
  add_band("Triu", ops::triu);
  add_of_diagonals("Trace", ops::trace);
  add_of_diagonals("Diagonal", ops::diagonal);
  add_like("ZerosLike", ops::zeros_like);
  add_like("OnesLike", ops::ones_like);
  add("Reshape", {"x"}, {"newshape"}, [](const Arguments& a, const Attributes& config) {
    return ops::reshape(a[0].leaf(), integers_of(config, "newshape"));
  });
  add("ExpandDims", {"x"}, {"axis"},
      [](const Arguments& a, const Attributes& config) { return ops::expand_dims(a[0].leaf(), axes_of(config)); });
  add("Squeeze", {"x"}, {"axis"},
      [](const Arguments& a, const Attributes& config) { return ops::squeeze(a[0].leaf(), axes_of(config)); });
  add("Transpose", {"x"}, {"axes"}, [](const Arguments& a, const Attributes& config) {
    return ops::transpose(a[0].leaf(), integers_of(config, "axes"));
  });
  add("Swapaxes", {"x"}, {"axis1", "axis2"}, [](const Arguments& a, const Attributes& config) {
    return ops::swapaxes(a[0].leaf(), integer_field(config, "axis1"), integer_field(config, "axis2"));
  });
  add("Moveaxis", {"x"}, {"source", "destination"}, [](const Arguments& a, const Attributes& config) {
    return ops::moveaxis(a[0].leaf(), integers_of(config, "source"), integers_of(config, "destination"));
  });
  add("BroadcastTo", {"x"}, {"shape"}, [](const Arguments& a, const Attributes& config) {
    return ops::broadcast_to(a[0].leaf(), integers_of(config, "shape"));
  });
  add("FullLike", {"x", "fill_value"}, {"dtype"}, [](const Arguments& a, const Attributes& config) {
    const Tensor& x = a[0].leaf();
    return ops::broadcast_like(ops::cast(a[1].leaf(), operations::dtype_of(config, x.dtype())), x);
  });
  add("Flip", {"x"}, {"axis"},
      [](const Arguments& a, const Attributes& config) { return ops::flip(a[0].leaf(), axes_of(config)); });
  add("Rot90", {"array"}, {"k", "axes"}, [](const Arguments& a, const Attributes& config) {
    const Integers axes = integers_of(config, "axes", {0, 1});
    if (axes.size() != 2) throw invalid_argument("Rot90", "axes must be two", {{"axes", Shape(axes)}});
    return ops::rot90(a[0].leaf(), static_cast<int>(integer_of(config, "k", 1)),
                      {static_cast<int>(axes[0]), static_cast<int>(axes[1])});
  });
  add("Roll", {"x"}, {"shift", "axis"}, [](const Arguments& a, const Attributes& config) {
    return ops::roll(a[0].leaf(), integer_of(config, "shift"), axis_of(config));
  });
  add("Take", {"x", "indices"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    return ops::take(a[0].leaf(), a[1].leaf(), axis_of(config));
  });
  add("TakeAlongAxis", {"x", "indices"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    return ops::take_along_axis(a[0].leaf(), a[1].leaf(), axis_of(config));
  });
  add("GetItem", {"x", "key"}, {}, get_item);
  operations::add_operation(
      "core", "Slice", {"inputs", "start_indices"}, {"shape"}, [](const Arguments& a, const Attributes& config) {
        return Element(ops::slice(a[0].leaf(), integers_of(config, "start_indices"), integers_of(config, "shape")));
      });
  return true;
}();

std::string index_text(std::int64_t bound) {
  return bound == ops::SliceSpec::kOpen ? std::string("None") : std::to_string(bound);
}

}  // namespace

namespace ops {

using operations::call_one;
using operations::with_axes;
using operations::with_axis;

COHORT_SYMBOL_OF_ONE(ravel, "numpy>Ravel")
COHORT_SYMBOL_OF_ONE(fliplr, "numpy>Fliplr")
COHORT_SYMBOL_OF_ONE(flipud, "numpy>Flipud")
COHORT_SYMBOL_OF_ONE(zeros_like, "numpy>ZerosLike")
COHORT_SYMBOL_OF_ONE(ones_like, "numpy>OnesLike")

SymbolicTensor reshape(const SymbolicTensor& x, const Integers& shape) {
  return call_one("numpy>Reshape", {x}, {{"newshape", shape}});
}
SymbolicTensor expand_dims(const SymbolicTensor& x, int axis) {
  return call_one("numpy>ExpandDims", {x}, {{"axis", axis}});
}
SymbolicTensor expand_dims(const SymbolicTensor& x, const Integers& axes) {
  return call_one("numpy>ExpandDims", {x}, {{"axis", axes}});
}
SymbolicTensor squeeze(const SymbolicTensor& x, const Integers& axes) {
  return call_one("numpy>Squeeze", {x}, with_axes({}, axes));
}
SymbolicTensor transpose(const SymbolicTensor& x, const Integers& axes) {
  return call_one("numpy>Transpose", {x}, axes.empty() ? Attributes() : Attributes{{"axes", axes}});
}
SymbolicTensor swapaxes(const SymbolicTensor& x, int axis1, int axis2) {
  return call_one("numpy>Swapaxes", {x}, {{"axis1", axis1}, {"axis2", axis2}});
}
SymbolicTensor moveaxis(const SymbolicTensor& x, int source, int destination) {
  return call_one("numpy>Moveaxis", {x}, {{"source", source}, {"destination", destination}});
}
SymbolicTensor moveaxis(const SymbolicTensor& x, const Integers& source, const Integers& destination) {
  return call_one("numpy>Moveaxis", {x}, {{"source", source}, {"destination", destination}});
}
SymbolicTensor broadcast_to(const SymbolicTensor& x, const Integers& shape) {
  return call_one("numpy>BroadcastTo", {x}, {{"shape", shape}});
}
SymbolicTensor full_like(const SymbolicTensor& x, const SymbolicOperand& value) {
  return call_one("numpy>FullLike", {x, operations::argument_of(value)});
}
SymbolicTensor flip(const SymbolicTensor& x, const Integers& axes) {
  return call_one("numpy>Flip", {x}, with_axes({}, axes));
}
SymbolicTensor rot90(const SymbolicTensor& array, int k, std::pair<int, int> axes) {
  return call_one("numpy>Rot90", {array}, {{"k", k}, {"axes", Integers{axes.first, axes.second}}});
}
SymbolicTensor roll(const SymbolicTensor& x, std::int64_t shift, std::optional<int> axis) {
  return call_one("numpy>Roll", {x}, with_axis({{"shift", shift}}, axis));
}
SymbolicTensor slice(const SymbolicTensor& x, const Integers& begin, const Integers& size) {
  return call_operation("core>Slice", {x}, {{"shape", size}}, {{"start_indices", begin}}).leaf();
}
SymbolicTensor strided_slice(const SymbolicTensor& x, const std::vector<SliceSpec>& axes) {
  std::vector<std::string> key;
  for (const SliceSpec& axis : axes) {
    key.push_back("slice(" + index_text(axis.begin) + ", " + index_text(axis.end) + ", " + index_text(axis.step) + ")");
  }
  return call_operation("numpy>GetItem", {x}, {}, {{"key", key}}).leaf();
}
SymbolicTensor take_at(const SymbolicTensor& x, std::int64_t index, int axis) {
  const int at = normalize_axis(axis, x.shape().rank(), "take_at");
  std::vector<std::string> key(static_cast<std::size_t>(at), "slice(None, None, None)");
  key.push_back(std::to_string(index));
  return call_operation("numpy>GetItem", {x}, {}, {{"key", key}}).leaf();
}
SymbolicTensor take(const SymbolicTensor& x, const SymbolicTensor& indices, std::optional<int> axis) {
  return call_one("numpy>Take", {x, indices}, with_axis({}, axis));
}
SymbolicTensor take(const SymbolicTensor& x, const Tensor& indices, std::optional<int> axis) {
  return call_one("numpy>Take", {x, indices}, with_axis({}, axis));
}
SymbolicTensor take(const Tensor& x, const SymbolicTensor& indices, std::optional<int> axis) {
  return call_one("numpy>Take", {x, indices}, with_axis({}, axis));
}
SymbolicTensor take_along_axis(const SymbolicTensor& x, const SymbolicTensor& indices, std::optional<int> axis) {
  return call_one("numpy>TakeAlongAxis", {x, indices}, with_axis({}, axis));
}
SymbolicTensor take_along_axis(const SymbolicTensor& x, const Tensor& indices, std::optional<int> axis) {
  return call_one("numpy>TakeAlongAxis", {x, indices}, with_axis({}, axis));
}
SymbolicTensor tril(const SymbolicTensor& x, std::int64_t k) { return call_one("numpy>Tril", {x}, {{"k", k}}); }
SymbolicTensor triu(const SymbolicTensor& x, std::int64_t k) { return call_one("numpy>Triu", {x}, {{"k", k}}); }
SymbolicTensor diagonal(const SymbolicTensor& x, std::int64_t offset, int axis1, int axis2) {
  return call_one("numpy>Diagonal", {x}, {{"offset", offset}, {"axis1", axis1}, {"axis2", axis2}});
}
SymbolicTensor trace(const SymbolicTensor& x, std::int64_t offset, int axis1, int axis2) {
  return call_one("numpy>Trace", {x}, {{"offset", offset}, {"axis1", axis1}, {"axis2", axis2}});
}

}  // namespace ops
}  // namespace cohort
