#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_arrays.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/stacking.h"

// Keras's operations that join, cut, repeat and pad.
namespace cohort {
namespace {

using operations::add_operation;
using operations::Arguments;
using operations::axis_of;
using operations::cuts_of;
using operations::integer_of;
using operations::Integers;
using operations::tuple_of;

using Cut = Tensors (*)(const Tensor&, const ops::IndicesOrSections&);
using CutAlong = Tensors (*)(const Tensor&, const ops::IndicesOrSections&, int);
using Join = Tensor (*)(const Tensors&);
using JoinAlong = Tensor (*)(const Tensors&, int);

Element padded(const Arguments& a, const Attributes& config) {
  const Integers widths = operations::integers_of(config, "pad_width");
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i + 1 < widths.size(); i += 2) pairs.emplace_back(widths[i], widths[i + 1]);
  const Tensor& x = a[0].leaf();
  if (pairs.size() == 1) pairs.resize(static_cast<std::size_t>(x.rank()), pairs[0]);
  return Element(ops::pad(x, pairs, operations::text_of(config, "mode", "constant"),
                          operations::number_of(config, "constant_values")));
}

void add_cut(const char* name, Cut cut) {
  add_operation("numpy", name, {"x"}, {"indices_or_sections"}, [cut](const Arguments& a, const Attributes& config) {
    return tuple_of(cut(a[0].leaf(), cuts_of(config)));
  });
}
void add_cut_along(const char* name, CutAlong cut) {
  add_operation("numpy", name, {"x"}, {"indices_or_sections", "axis"},
                [cut](const Arguments& a, const Attributes& config) {
                  return tuple_of(cut(a[0].leaf(), cuts_of(config), axis_of(config).value_or(0)));
                });
}
void add_join(const char* name, Join join) {
  add_operation("numpy", name, {"xs"}, {},
                [join](const Arguments& a, const Attributes&) { return Element(join(a[0].flatten())); });
}
void add_join_along(const char* name, const char* argument, JoinAlong join) {
  add_operation("numpy", name, {argument}, {"axis"}, [join](const Arguments& a, const Attributes& config) {
    return Element(join(a[0].flatten(), axis_of(config).value_or(0)));
  });
}

[[maybe_unused]] const bool arrays_registered = [] {
  operations::add_typed_operation("numpy", "Pad", {"x", "constant_values"},
                                  {{"pad_width", OperationField::Kind::Pairs}, {"mode", OperationField::Kind::Text}},
                                  padded);
  add_join_along("Concatenate", "xs", ops::concatenate);
  add_join_along("Stack", "x", ops::stack);
  add_join("Hstack", ops::hstack);
  add_join("Vstack", ops::vstack);
  add_join("Dstack", ops::dstack);
  add_cut_along("Split", ops::split);
  add_cut_along("ArraySplit", ops::array_split);
  add_cut("Vsplit", ops::vsplit);
  add_cut("Hsplit", ops::hsplit);
  add_cut("Dsplit", ops::dsplit);
  add_operation("numpy", "Append", {"x1", "x2"}, {"axis"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::append(a[0].leaf(), a[1].leaf(), axis_of(config)));
  });
  add_operation("core", "Unstack", {"x"}, {"num", "axis"}, [](const Arguments& a, const Attributes& config) {
    std::optional<std::int64_t> num;
    if (config.has("num")) num = integer_of(config, "num");
    return tuple_of(ops::unstack(a[0].leaf(), num, axis_of(config).value_or(0)));
  });
  add_operation("numpy", "Tile", {"x"}, {"repeats"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::tile(a[0].leaf(), operations::integers_of(config, "repeats")));
  });
  add_operation("numpy", "Repeat", {"x"}, {"repeats", "axis"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::repeat(a[0].leaf(), static_cast<int>(integer_of(config, "repeats")), axis_of(config)));
  });
  return true;
}();

}  // namespace

namespace ops {

using operations::call_one;
using operations::call_several;
using operations::with_axis;
using operations::with_cuts;
using SymbolList = std::vector<SymbolicTensor>;

SymbolicTensor concatenate(const SymbolList& xs, int axis) {
  return call_one("numpy>Concatenate", {xs}, {{"axis", axis}});
}
SymbolicTensor stack(const SymbolList& tensors, int axis) {
  return call_one("numpy>Stack", {tensors}, {{"axis", axis}});
}
SymbolicTensor hstack(const SymbolList& xs) { return call_one("numpy>Hstack", {xs}); }
SymbolicTensor vstack(const SymbolList& xs) { return call_one("numpy>Vstack", {xs}); }
SymbolicTensor dstack(const SymbolList& xs) { return call_one("numpy>Dstack", {xs}); }
SymbolicTensor append(const SymbolicTensor& x1, const SymbolicTensor& x2, std::optional<int> axis) {
  return call_one("numpy>Append", {x1, x2}, with_axis({}, axis));
}
SymbolList unstack(const SymbolicTensor& x, std::optional<std::int64_t> num, int axis) {
  Attributes config{{"axis", axis}};
  if (num) config.set("num", *num);
  return call_several("core>Unstack", {x}, config);
}

SymbolList split(const SymbolicTensor& x, const IndicesOrSections& where, int axis) {
  return call_several("numpy>Split", {x}, with_cuts({{"axis", axis}}, where));
}
SymbolList split_sizes(const SymbolicTensor& x, const Integers& sizes, int axis) {
  const std::int64_t whole = x.shape()[normalize_axis(axis, x.shape().rank(), "split_sizes")];
  std::int64_t known = 0;
  for (const std::int64_t size : sizes) known += std::max<std::int64_t>(size, 0);
  const bool open = std::find(sizes.begin(), sizes.end(), kUnknown) != sizes.end();
  if (whole == kUnknown || (open ? known > whole : known != whole)) {
    throw invalid_argument("split_sizes", "the sizes must add up to the axis, whose size is known",
                           {{"x.shape", x.shape()}, {"axis", axis}, {"sum(sizes)", known}});
  }
  Integers cuts;
  for (const std::int64_t size : sizes) {
    cuts.push_back((cuts.empty() ? 0 : cuts.back()) + (size == kUnknown ? whole - known : size));
  }
  cuts.pop_back();  // the end
  return split(x, cuts, axis);
}
SymbolList array_split(const SymbolicTensor& x, const IndicesOrSections& where, int axis) {
  return call_several("numpy>ArraySplit", {x}, with_cuts({{"axis", axis}}, where));
}
SymbolList vsplit(const SymbolicTensor& x, const IndicesOrSections& where) {
  return call_several("numpy>Vsplit", {x}, with_cuts({}, where));
}
SymbolList hsplit(const SymbolicTensor& x, const IndicesOrSections& where) {
  return call_several("numpy>Hsplit", {x}, with_cuts({}, where));
}
SymbolList dsplit(const SymbolicTensor& x, const IndicesOrSections& where) {
  return call_several("numpy>Dsplit", {x}, with_cuts({}, where));
}

SymbolicTensor tile(const SymbolicTensor& x, const Integers& multiples) {
  return call_one("numpy>Tile", {x}, {{"repeats", multiples}});
}
SymbolicTensor repeat(const SymbolicTensor& x, int repeats, std::optional<int> axis) {
  return call_one("numpy>Repeat", {x}, with_axis({{"repeats", repeats}}, axis));
}
SymbolicTensor pad(const SymbolicTensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& paddings,
                   const std::string& mode, double constant_value) {
  Integers widths;
  for (const auto& [before, after] : paddings) widths.insert(widths.end(), {before, after});
  const Attributes config{{"pad_width", widths}, {"mode", mode}};
  if (mode != "constant") return call_one("numpy>Pad", {x}, config);
  return call_one("numpy>Pad", {x, constant_value}, config);
}

}  // namespace ops
}  // namespace cohort
