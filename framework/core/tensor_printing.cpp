#include <iomanip>
#include <ostream>
#include <sstream>

#include "cohort/core/tensor.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

constexpr std::int64_t kEdge = 3;        // entries shown at each end of a long axis
constexpr std::int64_t kShowAll = 1000;  // tensors up to this size are printed whole

// Prints nested brackets in numpy's way, with "..." inside long axes.
class Printer {
 public:
  Printer(const Shape& shape, std::vector<std::string> cells) : shape_(shape), cells_(std::move(cells)) {
    for (const std::string& cell : cells_) width_ = std::max(width_, cell.size());
    abbreviated_ = shape.num_elements() > kShowAll;
  }

  std::string print() {
    if (shape_.rank() == 0) return cells_[0];
    print_axis(0, 0, 1);
    return text_;
  }

 private:
  void print_axis(int axis, std::int64_t offset, std::size_t indent) {
    const std::int64_t size = shape_[axis];
    std::int64_t stride = 1;
    for (int i = axis + 1; i < shape_.rank(); ++i) stride *= shape_[i];
    const bool last = axis + 1 == shape_.rank();
    text_ += '[';
    for (std::int64_t i = 0; i < size; ++i) {
      if (i > 0)
        text_ += last ? ", "
                      : "," + std::string(static_cast<std::size_t>(shape_.rank() - axis - 1), '\n') +
                            std::string(indent, ' ');
      if (abbreviated_ && size > 2 * kEdge && i == kEdge) {
        text_ += "...";
        i = size - kEdge - 1;
        continue;
      }
      if (last) {
        const std::string& cell = cells_[static_cast<std::size_t>(offset + i)];
        text_ += std::string(width_ - cell.size(), ' ') + cell;
      } else {
        print_axis(axis + 1, offset + i * stride, indent + 1);
      }
    }
    text_ += ']';
  }

  Shape shape_;
  std::vector<std::string> cells_;
  std::size_t width_ = 0;
  bool abbreviated_ = false;
  std::string text_;
};

std::string format_number(double value) {
  std::ostringstream text;
  text << std::setprecision(6) << value;
  return text.str();
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "Tensor(undefined)";
  std::string head = "Tensor(shape=" + shape().to_string() + ", dtype=" + cohort::to_string(dtype());
  if (is_symbolic()) return head + ", symbolic)";
  if (dtype() == DType::Resource) {
    return head + ", " + (resource() ? titled(resource()->kind(), resource()->name()) : "none") + ")";
  }
  std::vector<std::string> cells;
  if (dtype() == DType::String) {
    for (const std::string& s : to_strings()) cells.push_back('"' + s + '"');
  } else if (dtype() == DType::Bool) {
    for (bool value : to_vector<bool>()) cells.push_back(value ? "true" : "false");
  } else if (is_integer(dtype())) {
    for (std::int64_t value : to_vector<std::int64_t>()) cells.push_back(std::to_string(value));
  } else {
    for (double value : to_vector<double>()) cells.push_back(format_number(value));
  }
  const std::string values = Printer(shape(), std::move(cells)).print();
  return head + ",\n" + values + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.to_string(); }

}  // namespace cohort
