#include "cohort/graph/rounds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/resource_use.h"

namespace cohort {
namespace {

// Something uses at one place have in common and that keeps their order: a resource, or (-1) the outside world.
using Thread = std::pair<Place, int>;
constexpr int kOutside = -1;

class RoundAssigner {
 public:
  RoundAssigner(const Graph& graph, const Placement& placement) : graph_(graph), placement_(placement) {
    rounds_.when.resize(graph.nodes.size());
    for (const Node& node : graph.nodes) {
      std::vector<ResourceUse> uses = resource_uses(graph, node);
      if (has_other_effects(node)) uses.push_back({kOutside, true});
      uses_.push_back(std::move(uses));
    }
  }

  Rounds run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) earliest(i);
    latest();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (std::size_t k = 0; k < places(i).size(); ++k) {
        if (places(i)[k] != kWorkerPlace) rounds_.count = std::max(rounds_.count, rounds_.when[i][k] + 1);
      }
    }
    return std::move(rounds_);
  }

 private:
  struct Uses {
    int read = 0, write = 0;
  };

  const std::vector<Place>& places(std::size_t node) const { return placement_.places[node]; }
  int& when(std::size_t node, Place place) {
    const std::vector<Place>& all = places(node);
    return rounds_.when[node][static_cast<std::size_t>(std::find(all.begin(), all.end(), place) - all.begin())];
  }

  // The first stage or round in which `place` has the node's result.
  int available(std::size_t node, Place place) {
    if (places(node).empty()) return 0;
    if (placement_.at(static_cast<int>(node), place)) return when(node, place);
    const Place source = places(node).front();
    return when(node, source) + (source == kWorkerPlace ? 0 : 1);
  }

  void earliest(std::size_t node) {
    for (Place place : places(node)) {
      int time = 0;
      for (const Value& input : graph_.nodes[node].inputs) {
        time = std::max(time, available(static_cast<std::size_t>(input.node), place));
      }
      for (const ResourceUse& use : uses_[node]) {
        const Uses& before = so_far_[{place, use.resource}];
        time = std::max(time, use.writes ? std::max(before.read, before.write) : before.write);
      }
      for (const ResourceUse& use : uses_[node]) {
        Uses& now = so_far_[{place, use.resource}];
        int& own = use.writes ? now.write : now.read;
        own = std::max(own, time);
      }
      rounds_.when[node].push_back(time);
      int& last = last_round_[place];
      last = std::max(last, time);
    }
  }

  void latest() {
    const auto users = graph_.users();
    std::vector<bool> is_output(graph_.nodes.size());
    for (const Value& output : graph_.outputs) is_output[static_cast<std::size_t>(output.node)] = true;
    std::map<Thread, Uses> from_here;
    for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
      for (Place place : places(i)) {
        if (place == kWorkerPlace) continue;
        int& own = when(i, place);
        int time = is_output[i] ? own : last_round_[place];
        for (const auto& [user, position] : users[i]) {
          for (Place at : places(static_cast<std::size_t>(user))) {
            if (at == place) time = std::min(time, when(static_cast<std::size_t>(user), place));
            // What leaves the server leaves as soon as it can.
            if (!placement_.at(static_cast<int>(i), at) && place == places(i).front()) time = std::min(time, own);
          }
        }
        auto later = [&](int resource) -> Uses& {
          return from_here.try_emplace({place, resource}, Uses{last_round_[place], last_round_[place]}).first->second;
        };
        for (const ResourceUse& use : uses_[i]) {
          const Uses& after = later(use.resource);
          time = std::min(time, use.writes ? std::min(after.read, after.write) : after.write);
        }
        for (const ResourceUse& use : uses_[i]) {
          Uses& after = later(use.resource);
          int& slot = use.writes ? after.write : after.read;
          slot = std::min(slot, time);
        }
        own = time;
      }
    }
  }

  const Graph& graph_;
  const Placement& placement_;
  std::vector<std::vector<ResourceUse>> uses_;
  std::map<Thread, Uses> so_far_;
  std::map<Place, int> last_round_;
  Rounds rounds_;
};

}  // namespace

Rounds assign_rounds(const Graph& graph, const Placement& placement) { return RoundAssigner(graph, placement).run(); }

}  // namespace cohort
