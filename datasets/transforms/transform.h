#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// The transform that adds a stage of a registered kind to the dataset it is applied to.
//   kind: as COHORT_DATASET registered it.
//   attributes: the arguments of the stage; they are saved and travel with it.
DatasetTransform make_transform(std::string kind, Attributes attributes = {});

// Base of stages over one input whose elements look like their input's.
class TransformStage : public DatasetStage {
 public:
  // Throws unless there is exactly one input.
  TransformStage(const char* who, const std::vector<Dataset>& inputs);
  const ElementSpec& element_spec() const override { return input_.element_spec(); }

 protected:
  const Dataset& input() const { return input_; }

 private:
  Dataset input_;
};

// Base of iterators over one input.
class TransformIterator : public DatasetIterator {
 public:
  explicit TransformIterator(std::unique_ptr<DatasetIterator> input) : input_(std::move(input)) {}

 protected:
  // Where the input stands, written over `state`, which keeps room for positions that take more digits.
  void write_input_state(std::string& state) const;
  // Puts the input back to what write_input_state() wrote.
  void restore_input(std::string_view state);
  // Goes past `count` elements of its own; throws when there are fewer.
  void pass_over(std::uint64_t count);

  std::unique_ptr<DatasetIterator> input_;
};

// Tensors with memory like that of `element`, for a next one to be written into.
Tensors room_for(const Tensors& element);

}  // namespace cohort::datasets
