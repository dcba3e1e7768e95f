#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/buffer.h"
#include "cohort/core/device.h"
#include "cohort/core/dtype.h"
#include "cohort/core/error.h"
#include "cohort/core/intrusive.h"
#include "cohort/core/resource.h"
#include "cohort/core/shape.h"

namespace cohort {

// Type and shape of a tensor, without its values.
struct TensorSpec {
  // Type of the elements.
  DType dtype = DType::Float32;
  // Sizes of the axes.
  Shape shape;

  // "float32(None, 10)"
  std::string to_string() const;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Which value of which trace a symbolic tensor stands for.
struct TracedValue {
  std::uint64_t trace = 0;  // identity of the trace, never used twice; 0: none
  // The node that makes it.
  std::int32_t node = -1;
  // Which of the node's outputs it is.
  std::int32_t output = 0;
};

// A value: dense, row-major, on one device; or, inside a trace, the symbol of one. A cheap handle; values are never
// changed once made.
class Tensor {
 public:
  // An undefined tensor.
  Tensor() = default;

  // Copies values from the host.
  //   values: as many as the shape has elements, in row-major order; their C++ type decides the dtype.
  template <class T>
  static Tensor of(std::span<const T> values, const Shape& shape, Device& device = default_device()) {
    return from_host(values.data(), values.size(), dtype_of<T>, shape, device);
  }
  // The same from a vector or a braced list.
  template <class T>
  static Tensor of(const std::vector<T>& values, const Shape& shape, Device& device = default_device()) {
    return of(std::span<const T>(values), shape, device);
  }
  template <class T>
  static Tensor of(std::initializer_list<T> values, const Shape& shape, Device& device = default_device()) {
    return of(std::span<const T>(values.begin(), values.size()), shape, device);
  }
  // A tensor of strings, on the host.
  static Tensor of_strings(std::vector<std::string> values, const Shape& shape);
  // A scalar that stands for a resource: a variable, an iterator.
  static Tensor of_resource(std::shared_ptr<Resource> resource);
  // A tensor of one repeated value of any plain type.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::Float32, Device& device = default_device());
  // A tensor without axes.
  static Tensor scalar(double value, DType dtype = DType::Float32, Device& device = default_device()) {
    return full({}, value, dtype, device);
  }
  // Memory whose contents are not set yet; only for code that fills it at once.
  static Tensor empty(DType dtype, const Shape& shape, Device& device = default_device());
  // Uses host memory without a copy; it must stay unchanged until `release` is called.
  static Tensor from_blob(void* memory, DType dtype, const Shape& shape, std::function<void()> release = {});
  // The symbol of a value in a trace. That of a resource may carry an example of what it will be, for code that asks
  // for an iterator's elements.
  static Tensor symbolic(const TensorSpec& spec, TracedValue traced_value, std::shared_ptr<Resource> example = nullptr);

  // True when the handle has a value or a symbol.
  bool defined() const { return static_cast<bool>(body_); }
  explicit operator bool() const = delete;  // say defined(), or item<bool>()
  // Type of its elements.
  DType dtype() const { return body().spec.dtype; }
  // Sizes of its axes; kUnknown where a symbol does not tell.
  const Shape& shape() const { return body().spec.shape; }
  // Type and shape.
  const TensorSpec& spec() const { return body().spec; }
  // Number of axes.
  int rank() const { return shape().rank(); }
  // Number of elements; kUnknown when an axis is unknown.
  std::int64_t num_elements() const { return shape().num_elements(); }
  // Bytes its elements take.
  std::size_t bytes() const { return static_cast<std::size_t>(num_elements()) * size_of(dtype()); }
  // True for the symbol of a value in a trace.
  bool is_symbolic() const { return body().traced_value.trace != 0; }
  // Which value of which trace it stands for.
  const TracedValue& traced_value() const { return body().traced_value; }
  // Where its values are.
  Device& device() const;

  // The values, where the host can read them; throws on another device (see to_host) and inside a trace.
  template <class T>
  std::span<const T> data() const {
    check_readable(dtype_of<T>, /*host=*/true);
    return {static_cast<const T*>(raw()), static_cast<std::size_t>(num_elements())};
  }
  // The values converted to T, from any device and any numeric type.
  template <class T>
  std::vector<T> to_vector() const;
  // The elements of a tensor of strings.
  std::vector<std::string> to_strings() const;
  // The value of a tensor with one element.
  template <class T>
  T item() const {
    check_single();
    return static_cast<T>(to_vector<T>()[0]);
  }
  // The same values on another device; itself when they are there.
  Tensor to(Device& device) const;
  // The same values where the host can read them.
  Tensor to_host() const { return to(cpu()); }
  // A copy with memory of its own on the same device.
  Tensor clone() const;
  // The same memory under another shape of equal size; only for code below the ops.
  Tensor view(const Shape& shape) const;
  // Rows [first, first + count) of axis 0, sharing this tensor's memory.
  Tensor rows(std::int64_t first, std::int64_t count) const;

  // Type, shape and values as text; long axes are shortened.
  std::string to_string() const;

  // The memory, for kernels and transports.
  void* raw() const;
  // The memory's owner.
  const Owned<Buffer>& buffer() const { return body().buffer; }
  // The resource it stands for; nullptr for values.
  const std::shared_ptr<Resource>& resource() const { return body().resource; }
  // True for two handles of one body.
  bool same_as(const Tensor& other) const { return body_ == other.body_; }
  // The body's address: equal for handles of one body.
  const void* identity() const { return body_.get(); }
  // What the tensor stands for: a resource whichever handle names it, else this very body. The key of tapes and traces.
  const void* key() const {
    return dtype() == DType::Resource && !is_symbolic() ? static_cast<const void*>(resource().get()) : identity();
  }
  // A tensor over memory that exists, from `offset` bytes on.
  static Tensor over(DType dtype, const Shape& shape, Owned<Buffer> buffer, std::size_t offset = 0);

  // For code that makes one value after the other: the handle lets go of its value and becomes empty(...). What nobody
  // else has is used again, the memory too where it is large enough.
  void renew(DType dtype, const Shape& shape, Device& device);
  // The same for over(...).
  void renew_over(DType dtype, const Shape& shape, Owned<Buffer> buffer, std::size_t offset = 0);
  // The same for source.to(device).
  void renew_from(const Tensor& source, Device& device);
  // Whether this handle is the only owner of its memory.
  bool owns_memory() const { return body_ && body_->unique() && body_->buffer && body_->buffer->unique(); }

 private:
  struct Body : Counted<Body> {
    TensorSpec spec;
    Owned<Buffer> buffer;
    std::size_t offset = 0;
    std::shared_ptr<Resource> resource;
    TracedValue traced_value;
  };
  static Tensor from_host(const void* values, std::size_t count, DType dtype, const Shape& shape, Device& device);
  const Body& body() const;
  Body& own_body();
  void check_readable(DType wanted, bool host) const;
  void check_single() const;

  Owned<Body> body_;
};

// A list of tensors.
using Tensors = std::vector<Tensor>;

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const TensorSpec& spec);

}  // namespace cohort
