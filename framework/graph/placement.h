#pragma once

#include <vector>

#include "cohort/graph/graph.h"

namespace cohort {

// Where an input of a graph lives, as seen by whoever runs it (the worker).
struct Home {
  enum class Kind {
    Worker,       // arguments, iterators, and resources the worker keeps itself
    Server,       // a variable of one server
    EveryServer,  // a variable of which each server has a copy of its own: an optimizer's step count, its learning rate
  };
  Kind kind = Kind::Worker;
  int server = 0;
};

// Who runs a node: the worker, or the server of this number.
using Place = int;
constexpr Place kWorkerPlace = -1;

// Where the nodes of a graph run.
struct Placement {
  // By node: the worker, or one or several servers in ascending order; several run copies of their own. Inputs and
  // constants have none: they are wherever they are used.
  std::vector<std::vector<Place>> places;

  bool at(int node, Place place) const;
  // Whose result others get: the worker's, else that of the first server.
  Place source(int node) const { return places[static_cast<std::size_t>(node)].front(); }
};

// Places the nodes of a graph without calls:
// - What writes to a server's variable, or reads it after a write, runs on that server; what writes to one of
//   EveryServer runs on each server that has anything to do, and on server 0 in any case.
// - A node that asks for "/job:ps/task:k" runs on server k, one that asks for "/job:worker" on the worker; but what
//   uses a resource runs where that is.
// - What only serves nodes on a server runs there too: all that needs no more than constants and what that server has
//   (a schedule, weight decay), and elementwise ops that join such a value with one of the worker's (an accumulated
//   gradient, a moving average), so that what is read, changed and written is the server's own value.
// - All else runs on the worker, a read of a server's variable on the worker's replica of it.
// `homes` has one entry per graph input.
Placement place(const Graph& graph, const std::vector<Home>& homes, int servers);

}  // namespace cohort
