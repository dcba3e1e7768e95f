#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/core/dispatch.h"
#include "cohort/graph/graph.h"

namespace cohort {

// Which passes run; all by default. Tests switch single ones off.
struct PassOptions {
  // Compute what depends on constants alone once, and drop ops that do nothing.
  bool fold = true;
  // Merge nodes that compute the same.
  bool cse = true;
  // Join elementwise ops, and put biases and activations into the op before them.
  bool fuse = true;
  // Fold transposes into the matmuls that use them.
  bool layout = true;
  // Let ops read and write other types than they compute in, in place of casts before and after them.
  bool casts = true;
  // Merge the updates of single variables into one node per kind.
  bool schedule = true;
  // Let values share memory that are never there together.
  bool memory = true;
  // Where a step reads variables rounded and updates them, keep them rounded beside them, on devices that record. For
  // runs that bind tensors: bare pointers do not say what else lies beside a variable.
  bool copies = true;
};

// A graph made ready for one device and concrete input shapes: optimised, its kernels chosen, its memory planned. Runs
// from several threads at once; each run has a frame of its own, kept for the next.
class Executable {
 public:
  virtual ~Executable() = default;
  // Binds tensors to the graph's inputs and runs it; `outputs` are the graph's outputs in order. A run on static shapes
  // allocates nothing but pooled output memory, and not even that where `outputs` hold memory that nobody else has.
  virtual void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RandomState& random) = 0;
  // The same on bare pointers of the device, for kernels that run a graph: inputs in order (a resource's kernel
  // pointer), outputs written where they point, `random` in memory that the kernels read.
  virtual void run_raw(void* const* inputs, void* const* outputs, const RandomState* random) = 0;
  // Sets memory aside for that many runs at once, so that none of them need ask for it.
  virtual void reserve(std::size_t runs) = 0;
  // The optimised graph, with concrete shapes.
  virtual const Graph& graph() const = 0;
  // Bytes of the planned arena; 0 when shapes depend on values.
  virtual std::size_t arena_bytes() const = 0;
};

// Makes a graph ready for inputs of these types and shapes.
std::shared_ptr<Executable> compile(const Graph& graph, const Specs& inputs, Device& device,
                                    const PassOptions& passes = {});
// The same for a graph whose ops must run one by one, because some of its resources live elsewhere.
std::shared_ptr<Executable> compile_op_by_op(const Graph& graph, const Specs& inputs, Device& device);

// A traced graph with its captures, specialised on demand for the shapes it meets (a bounded cache). Thread-safe.
class ExecutableCache {
 public:
  ExecutableCache(std::shared_ptr<const Graph> graph, PassOptions passes = {});
  ~ExecutableCache();
  // Runs on `device`; `inputs` are arguments followed by captures.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RandomState& random,
           Device& device = default_device());
  // The executable for inputs like these, made if need be.
  std::shared_ptr<Executable> specialize(std::span<const Tensor> inputs, Device& device = default_device());
  // The graph it makes ready.
  const std::shared_ptr<const Graph>& graph() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cohort
