#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "cohort/config/field_codec.h"
#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort::layers {

// A size for each spatial axis; one number stands for all of them, as in Keras.
struct Window {
  Window(int size) : sizes{size} {}
  Window(std::int64_t size) : sizes{size} {}
  Window(std::initializer_list<std::int64_t> sizes) : sizes(sizes) {}

  // Repeats a single number for `rank` axes; throws unless there are that many sizes, all positive or also zero.
  void standardize(const std::string& who, const char* name, int rank, bool allow_zero = false) {
    if (sizes.size() == 1) sizes.resize(static_cast<std::size_t>(rank), sizes[0]);
    bool fits = static_cast<int>(sizes.size()) == rank;
    for (std::int64_t size : sizes) fits = fits && size >= (allow_zero ? 0 : 1);
    if (fits) return;
    throw invalid_argument(who,
                           std::string(name) + " must be a " + (allow_zero ? "number from 0 on" : "positive number") +
                               " or " + std::to_string(rank) + " of them",
                           {{name, "(" + join(sizes) + ")"}});
  }

  std::vector<std::int64_t> sizes;
};

}  // namespace cohort::layers

namespace cohort {

// A list of sizes; empty for null.
template <>
struct FieldCodec<layers::Window> {
  static ConfigValue to(const layers::Window& window) {
    return FieldCodec<std::vector<std::int64_t>>::to(window.sizes);
  }
  static layers::Window from(const GivenField& given) {
    layers::Window window = {};
    if (!given.value.is_null()) window.sizes = FieldCodec<std::vector<std::int64_t>>::from(given);
    return window;
  }
};

}  // namespace cohort
