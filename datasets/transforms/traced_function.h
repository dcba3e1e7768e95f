#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cohort/core/random.h"
#include "cohort/datasets/transforms/transform.h"
#include "cohort/graph/executable.h"

namespace cohort::datasets {

// Traces `f` once on symbols of one element; the attributes from which TracedFunction makes it again, anywhere.
//   who: the transform, for errors.
Attributes trace_function(const char* who, const ElementSpec& element, const ElementFunction& f);

// A function of elements, run on the host; what an element draws depends on what it is known by alone. Thread-safe.
class TracedFunction {
 public:
  // Throws unless the attributes hold a function of such elements.
  //   attributes: those that trace_function() gave.
  TracedFunction(const char* who, const ElementSpec& element, const Attributes& attributes);
  // Structure, types and shapes of its results.
  const ElementSpec& result_spec() const { return spec_; }
  // Fills `results` with its results for an element's leaves; memory is used again as by DatasetIterator::next.
  void run(const Tensors& arguments, Tensors& results, const ElementKey& key);
  // The function made ready for elements of these shapes. Where there are many shapes, the later ones share one that
  // serves all, so that nothing is compiled for them.
  std::shared_ptr<Executable> ready_for(const Tensors& arguments);
  // What an element draws from.
  RandomState random_at(const ElementKey& key) const { return {.seed = seed_, .epoch = key.pass, .step = key.number}; }

 private:
  bool is_compiled_for(const Tensors& arguments);

  ElementSpec spec_;
  std::size_t outputs_;
  std::uint64_t seed_;
  ExecutableCache executables_;
  bool has_fixed_shapes_;
  std::mutex mutex_;
  std::vector<Specs> shapes_;              // that the function is compiled for
  std::shared_ptr<Executable> of_others_;  // runs op by op
};

// Base of stages that ask a function of elements whether it holds for each of theirs.
class PredicateStage : public TransformStage {
 public:
  // Throws unless the function gives one bool without axes.
  PredicateStage(const char* who, const std::vector<Dataset>& inputs, const Attributes& attributes);
  // How many hold only walking tells.
  std::int64_t cardinality() const override { return kUnknownCardinality; }

 protected:
  const std::shared_ptr<TracedFunction>& predicate() const { return predicate_; }

 private:
  std::shared_ptr<TracedFunction> predicate_;
};

// Base of their iterators.
class PredicateIterator : public TransformIterator {
 public:
  PredicateIterator(std::unique_ptr<DatasetIterator> input, std::shared_ptr<TracedFunction> predicate)
      : TransformIterator(std::move(input)), predicate_(std::move(predicate)) {}

  std::optional<ElementKey> key() const override { return input_->key(); }
  void rewind() override;
  void save_to(StateWriter& state) const override;
  void restore_from(StateReader& state) override;

 protected:
  enum class Tested { Holds, Fails, Ended };
  // Fills `element` with the input's next one and says whether the function holds for it.
  Tested pull(Tensors& element);

 private:
  std::shared_ptr<TracedFunction> predicate_;
  // What elements are known by where the input does not say.
  std::uint64_t epoch_ = 0, pulled_ = 0;
  Tensors answer_;
};

// The transform that adds a stage of this kind, with `f` traced on the elements of the dataset it is applied to.
//   who: the transform, for errors.
DatasetTransform make_traced_transform(const char* who, std::string kind, ElementFunction f);

}  // namespace cohort::datasets
