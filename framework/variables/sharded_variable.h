#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/ops/slicing.h"
#include "cohort/variables/variable.h"

namespace cohort {

// A variable whose rows lie in others, each of which may live on a task of its own. A shared handle, as Variable is.
class ShardedVariable {
 public:
  // Rows one after the other in the order of the variables, which agree in type and in all axes but the first.
  explicit ShardedVariable(Variables variables, std::string name = "ShardedVariable");
  // A variable that a strategy's partitioner cut; one that is whole counts as its own only shard.
  explicit ShardedVariable(Variable variable) : whole_(std::move(variable)) {}

  // The variables that hold its rows, in order.
  std::vector<Variable> variables() const { return whole_.shards(); }
  // Shape of the whole.
  const Shape& shape() const { return whole_.shape(); }
  // Type of its elements.
  DType dtype() const { return whole_.dtype(); }
  // Name of the whole.
  const std::string& name() const { return whole_.name(); }
  // The same as one Variable, which layers, tapes and optimizers take.
  const Variable& variable() const { return whole_; }
  // variable(), so that it can stand for one.
  operator Variable() const { return whole_; }

  // All rows, put together.
  Tensor value() const { return whole_.value(); }
  // value(), so that it can stand where an op takes a tensor.
  operator Tensor() const { return value(); }
  // Sets all rows.
  void assign(const Tensor& value) { whole_.assign(value); }
  // Adds to all rows.
  void assign_add(const Tensor& delta) { whole_.assign_add(delta); }
  // Subtracts from all rows.
  void assign_sub(const Tensor& delta) { whole_.assign_sub(delta); }
  // Adds values[i] to row indices[i].
  void scatter_add(const Tensor& indices, const Tensor& values) { whole_.scatter_add(indices, values); }

  // One row, read from its shard alone; negative ones count from the back.
  Tensor operator[](std::int64_t row) const;
  // x[begin:end:step, ...] in Python's sense, read from the shards it touches. Axes that are not named are taken whole.
  Tensor strided_slice(const std::vector<ops::SliceSpec>& axes) const;
  // Rows in the order asked: the result has the indices' axes in the place of axis 0. An index outside is an error.
  Tensor sparse_read(const Tensor& indices) const;

 private:
  Variable whole_;
};

// The rows of ids out of a table's shards, each asked for the rows it has.
inline Tensor embedding_lookup(const ShardedVariable& params, const Tensor& ids) { return params.sparse_read(ids); }

}  // namespace cohort
