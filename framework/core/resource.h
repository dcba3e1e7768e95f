#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cohort {

class ResourceOwner;
class Tensor;
struct TensorSpec;

// Something a graph refers to but does not contain: a variable, an iterator, a table. Travels as a tensor of dtype
// Resource.
class Resource {
 public:
  explicit Resource(std::string name) : name_(std::move(name)) {}
  virtual ~Resource() = default;
  Resource(const Resource&) = delete;

  // Its name, for errors.
  const std::string& name() const { return name_; }
  // "Variable", "Iterator", ...
  virtual const char* kind() const = 0;
  // What a kernel receives for this resource: a variable's memory, else the object itself.
  virtual void* kernel_pointer() { return this; }
  // Called before a kernel writes: a variable whose memory is also held by a tensor moves to memory of its own.
  virtual void prepare_write() {}
  // The value it holds, sharing its memory, and that value's spec; only variables hold one.
  virtual Tensor shared_value();
  virtual TensorSpec value_spec() const;
  // The next element's tensors; only iterators have elements. OutOfRange at the end.
  virtual const std::vector<Tensor>& next_element();
  // Who runs ops on it when it lives in another place; nullptr when it lives here.
  virtual ResourceOwner* owner() { return nullptr; }
  // What a trace made for this resource relies on: two resources of one signature can use the same trace.
  virtual std::string signature() const { return kind(); }

 private:
  std::string name_;
};

}  // namespace cohort
