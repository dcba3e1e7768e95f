#include "cohort/core/tensor.h"

#include <cstring>
#include <limits>
#include <ostream>

#include "cohort/core/text.h"

namespace cohort {
namespace {

// Ends with an error when the product does not fit, so that no later size computation can wrap around.
std::size_t checked_bytes(DType dtype, const Shape& shape) {
  std::size_t bytes = size_of(dtype);
  for (std::int64_t size : shape) {
    if (size == kUnknown) {
      throw invalid_argument("Tensor", "the shape of values must be known", {{"shape", shape}});
    }
    if (size > 0 &&
        bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / static_cast<std::size_t>(size)) {
      throw invalid_argument("Tensor", "the tensor must fit into memory", {{"shape", shape}, {"dtype", dtype}});
    }
    bytes *= static_cast<std::size_t>(size);
  }
  return bytes;
}

}  // namespace

std::string TensorSpec::to_string() const { return std::string(cohort::to_string(dtype)) + shape.to_string(); }

std::ostream& operator<<(std::ostream& out, const TensorSpec& spec) { return out << spec.to_string(); }

Tensor Tensor::over(DType dtype, const Shape& shape, Owned<Buffer> buffer, std::size_t offset) {
  Tensor tensor;
  tensor.body_ = Owned<Body>(new Body);
  tensor.body_->spec = {dtype, shape};
  tensor.body_->buffer = std::move(buffer);
  tensor.body_->offset = offset;
  return tensor;
}

Tensor::Body& Tensor::own_body() {
  if (!body_ || !body_->unique()) {
    body_ = Owned<Body>(new Body);
  } else {
    body_->resource = nullptr;
    body_->traced_value = {};
  }
  return *body_;
}

void Tensor::renew_over(DType dtype, const Shape& shape, Owned<Buffer> buffer, std::size_t offset) {
  Body& body = own_body();
  body.spec = {dtype, shape};
  body.buffer = std::move(buffer);
  body.offset = offset;
}

void Tensor::renew(DType dtype, const Shape& shape, Device& device) {
  if (owns_memory()) {
    const Buffer& memory = *body_->buffer;
    if (is_plain(dtype) && memory.pooled() && &memory.device() == &device &&
        memory.bytes() >= checked_bytes(dtype, shape)) {
      Body& body = own_body();
      body.spec = {dtype, shape};
      body.offset = 0;
      return;
    }
  }
  *this = Tensor();  // before new memory is asked for: it may be the old
  *this = empty(dtype, shape, device);
}

void Tensor::renew_from(const Tensor& source, Device& device) {
  if (!is_plain(source.dtype()) || &device == &source.device()) {
    *this = source;
    return;
  }
  source.check_readable(source.dtype(), false);
  if (!device.host_readable() && !source.device().host_readable()) {
    *this = source.to(cpu()).to(device);
    return;
  }
  renew(source.dtype(), source.shape(), device);
  if (device.host_readable()) {
    source.device().copy_to_host(raw(), source.raw(), source.bytes());
  } else {
    device.copy_from_host(raw(), source.raw(), source.bytes());
  }
}

Tensor Tensor::empty(DType dtype, const Shape& shape, Device& device) {
  if (!is_plain(dtype)) throw invalid_argument("Tensor::empty", "a plain element type is expected", {{"dtype", dtype}});
  const auto use = [&] { return "tensor " + TensorSpec{dtype, shape}.to_string(); };
  return over(dtype, shape, Buffer::allocate(device, checked_bytes(dtype, shape), use));
}

Tensor Tensor::from_host(const void* values, std::size_t count, DType dtype, const Shape& shape, Device& device) {
  Tensor tensor = empty(dtype, shape, device);
  if (count != static_cast<std::size_t>(shape.num_elements())) {
    throw invalid_argument("Tensor::of", "as many values as the shape has elements are expected",
                           {{"values.size", count}, {"shape", shape}});
  }
  device.copy_from_host(tensor.raw(), values, tensor.bytes());
  return tensor;
}

Tensor Tensor::of_strings(std::vector<std::string> values, const Shape& shape) {
  if (values.size() != static_cast<std::size_t>(shape.num_elements())) {
    throw invalid_argument("Tensor::of_strings", "as many values as the shape has elements are expected",
                           {{"values.size", values.size()}, {"shape", shape}});
  }
  return over(DType::String, shape, Buffer::of_strings(std::move(values)));
}

Tensor Tensor::of_resource(std::shared_ptr<Resource> resource) {
  Tensor tensor = over(DType::Resource, {}, nullptr);
  tensor.body_->resource = std::move(resource);
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device& device) {
  Tensor tensor = empty(dtype, shape, device);
  visit_dtype(dtype, [&](auto zero) {
    const auto element = static_cast<decltype(zero)>(value);
    device.fill(tensor.raw(), &element, sizeof element, static_cast<std::size_t>(shape.num_elements()));
  });
  return tensor;
}

Tensor Tensor::from_blob(void* memory, DType dtype, const Shape& shape, std::function<void()> release) {
  return over(dtype, shape, Buffer::borrow(cpu(), memory, checked_bytes(dtype, shape), std::move(release)));
}

Tensor Tensor::symbolic(const TensorSpec& spec, TracedValue traced_value, std::shared_ptr<Resource> example) {
  Tensor tensor = over(spec.dtype, spec.shape, nullptr);
  tensor.body_->traced_value = traced_value;
  tensor.body_->resource = std::move(example);
  return tensor;
}

const Tensor::Body& Tensor::body() const {
  if (!body_) throw failed_precondition("Tensor", "a tensor must be given a value before it is used");
  return *body_;
}

Device& Tensor::device() const { return body().buffer ? body().buffer->device() : cpu(); }

void* Tensor::raw() const {
  const Body& b = body();
  if (b.spec.dtype == DType::Resource) return b.resource ? b.resource->kernel_pointer() : nullptr;
  if (!b.buffer) check_readable(b.spec.dtype, false);
  return static_cast<char*>(b.buffer->data()) + b.offset;
}

void Tensor::check_readable(DType wanted, bool host) const {
  if (is_symbolic()) {
    throw failed_precondition("Tensor", "a value cannot be read while a function is traced: there is none yet",
                              {{"tensor", spec()}},
                              "Use ops::cond or ops::while_loop to branch on values, or run eagerly.");
  }
  if (wanted != dtype()) {
    throw invalid_argument("Tensor", "values are read as the tensor's own element type",
                           {{"asked", wanted}, {"dtype", dtype()}}, "Use to_vector<T>() or ops::cast to convert.");
  }
  if (host && !device().host_readable()) {
    throw failed_precondition("Tensor", "values are read from host memory", {{"device", device().name()}},
                              "Use to_host() first.");
  }
}

void Tensor::check_single() const {
  if (!is_symbolic() && num_elements() != 1) {
    throw invalid_argument("Tensor::item", "a tensor with exactly one element is expected", {{"shape", shape()}});
  }
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  check_readable(dtype(), false);
  if (!is_plain(dtype())) throw invalid_argument("Tensor::to_vector", "numbers are expected", {{"dtype", dtype()}});
  const Tensor host = to_host();
  std::vector<T> values(static_cast<std::size_t>(num_elements()));
  visit_dtype(dtype(), [&](auto zero) {
    const auto* in = static_cast<const decltype(zero)*>(host.raw());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        values[i] = static_cast<float>(in[i]) != 0.0f;
      } else {
        values[i] = static_cast<T>(in[i]);
      }
    }
  });
  return values;
}

template std::vector<bool> Tensor::to_vector<bool>() const;
template std::vector<std::uint8_t> Tensor::to_vector<std::uint8_t>() const;
template std::vector<std::int8_t> Tensor::to_vector<std::int8_t>() const;
template std::vector<std::int32_t> Tensor::to_vector<std::int32_t>() const;
template std::vector<std::int64_t> Tensor::to_vector<std::int64_t>() const;
template std::vector<float> Tensor::to_vector<float>() const;
template std::vector<double> Tensor::to_vector<double>() const;

std::vector<std::string> Tensor::to_strings() const {
  check_readable(DType::String, false);
  const auto* strings = static_cast<const std::string*>(raw());
  return {strings, strings + num_elements()};
}

Tensor Tensor::to(Device& target) const {
  if (!is_plain(dtype()) || &target == &device()) return *this;
  Tensor result;
  result.renew_from(*this, target);
  return result;
}

Tensor Tensor::clone() const {
  check_readable(dtype(), false);
  if (dtype() == DType::Resource) return *this;
  if (dtype() == DType::String) return of_strings(to_strings(), shape());
  Tensor result = empty(dtype(), shape(), device());
  device().copy(result.raw(), raw(), bytes());
  return result;
}

Tensor Resource::shared_value() {
  throw invalid_argument(titled("Resource", name()), "only a variable holds a value", {{"kind", kind()}});
}

const Tensors& Resource::next_element() {
  throw invalid_argument(titled("Resource", name()), "only an iterator has elements", {{"kind", kind()}});
}

TensorSpec Resource::value_spec() const {
  throw invalid_argument(titled("Resource", name()), "only a variable holds a value", {{"kind", kind()}});
}

Tensor Tensor::view(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    throw invalid_argument("Tensor::view", "a view has as many elements as its tensor",
                           {{"shape", shape}, {"tensor.shape", this->shape()}});
  }
  return over(dtype(), shape, body().buffer, body().offset);
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  if (rank() == 0 || first < 0 || count < 0 || first + count > shape()[0]) {
    throw Error(ErrorCode::OutOfRange, "Tensor::rows", "rows of the tensor's first axis are expected",
                {{"first", first}, {"count", count}, {"shape", shape()}});
  }
  Shape result = shape();
  const std::int64_t row = shape()[0] == 0 ? 0 : num_elements() / shape()[0];
  result[0] = count;
  // Strings are objects of their own size.
  const std::size_t element = dtype() == DType::String ? sizeof(std::string) : size_of(dtype());
  return over(dtype(), result, body().buffer, body().offset + static_cast<std::size_t>(first * row) * element);
}

}  // namespace cohort
