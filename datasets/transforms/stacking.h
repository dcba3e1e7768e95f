#pragma once

#include <span>
#include <string>
#include <vector>

#include "cohort/core/attributes.h"
#include "cohort/data/element.h"

namespace cohort::datasets {

// What pads the tensors of elements to one shape.
struct PaddingOptions {
  // For each tensor of an element its shape in a batch, kUnknown where the longest element decides; none: as the
  // dataset's element_spec() says.
  std::vector<Shape> padded_shapes = {};
  // For each tensor a scalar of its type, or an undefined tensor for 0, false and ""; one alone serves all.
  Tensors padding_values = {};
};
// The options as attributes of a stage; throws unless they fit elements like these.
//   who: the transform, for errors.
void add_padding(const char* who, const ElementSpec& element, const PaddingOptions& options, Attributes& attributes);

// Puts elements one behind the other along a new axis 0, padding them where it may. Thread-safe.
class Stacking {
 public:
  // Of elements that must have one shape.
  //   who: the transform, for errors.
  static Stacking of_equal_shapes(const char* who, const ElementSpec& element);
  // Of elements that are padded as the attributes of add_padding() say.
  static Stacking padded(const char* who, const ElementSpec& element, const Attributes& attributes);

  // Types and shapes of what comes out.
  //   rows: the size of axis 0, or kUnknown.
  ElementSpec spec(std::int64_t rows) const;
  // Stacks elements.
  //   rows: leaves of the elements; at least one element.
  //   filled: the size of axes that the longest element would decide; kUnknown: let it.
  //   batch: where to; its memory is used again.
  void stack(std::span<const Tensors* const> rows, Tensors& batch, std::int64_t filled = kUnknown) const;
  // Whether rows of these columns, put together, are the rows that stack() makes.
  bool keeps_rows_of(const Tensors& columns) const;

 private:
  struct Leaf {
    TensorSpec element;
    Shape target;  // kUnknown where the longest element decides
    Tensor value;  // on the host; undefined for zeros
    std::string text;
  };

  Stacking(const char* who, const ElementSpec& element);
  Shape target_of(std::size_t leaf, std::span<const Tensors* const> rows, std::int64_t filled) const;
  void check_row(const Leaf& leaf, const Tensor& first, const Tensor& row, std::size_t number) const;
  void stack_strings(std::size_t leaf, std::span<const Tensors* const> rows, const Shape& target, Tensor& batch) const;
  void stack_plain(std::size_t leaf, std::span<const Tensors* const> rows, const Shape& target, Tensor& batch) const;

  const char* who_;
  ElementSpec element_;
  std::vector<Leaf> leaves_;
  bool pads_ = false;
};

}  // namespace cohort::datasets
