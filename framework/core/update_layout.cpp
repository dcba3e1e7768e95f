#include "cohort/core/update_layout.h"

#include "cohort/core/mixed_types.h"

namespace cohort {

namespace {

constexpr const char *kCount = "count", *kGroups = "groups", *kSquares = "squares", *kRounded = "rounded";

int groups_of(int slots, bool squares) { return 1 + slots + (squares ? 2 : 1); }

}  // namespace

Attributes UpdateLayout::attributes(int slots, bool squares, int count) {
  Attributes result{{kCount, count}, {kGroups, groups_of(slots, squares)}};
  if (squares) result.set(kSquares, true);
  return result;
}

void UpdateLayout::set_count(Attributes& attributes, int count) { attributes.set(kCount, count); }

void UpdateLayout::add_rounded(const OpDef& op, Attributes& attributes, DType half) {
  attributes.set(kGroups, OpCall(op, attributes, {}).attr<int>(kGroups) + 1);
  attributes.set(kRounded, half);
}

void UpdateLayout::add_defaults(OpDef& op, int slots, bool rounds) {
  op.attr(kCount, 1).attr(kGroups, groups_of(slots, false)).attr(kSquares, false);
  if (rounds) op.attr(kRounded, DType::Float32);
}

bool UpdateLayout::describes(const OpDef& op) { return op.writes_resources() && op.defaults().has(kGroups); }
bool UpdateLayout::rounds(const OpDef& op) { return op.defaults().has(kRounded); }

UpdateLayout::UpdateLayout(const OpDef& op, const Attributes& attributes, int inputs) {
  const OpCall call(op, attributes, {});
  const int groups = call.attr<int>(kGroups);
  count_ = call.attr<int>(kCount);
  squares_ = call.attr<bool>(kSquares);
  rounded_type_ = rounds(op) ? call.attr<DType>(kRounded) : DType::Float32;
  call.check(!has_rounded() || is_half(rounded_type_), "copies of variables are rounded to a half type",
             {{kRounded, rounded_type_}});
  slots_ = groups - groups_of(0, squares_) - (has_rounded() ? 1 : 0);
  call.check(slots_ >= 0, "there must be a group of variables and one of gradients", {{kGroups, groups}});
  // Divided, not multiplied: the numbers may come from a file and their product need not fit.
  call.check(count_ > 0 && count_ <= inputs / groups, "inputs must be groups * count values and the shared ones",
             {{"inputs", inputs}, {kGroups, groups}, {kCount, count_}});
  num_shared_ = inputs - groups * count_;
}

}  // namespace cohort
