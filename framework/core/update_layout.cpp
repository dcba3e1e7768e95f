#include "cohort/core/update_layout.h"

namespace cohort {

namespace {

constexpr const char *kCount = "count", *kGroups = "groups", *kSquares = "squares";

int groups_of(int slots, bool squares) { return 1 + slots + (squares ? 2 : 1); }

}  // namespace

Attributes UpdateLayout::attributes(int slots, bool squares, int count) {
  Attributes result{{kCount, count}, {kGroups, groups_of(slots, squares)}};
  if (squares) result.set(kSquares, true);
  return result;
}

void UpdateLayout::set_count(Attributes& attributes, int count) { attributes.set(kCount, count); }

void UpdateLayout::add_defaults(OpDef& op, int slots) {
  op.attr(kCount, 1).attr(kGroups, groups_of(slots, false)).attr(kSquares, false);
}

bool UpdateLayout::describes(const OpDef& op) { return op.writes_resources() && op.defaults().has(kGroups); }

UpdateLayout::UpdateLayout(const OpDef& op, const Attributes& attributes, int inputs) {
  const OpCall call(op, attributes, {});
  const int groups = call.attr<int>(kGroups);
  count_ = call.attr<int>(kCount);
  squares_ = call.attr<bool>(kSquares);
  slots_ = groups - groups_of(0, squares_);
  call.check(slots_ >= 0, "there must be a group of variables and one of gradients", {{kGroups, groups}});
  // Divided, not multiplied: the numbers may come from a file and their product need not fit.
  call.check(count_ > 0 && count_ <= inputs / groups, "inputs must be groups * count values and the shared ones",
             {{"inputs", inputs}, {kGroups, groups}, {kCount, count_}});
  num_shared_ = inputs - groups * count_;
}

}  // namespace cohort
