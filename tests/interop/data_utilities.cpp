#include "tests/interop/data_utilities.h"

#include <cstdio>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/datasets/utilities/audio_dataset_from_directory.h"
#include "cohort/datasets/utilities/pad_sequences.h"
#include "cohort/datasets/utilities/split_dataset.h"
#include "cohort/datasets/utilities/text_dataset_from_directory.h"
#include "cohort/datasets/utilities/timeseries_dataset_from_array.h"

namespace cohort::interop {
namespace {

// The leaves of an element in brackets.
void print_element(const char* what, const Tensors& element) {
  std::printf("%s", what);
  for (const Tensor& leaf : element) {
    std::printf(" [");
    if (leaf.dtype() == DType::String) {
      for (const std::string& text : leaf.to_strings()) std::printf(" %s", text.c_str());
    } else {
      for (const double value : leaf.to_vector<double>()) std::printf(" %.9g", value);
    }
    std::printf(" ]");
  }
  std::printf("\n");
}

void print_all(const char* what, const Dataset& dataset) {
  const auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element);) print_element(what, element);
}

Tensor numbers_below(std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::of(values, {count});
}

// texts FOLDER SEED VALIDATION_SPLIT
void print_texts(const std::vector<std::string>& arguments) {
  const auto [training, validation, class_names] =
      utils::text_dataset_from_directory(arguments.at(1), {.batch_size = 0,
                                                           .seed = std::stoll(arguments.at(2)),
                                                           .validation_split = std::stod(arguments.at(3)),
                                                           .subset = "both",
                                                           .verbose = false});
  print_all("training", training);
  print_all("validation", validation);
  for (const std::string& name : class_names) std::printf("class %s\n", name.c_str());
}

// sounds FOLDER LENGTH, which is -1 for batches as long as the longest
void print_sounds(const std::vector<std::string>& arguments) {
  utils::AudioDirectoryOptions options{.batch_size = 3, .shuffle = false, .verbose = false};
  if (std::stoll(arguments.at(2)) >= 0) options.output_sequence_length = std::stoll(arguments.at(2));
  print_all("sounds", utils::audio_dataset_from_directory(arguments.at(1), options));
}

// series STEPS LENGTH STRIDE RATE START END SEED, of which the seed is -1 where nothing is shuffled
void print_series(const std::vector<std::string>& arguments) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 1; i < arguments.size(); ++i) values.push_back(std::stoll(arguments[i]));
  const Tensor steps = numbers_below(values.at(0));
  utils::TimeseriesOptions options{.sequence_stride = values.at(2),
                                   .sampling_rate = values.at(3),
                                   .batch_size = 0,
                                   .start_index = values.at(4),
                                   .end_index = values.at(5)};
  options.shuffle = values.at(6) >= 0;
  if (options.shuffle) options.seed = values.at(6);
  print_all("series", utils::timeseries_dataset_from_array(steps, steps, values.at(1), options));
}

// split COUNT LEFT SEED
void print_split(const std::vector<std::string>& arguments) {
  const auto [left, right] =
      utils::split_dataset(numbers_below(std::stoll(arguments.at(1))), std::stod(arguments.at(2)), {},
                           {.shuffle = true, .seed = std::stoll(arguments.at(3))});
  print_all("left", left);
  print_all("right", right);
}

// pad MAXLEN PADDING TRUNCATING, of sequences 0, 01, 012, ...
void print_padded(const std::vector<std::string>& arguments) {
  std::vector<std::vector<std::int64_t>> sequences(6);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    sequences[i].resize(i);
    std::iota(sequences[i].begin(), sequences[i].end(), 0);
  }
  print_element("padded", {utils::pad_sequences(sequences, {.maxlen = std::stoll(arguments.at(1)),
                                                            .padding = arguments.at(2),
                                                            .truncating = arguments.at(3),
                                                            .value = 7})});
}

}  // namespace

void print_data_utility(const std::vector<std::string>& arguments) {
  const std::string& name = arguments.at(0);
  if (name == "texts") return print_texts(arguments);
  if (name == "sounds") return print_sounds(arguments);
  if (name == "series") return print_series(arguments);
  if (name == "split") return print_split(arguments);
  if (name == "pad") return print_padded(arguments);
  throw invalid_argument("interop data", "texts, sounds, series, split or pad is expected", {{"name", name}});
}

}  // namespace cohort::interop
