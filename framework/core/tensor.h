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
  DType dtype = DType::Float32;
  Shape shape;

  std::string to_string() const;  // "float32(None, 10)"
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Which value of which trace a symbolic tensor stands for.
struct Symbol {
  std::uint64_t trace = 0;  // identity of the trace, never used twice; 0: none
  std::int32_t node = -1;
  std::int32_t output = 0;
};

// A value: dense, row-major, on one device; or, inside a trace, the symbol of one. A cheap handle; values are never
// changed once made.
class Tensor {
 public:
  Tensor() = default;

  // Copies from the host.
  template <class T>
  static Tensor of(std::span<const T> values, const Shape& shape, Device& device = default_device()) {
    return from_host(values.data(), values.size(), dtype_of<T>, shape, device);
  }
  template <class T>
  static Tensor of(const std::vector<T>& values, const Shape& shape, Device& device = default_device()) {
    return of(std::span<const T>(values), shape, device);
  }
  template <class T>
  static Tensor of(std::initializer_list<T> values, const Shape& shape, Device& device = default_device()) {
    return of(std::span<const T>(values.begin(), values.size()), shape, device);
  }
  static Tensor of_strings(std::vector<std::string> values, const Shape& shape);
  static Tensor of_resource(std::shared_ptr<Resource> resource);
  // A scalar (or a tensor of one repeated value) of any plain type.
  static Tensor full(const Shape& shape, double value, DType dtype = DType::Float32, Device& device = default_device());
  static Tensor scalar(double value, DType dtype = DType::Float32, Device& device = default_device()) {
    return full({}, value, dtype, device);
  }
  // Memory whose contents are not set yet; only for code that fills it at once.
  static Tensor empty(DType dtype, const Shape& shape, Device& device = default_device());
  // Uses host memory without a copy; it must stay unchanged until `release` is called.
  static Tensor from_blob(void* memory, DType dtype, const Shape& shape, std::function<void()> release = {});
  // The symbol of a resource may carry an example of what it will be, for code that asks for an iterator's elements.
  static Tensor symbolic(const TensorSpec& spec, Symbol symbol, std::shared_ptr<Resource> example = nullptr);

  bool defined() const { return static_cast<bool>(body_); }
  explicit operator bool() const = delete;  // say defined(), or item<bool>()
  DType dtype() const { return body().spec.dtype; }
  const Shape& shape() const { return body().spec.shape; }
  const TensorSpec& spec() const { return body().spec; }
  int rank() const { return shape().rank(); }
  std::int64_t num_elements() const { return shape().num_elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(num_elements()) * size_of(dtype()); }
  bool is_symbolic() const { return body().symbol.trace != 0; }
  const Symbol& symbol() const { return body().symbol; }
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
  std::vector<std::string> to_strings() const;
  // The value of a tensor with one element.
  template <class T>
  T item() const {
    check_single();
    return static_cast<T>(to_vector<T>()[0]);
  }
  Tensor to(Device& device) const;
  Tensor to_host() const { return to(cpu()); }
  // A copy with memory of its own on the same device.
  Tensor clone() const;
  // The same memory under another shape of equal size; only for code below the ops.
  Tensor view(const Shape& shape) const;
  // Rows [first, first + count) of axis 0, sharing this tensor's memory.
  Tensor rows(std::int64_t first, std::int64_t count) const;

  std::string to_string() const;

  // For kernels and transports: the memory, its owner, the resource.
  void* raw() const;
  const Owned<Buffer>& buffer() const { return body().buffer; }
  const std::shared_ptr<Resource>& resource() const { return body().resource; }
  // Two handles of one body.
  bool same_as(const Tensor& other) const { return body_ == other.body_; }
  const void* identity() const { return body_.get(); }
  // What the tensor stands for: a resource whichever handle names it, else this very body. The key of tapes and traces.
  const void* key() const {
    return dtype() == DType::Resource && !is_symbolic() ? static_cast<const void*>(resource().get()) : identity();
  }
  static Tensor over(DType dtype, const Shape& shape, Owned<Buffer> buffer, std::size_t offset = 0);

  // For code that makes one value after the other: the handle lets go of its value and becomes empty(...), over(...) or
  // source.to(device). What nobody else has is used again, the memory too where it is large enough.
  void renew(DType dtype, const Shape& shape, Device& device);
  void renew_over(DType dtype, const Shape& shape, Owned<Buffer> buffer, std::size_t offset = 0);
  void renew_from(const Tensor& source, Device& device);
  // Whether this handle is the only owner of its memory.
  bool owns_memory() const { return body_ && body_->unique() && body_->buffer && body_->buffer->unique(); }

 private:
  struct Body : Counted<Body> {
    TensorSpec spec;
    Owned<Buffer> buffer;
    std::size_t offset = 0;
    std::shared_ptr<Resource> resource;
    Symbol symbol;
  };
  static Tensor from_host(const void* values, std::size_t count, DType dtype, const Shape& shape, Device& device);
  const Body& body() const;
  Body& own_body();
  void check_readable(DType wanted, bool host) const;
  void check_single() const;

  Owned<Body> body_;
};

using Tensors = std::vector<Tensor>;

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const TensorSpec& spec);

}  // namespace cohort
