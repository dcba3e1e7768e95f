#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cohort/distribute/protocol/methods.h"
#include "cohort/distribute/worker/applied_bundles.h"
#include "cohort/distribute/worker/constant_store.h"
#include "cohort/graph/executable.h"
#include "cohort/variables/variable.h"

namespace cohort::distribute {

// The variables of a job that lie on this task, and what is done to them. Thread-safe: one message at a time touches
// the variables, so a bundle is applied whole and a reply shows whole bundles.
class ParameterServer {
 public:
  explicit ParameterServer(ConstantStore& constants) : constants_(constants) {}

  // Makes a variable by its initial graph; one that is there already is kept.
  void create_variable(const Request<Method::CreateVariable>& request, Reply<Method::CreateVariable>& reply);
  void register_function(const Request<Method::RegisterServer>& request, Reply<Method::RegisterServer>& reply);
  // Runs a small graph for the chief.
  void run_graph(const Request<Method::RunGraph>& request, Reply<Method::RunGraph>& reply);
  // Applies what a worker pushes, once, and answers with what it reads; or only answers (a pull).
  void exchange(const Request<Method::Exchange>& request, Reply<Method::Exchange>& reply);

 private:
  // A graph of a function with its variables bound.
  struct Part {
    std::unique_ptr<ExecutableCache> apply;
    std::unique_ptr<ExecutableCache> repeat;  // the same without its writes: answers a bundle that was applied before
    std::size_t sent = 0;
    Tensors inputs;  // what was sent, then the variables
    bool writes = false;
  };
  struct ServerFunction {
    std::vector<Part> rounds;
    Part pull;
  };

  Tensor variable_handle(const std::string& name) const;
  template <class Names>
  Part make_part(const std::string& graph, const Names& resources, bool writes, const ConstantTable& constants) const;
  void run(Part& part, bool apply, const Tensors& sent, Tensors& reply);

  ConstantStore& constants_;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<std::string, Variable> variables_;
  std::unordered_map<std::uint64_t, ServerFunction> functions_;
  AppliedBundles applied_;
  std::uint64_t last_run_ = 0;  // the newest of the chief's own writes
  std::uint64_t version_ = 1;   // grows with every bundle of writes
};

}  // namespace cohort::distribute
