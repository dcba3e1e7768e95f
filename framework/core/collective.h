#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cohort/core/dtype.h"
#include "cohort/core/resource.h"

namespace cohort {

// What replicas that train in step meet by, as one of them sees it. Graphs refer to it as a resource, so that every
// replica runs the same graph with its own in the place of the one it was traced with.
class Collective : public Resource {
 public:
  // What becomes of the replicas' values.
  enum class Reduction { Sum, First };
  // One of the tensors that are reduced together.
  struct Part {
    DType dtype;
    std::int64_t elements;
  };

  explicit Collective(std::string name) : Resource(std::move(name)) {}
  const char* kind() const final { return "Collective"; }
  void* kernel_pointer() final { return this; }

  // Gives every replica the sum of all replicas' inputs, added in the order of the replicas, or the first one's. Every
  // replica must call it, for the same parts; it waits for all of them, and throws what ended one of them meanwhile.
  //   inputs, outputs: memory of the parts on the host; an output may be its own input.
  virtual void all_reduce(std::span<const Part> parts, const void* const* inputs, void* const* outputs,
                          Reduction reduction) = 0;
};

}  // namespace cohort
