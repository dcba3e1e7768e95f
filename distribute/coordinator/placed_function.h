#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/graph/graph.h"
#include "cohort/graph/partition.h"
#include "cohort/variables/variable.h"

namespace cohort::proto {
class RegisterServerProto;
class RegisterWorkerProto;
}  // namespace cohort::proto

namespace cohort::distribute {

// What an input of a function's graph stands for.
struct PlacedInput {
  enum class Kind { Argument, Element, Iterator, Resource, Collective, LossShare };
  Kind kind = Kind::Argument;
  int pull = 0, leaf = 0;  // of an element
  Tensor resource = {};

  // What a captured resource stands for.
  static PlacedInput of_capture(const Tensor& capture);
};

// A function before it is cut.
struct FunctionDescription {
  std::shared_ptr<const Graph> graph;
  std::vector<PlacedInput> inputs;
  std::vector<int> pulls;      // the iterator argument of each element a call takes, in order
  int replicas = 1;            // on a worker's devices, each with its rows of every element
  bool joins_outputs = false;  // outputs are rows of all of them; else they must be the same on each

  // Whether replicas meet in it, or weigh what they compute.
  bool is_of_replicas() const;
};

// A function cut by task: what each ps and what any worker is to be told of it. Constant once made.
class PlacedFunction {
 public:
  struct PsPart {
    int ps;
    std::shared_ptr<const proto::RegisterServerProto> metadata;
    ConstantTable constants;
  };
  struct WorkerPart {
    std::shared_ptr<const proto::RegisterWorkerProto> metadata;
    ConstantTable constants;
  };

  // `handle` names it on all tasks.
  PlacedFunction(std::uint64_t handle, const FunctionDescription& description,
                 const std::vector<std::string>& ps_addresses);

  std::uint64_t handle() const { return handle_; }
  // Elements that one step takes of the iterator argument.
  int pulls_of(int iterator) const;
  // Variables of the chief to which results add, in the order of ClosureResult::accumulated.
  const std::vector<Variable>& accumulators() const { return accumulators_; }
  int num_outputs() const { return num_outputs_; }
  // Only of the ps that have one.
  const std::vector<PsPart>& ps_parts() const { return ps_parts_; }
  const WorkerPart& worker_part() const { return worker_part_; }

 private:
  const std::uint64_t handle_;
  const std::vector<int> pulls_;
  int num_outputs_ = 0;
  std::vector<Variable> accumulators_;
  std::vector<PsPart> ps_parts_;
  WorkerPart worker_part_;
};

}  // namespace cohort::distribute
