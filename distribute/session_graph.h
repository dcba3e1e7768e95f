#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/core/thread_scope.h"
#include "cohort/variables/variable.h"

namespace cohort::distribute {

class Session;

// Something that a session's graph can do besides computing values: assignments, a step of training. To be run.
class Operation {
 public:
  // One that does nothing.
  Operation() = default;

 private:
  friend class SessionGraph;
  friend class Session;
  const void* graph_ = nullptr;
  std::vector<int> nodes_;
};

// A graph that a client builds and sessions run. It only grows. A shared handle. Built by one thread at a time, while
// no session is being given what is new in it.
//   SessionGraph graph;
//   auto building = graph.as_default();
//   const Tensor x = graph.placeholder(float32, {2});
//   Variable total(Tensor::full({2}, 0), {.name = "total"});
//   const Operation add = graph.operation([&] { total.assign_add(x); });
class SessionGraph {
 public:
  // An empty graph.
  SessionGraph();

  // While it lives, every op that its thread calls becomes a node of the graph, on the device that the device scopes
  // ask for, and every variable that it makes is one of the graph.
  class Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;

   private:
    friend class SessionGraph;
    class Body;
    explicit Scope(std::unique_ptr<Body> body);
    std::unique_ptr<Body> body_;
  };
  // Begins such a scope.
  [[nodiscard]] Scope as_default() const;

  // A value that each run is given.
  //   shape: axes may be unknown (kUnknown).
  Tensor placeholder(DType dtype, const Shape& shape, const std::string& name = "placeholder") const;
  // A value as a node of its own, on the device that the scopes ask for.
  Tensor constant(const Tensor& value) const;
  // The same for one number.
  Tensor constant(double value, DType dtype = DType::Float32) const;
  // What `body` does: whoever runs the operation runs all assignments and other effects that calling `body` has put
  // into the graph. Those at one variable happen in the order in which the graph has them.
  Operation operation(const std::function<void()>& body) const;
  // Sets all variables made so far to their initial values. A variable that nobody has run this for begins with its
  // initial value when it is first used.
  Operation initializer() const;
  // The variables made so far.
  const Variables& variables() const;
  // One line per node, for people.
  std::string to_string() const;

 private:
  friend class Session;
  struct Body;
  std::shared_ptr<Body> body_;
};

// While it lives, variables that its thread makes in a session's graph are in the container of this name: two of one
// name in one container of one task are the same variable, whichever session or client uses it. Without one they are in
// the task's default container. auto scope = ch::distribute::container("experiment-7");
class ContainerScope {
 public:
  // Begins the scope.
  explicit ContainerScope(std::string name);
  // The innermost scope's name; empty outside of any.
  static std::string current();

 private:
  ThreadScope<ContainerScope, std::string> name_;
};
// A scope by its container's name.
[[nodiscard]] ContainerScope container(std::string name);

}  // namespace cohort::distribute
