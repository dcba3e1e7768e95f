#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cohort/model/fit/callback.h"
#include "cohort/model/fit/data_argument.h"

namespace cohort {

// After which epochs fit validates: every n-th, or those listed (counted from 1).
class ValidationFrequency {
 public:
  // Every this many epochs.
  ValidationFrequency(std::int64_t every = 1) : every_(every) {}
  // After these epochs, counted from 1.
  ValidationFrequency(std::initializer_list<std::int64_t> epochs) : epochs_(epochs) {}
  // Whether fit validates after this epoch, counted from 1.
  bool includes(std::int64_t epoch) const;
  // Throws when the number is not positive.
  void check() const;

 private:
  std::int64_t every_ = 0;
  std::vector<std::int64_t> epochs_;
};

// What Model::fit takes besides its data, in Keras's order; callbacks stand last.
struct FitOptions {
  std::optional<std::int64_t> batch_size = std::nullopt;  // 32 for tensors; a dataset brings its own
  // Epoch to train up to, counted from 1: epochs - initial_epoch are run.
  std::int64_t epochs = 1;
  std::optional<int> verbose = std::nullopt;  // 0 silent, 1 bar, 2 a line per epoch; none: 1 on a terminal, else 2
  // Fraction of the samples at the end that is kept for validation, of tensors alone, in (0, 1); 0: none.
  double validation_split = 0.0;
  // Data to validate on: a Dataset or {x, y} or {x, y, sample_weight}; goes before validation_split.
  DataArgument validation_data = {};
  // Shuffle tensors again in every epoch; a dataset shuffles itself.
  bool shuffle = true;
  // Weights of samples by their class; classes that are not named weigh 1.
  std::map<std::int64_t, double> class_weight = {};
  // Weight of each sample in the loss, of tensors alone; a dataset gives it as a third component.
  TensorArgument sample_weight = {};
  // Epoch to begin with, counted from 0.
  std::int64_t initial_epoch = 0;
  // Batches of an epoch; none: until the data ends.
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;
  // Batches of a validation; none: until the data ends.
  std::optional<std::int64_t> validation_steps = std::nullopt;
  // Samples per batch of validation tensors; none: batch_size.
  std::optional<std::int64_t> validation_batch_size = std::nullopt;
  // Validate every this many epochs, or after the epochs listed, counted from 1.
  ValidationFrequency validation_freq = 1;
  // Callbacks, called in this order.
  std::vector<Ref<Callback>> callbacks = {};
};

// What Model::evaluate takes besides its data.
struct EvaluateOptions {
  // Samples per batch of tensors; none: 32. A dataset brings its own.
  std::optional<std::int64_t> batch_size = std::nullopt;
  std::optional<int> verbose = std::nullopt;  // 0 silent, 1 bar, 2 one line; none: 1 on a terminal, else 2
  // Weight of each sample in the loss, of tensors alone.
  TensorArgument sample_weight = {};
  // Batches to evaluate; none: until the data ends.
  std::optional<std::int64_t> steps = std::nullopt;
  // Callbacks, called in this order.
  std::vector<Ref<Callback>> callbacks = {};
};

// What Model::predict takes besides its data.
struct PredictOptions {
  // Samples per batch of tensors; none: 32. A dataset brings its own.
  std::optional<std::int64_t> batch_size = std::nullopt;
  std::optional<int> verbose = std::nullopt;  // 0 silent, 1 bar, 2 one line; none: 1 on a terminal, else 2
  // Batches to predict; none: until the data ends.
  std::optional<std::int64_t> steps = std::nullopt;
  // Callbacks, called in this order.
  std::vector<Ref<Callback>> callbacks = {};
};

// What Model::train_on_batch takes besides its data.
struct TrainOnBatchOptions {
  // Weight of each sample in the loss.
  TensorArgument sample_weight = {};
  // Weights of samples by their class; classes that are not named weigh 1.
  std::map<std::int64_t, double> class_weight = {};
};

}  // namespace cohort
