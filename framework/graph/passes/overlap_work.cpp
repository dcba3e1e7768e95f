#include <algorithm>
#include <vector>

#include "cohort/core/work_halves.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"

namespace cohort::passes {
namespace {

// A new order for the nodes of a graph, as close to the present one as can be.
class OverlappedOrder {
 public:
  explicit OverlappedOrder(const Graph& graph)
      : graph_(graph), before_(dependencies(graph)), hastens_(graph.nodes.size()), placed_(graph.nodes.size()) {
    for (int node = count(); node-- > 0;) {
      if (WorkHalves::begins(op(node))) hasten(node);
    }
  }

  // The nodes by their present numbers.
  std::vector<int> order() {
    std::vector<int> late;  // those that wait, and all that follows from them
    std::vector<bool> is_late(placed_.size());
    for (int node = 0; node < count(); ++node) {
      const bool follows = std::any_of(before(node).begin(), before(node).end(), [&](int b) { return is_late[at(b)]; });
      is_late[at(node)] = follows || WorkHalves::ends(op(node));
      if (is_late[at(node)]) {
        late.push_back(node);
      } else if (!placed_[at(node)]) {
        place(node);
        place_hastened();
      }
    }
    for (const int node : late) place(node);
    return std::move(order_);
  }

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  int count() const { return static_cast<int>(graph_.nodes.size()); }
  const OpDef& op(int node) const { return *graph_.nodes[at(node)].op; }
  const std::vector<int>& before(int node) const { return before_[at(node)]; }

  // A walk over memory, or none, is worth less than what waits for it.
  bool is_little(int node) const {
    const bool walks = op(node).is_elementwise() || op(node).is_alias();
    return (walks && !op(node).is_stateful()) || is_constant(graph_.nodes[at(node)]);
  }

  void hasten(int node) {
    if (hastens_[at(node)]) return;
    hastens_[at(node)] = true;
    hastened_.insert(std::lower_bound(hastened_.begin(), hastened_.end(), node), node);
    for (const Value& input : graph_.nodes[at(node)].inputs) {
      if (is_little(input.node)) hasten(input.node);
    }
  }

  void place(int node) {
    placed_[at(node)] = true;
    order_.push_back(node);
  }

  void place_hastened() {
    for (const int node : hastened_) {
      if (placed_[at(node)]) continue;
      if (std::all_of(before(node).begin(), before(node).end(), [&](int b) { return placed_[at(b)]; })) place(node);
    }
  }

  const Graph& graph_;
  const std::vector<std::vector<int>> before_;
  std::vector<bool> hastens_, placed_;
  std::vector<int> hastened_;  // in ascending order
  std::vector<int> order_;
};

}  // namespace

void overlap_work(Graph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                   [](const Node& node) { return WorkHalves::begins(*node.op); })) {
    return;
  }
  put_in_order(graph, OverlappedOrder(graph).order());
}

}  // namespace cohort::passes
