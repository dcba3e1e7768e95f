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
  ValidationFrequency(std::int64_t every = 1) : every_(every) {}
  ValidationFrequency(std::initializer_list<std::int64_t> epochs) : epochs_(epochs) {}
  bool includes(std::int64_t epoch) const;  // counted from 1
  void check() const;

 private:
  std::int64_t every_ = 0;
  std::vector<std::int64_t> epochs_;
};

// What Model::fit takes besides its data, in Keras's order; callbacks stand last.
struct FitOptions {
  std::optional<std::int64_t> batch_size = std::nullopt;  // 32 for tensors; a dataset brings its own
  std::int64_t epochs = 1;
  std::optional<int> verbose = std::nullopt;  // 0 silent, 1 bar, 2 a line per epoch; none: 1 on a terminal, else 2
  double validation_split = 0.0;
  DataArgument validation_data = {};
  bool shuffle = true;
  std::map<std::int64_t, double> class_weight = {};
  TensorArgument sample_weight = {};
  std::int64_t initial_epoch = 0;
  std::optional<std::int64_t> steps_per_epoch = std::nullopt;
  std::optional<std::int64_t> validation_steps = std::nullopt;
  std::optional<std::int64_t> validation_batch_size = std::nullopt;
  ValidationFrequency validation_freq = 1;
  std::vector<Ref<Callback>> callbacks = {};
};

struct EvaluateOptions {
  std::optional<std::int64_t> batch_size = std::nullopt;
  std::optional<int> verbose = std::nullopt;
  TensorArgument sample_weight = {};
  std::optional<std::int64_t> steps = std::nullopt;
  std::vector<Ref<Callback>> callbacks = {};
};

struct PredictOptions {
  std::optional<std::int64_t> batch_size = std::nullopt;
  std::optional<int> verbose = std::nullopt;
  std::optional<std::int64_t> steps = std::nullopt;
  std::vector<Ref<Callback>> callbacks = {};
};

struct BatchOptionsOfTraining {
  TensorArgument sample_weight = {};
  std::map<std::int64_t, double> class_weight = {};
};

}  // namespace cohort
