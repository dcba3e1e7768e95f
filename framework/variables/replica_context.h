#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cohort/core/op.h"
#include "cohort/core/tensor.h"
#include "cohort/core/thread_scope.h"
#include "cohort/variables/variable.h"

namespace cohort {

// How values that replicas hold apart become one.
enum class ReduceOp { Sum, Mean };

// Code that runs once for all replicas of a process, outside of any: what it gets is, for each value that the replicas
// brought, those of all of them in order. What it returns every replica gets.
using MergeFunction = std::function<Tensors(const std::vector<Tensors>& values)>;

// Where the replicas of a process come together to run such code.
class ReplicaMerger {
 public:
  virtual ~ReplicaMerger() = default;
  // How many replicas of this process there are.
  virtual int replicas() const = 0;
  // True on the first of them, a bool scalar that each has for itself.
  virtual const Variable& is_first() const = 0;
  // Waits for all replicas, of which each must call it; what the first one brings as code runs.
  virtual Tensors merge(int replica, const MergeFunction& merge_fn, const Tensors& values) = 0;
};

// One of several replicas that run the same code in step, each on its part of a global batch; asked for by that code.
// In a trace all of it becomes ops of the graph that every replica runs. Outside of replicas there is none.
class ReplicaContext {
 public:
  // Replica `replica` of `replicas`.
  //   collective: the resource that they meet by, of any of them.
  //   loss_share: what of the global batch's mean the mean over this replica's samples is, a float32 scalar.
  //   bytes_per_pack: as below.
  //   merger: by which it comes to merge_call, with its number in this process; nullptr: it cannot.
  ReplicaContext(int replica, int replicas, Tensor collective, Variable loss_share, std::int64_t bytes_per_pack = 0,
                 ReplicaMerger* merger = nullptr, int local_replica = 0);

  // Which of the replicas this is. In a trace, which is made once for all of them, this is an error.
  int replica_id_in_sync_group() const;
  // How many there are.
  int num_replicas_in_sync() const { return replicas_; }
  // The sum or mean of the replicas' values, which all replicas must ask for; with a gradient.
  Tensor all_reduce(ReduceOp op, const Tensor& value) const;
  // The same for several values, which cross together.
  Tensors all_reduce(ReduceOp op, const Tensors& values) const;
  // Runs code once for all replicas of this process, which must all call it, and gives each what it returns. In the
  // code there is no replica context, and variables are what all copies make together: what it writes all replicas see.
  // In a trace the code becomes ops of the graph, which every replica runs on the values of all; of each value they
  // must then have the same type, no string, and shape. No gradient flows through it.
  Tensors merge_call(const MergeFunction& merge_fn, const Tensors& values) const;
  // The sums of the replicas' values in packs, each of which crosses as soon as a step has computed it and while the
  // step goes on. For traces.
  std::vector<Tensors> sum_packs(const std::vector<Tensors>& packs) const;
  // Rows that this replica has computed as some of those that all replicas have.
  IndexedSlices among_all(IndexedSlices slices) const;
  // How many bytes of gradients make a pack; 0: they cross together when all of them are there.
  std::int64_t bytes_per_pack() const { return bytes_per_pack_; }
  // What a variable that is the same on all replicas is written with, where each has computed a value: their sum, mean
  // or the first one, as the variable says.
  Tensor aggregated(const Variable& variable, const Tensor& value) const;
  // What of the global batch's mean the mean over this replica's samples is. The shares of all replicas add up to 1.
  Tensor loss_share() const;
  // In traced code of merge_call: what all replicas' copies of a variable that is synchronized on reading make
  // together, of its own copy's value.
  Tensor made_together(const Variable& variable, const Tensor& own) const;
  // The same for writing: what each replica's copy gets of what all of them are to make together.
  Tensor part_of(const Variable& variable, const Tensor& whole) const;

 private:
  const Tensor& collective() const;
  Tensors merge_in_trace(const MergeFunction& merge_fn, const Tensors& values) const;
  // Of each value those of all replicas of this process.
  std::vector<Tensors> gathered(const Tensors& values) const;

  const int replica_, replicas_;
  const Tensor collective_;
  const Variable loss_share_;
  const std::int64_t bytes_per_pack_;
  ReplicaMerger* const merger_;
  const int local_replica_;
};

// While one lives, its thread is the code of a replica; nullptr: of all replicas together, as an optimizer's update is.
// Thread-local, nested.
using ReplicaScope = ThreadScope<ReplicaContext, const ReplicaContext*>;

// The replica whose code this is; nullptr outside of replicas.
const ReplicaContext* get_replica_context();
// The replicas of which this thread traces code of merge_call; nullptr outside of that, and where it runs line by line.
const ReplicaContext* traced_merge();
// A mean over a replica's samples as its part of the mean over the global batch: replicas' gradients are added up.
Tensor scale_loss_for_replica(const Tensor& loss);
// The reverse, for what is shown.
Tensor unscale_loss_for_replica(const Tensor& loss);

}  // namespace cohort
