#pragma once

// What kernels throw when they meet a value that they must refuse: one text for all devices.
#include <cstdint>
#include <string>

#include "cohort/core/error.h"

namespace cohort {

[[noreturn]] inline void refuse_label(const char* who, std::int64_t row, std::int64_t label, std::int64_t classes) {
  throw invalid_argument(who, "labels must lie in [0, " + std::to_string(classes) + "), the classes of the logits",
                         {{"labels[" + std::to_string(row) + "]", label}},
                         "Count labels from 0 and give the logits one column per class.");
}

// `position` counts the labels of all samples, `length` those of one.
[[noreturn]] inline void refuse_ctc_label(std::int64_t position, std::int64_t length, std::int64_t label,
                                          std::int64_t classes) {
  throw invalid_argument(
      "CTCLoss", "labels must lie in [0, " + std::to_string(classes) + ")",
      {{"target[" + std::to_string(position / length) + ", " + std::to_string(position % length) + "]", label}});
}

[[noreturn]] inline void refuse_ctc_lengths(std::int64_t target_length, std::int64_t output_length) {
  throw invalid_argument("CTCLoss", "lengths must not be beyond target and output",
                         {{"target_length", target_length}, {"output_length", output_length}});
}

[[noreturn]] inline void refuse_category(std::int64_t row, std::int64_t category) {
  throw invalid_argument("CountCategories", "categories must not be negative", {{"category", category}, {"row", row}});
}

[[noreturn]] inline void refuse_numbers(const std::string& message, std::int64_t nans, std::int64_t infinities,
                                        std::int64_t elements) {
  throw invalid_argument("CheckNumerics" + (message.empty() ? "" : " '" + message + "'"),
                         "every element must be finite", {{"NaN", nans}, {"Inf", infinities}, {"elements", elements}});
}

[[noreturn]] inline void refuse_assertion(const std::string& message, std::int64_t failed, std::int64_t elements) {
  throw failed_precondition("Assert", message, {{"false elements", failed}, {"elements", elements}});
}

}  // namespace cohort
