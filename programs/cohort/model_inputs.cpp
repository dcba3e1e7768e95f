#include "programs/cohort/model_inputs.h"

#include <string>

#include "cohort/core/error.h"
#include "cohort/ops/cast.h"

namespace cohort::programs {
namespace {

constexpr const char* kPredict = "cohort predict";

std::string input_dataset(std::size_t number) { return "input_" + std::to_string(number); }

void check_datasets(const Hdf5File& file, std::size_t inputs) {
  const std::string fix = inputs == 1 ? std::string("The model has one input: call its dataset input_0.")
                                      : "The model has " + std::to_string(inputs) + " inputs: call their datasets " +
                                            input_dataset(0) + " to " + input_dataset(inputs - 1) + ".";
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!file.is_dataset(input_dataset(i))) {
      throw not_found(kPredict, "a dataset for each of the model's inputs is expected",
                      {{"file", file.name()}, {"missing", input_dataset(i)}}, fix);
    }
  }
  for (const std::string& name : file.members("")) {
    bool known = false;
    for (std::size_t i = 0; i < inputs; ++i) known |= name == input_dataset(i);
    if (!known) {
      throw invalid_argument(kPredict, "only datasets for the model's inputs are expected",
                             {{"file", file.name()}, {"dataset", name}}, fix);
    }
  }
}

// Keras adds or drops a last axis of one where the ranks differ by it.
Tensor with_rank_of(const Tensor& value, const Shape& expected) {
  std::vector<std::int64_t> sizes(value.shape().begin(), value.shape().end());
  if (value.rank() + 1 == expected.rank() && expected.back() == 1) {
    sizes.push_back(1);
  } else if (value.rank() == expected.rank() + 1 && value.shape().back() == 1) {
    sizes.pop_back();
  } else {
    return value;
  }
  return value.view(Shape(sizes));
}

Tensor read_input(const Hdf5File& file, std::size_t number, const SymbolicTensor& input) {
  const std::string dataset = input_dataset(number);
  const Tensor value = with_rank_of(file.read(dataset), input.shape());
  const auto problem = [&](const std::string& expected) {
    return invalid_argument(kPredict, "input '" + input.source()->layer->name() + "' must have " + expected,
                            {{"dataset", dataset}, {"shape", value.shape()}, {"dtype", value.dtype()}});
  };
  if (!value.shape().compatible(input.shape())) throw problem("shape " + input.shape().to_string());
  if (value.shape()[0] == 0) throw problem("at least one sample");
  if (value.dtype() == input.dtype()) return value;
  if (value.dtype() == DType::String || input.dtype() == DType::String) {
    throw problem(std::string("values of type ") + to_string(input.dtype()));
  }
  return ops::cast(value, input.dtype());
}

}  // namespace

Element read_inputs(const Model& model, const Hdf5File& file) {
  const Symbols inputs = model.inputs();
  const std::vector<SymbolicTensor> symbols = inputs.flatten();
  std::vector<std::size_t> places(symbols.size());
  std::iota(places.begin(), places.end(), 0);
  const std::vector<std::size_t> order = in_keras_order(inputs.with_leaves(places));
  check_datasets(file, symbols.size());
  Tensors values(symbols.size());
  for (std::size_t number = 0; number < order.size(); ++number) {
    values[order[number]] = read_input(file, number, symbols[order[number]]);
    const std::int64_t samples = values[order[number]].shape()[0], expected = values[order[0]].shape()[0];
    if (samples != expected) {
      throw invalid_argument(kPredict, "every input must have the same number of samples",
                             {{input_dataset(0), expected}, {input_dataset(number), samples}});
    }
  }
  return inputs.with_leaves(values);
}

}  // namespace cohort::programs
