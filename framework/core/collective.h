#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cohort/core/dtype.h"
#include "cohort/core/error.h"
#include "cohort/core/resource.h"
#include "cohort/core/thread_pool.h"

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
  // Rows of a table, in memory of the host.
  struct Rows {
    DType dtype, index_dtype;
    std::int64_t count, elements;  // so many elements each
    const void* values;
    const void* indices;
  };
  using UseRows = FunctionRef<void(std::span<const Rows> all)>;

  explicit Collective(std::string name) : Resource(std::move(name)) {}
  const char* kind() const final { return "Collective"; }
  void* kernel_pointer() final { return this; }

  // Gives every replica the sum of all replicas' inputs, added in the order of the replicas, or the first one's. Every
  // replica must call it, for the same parts; it waits for all of them, and throws what ended one of them meanwhile.
  //   inputs, outputs: memory of the parts on the host; an output may be its own input.
  virtual void all_reduce(std::span<const Part> parts, const void* const* inputs, void* const* outputs,
                          Reduction reduction) = 0;

  // Gives every replica of this process the values of the first so many of them: of part i and replica r as output
  // i * replicas + r. Every replica must call it, for the same parts; it waits for all of them, and throws what ended
  // one of them meanwhile.
  //   inputs, outputs: memory of the parts on the host, each its own.
  virtual void gather(std::span<const Part> parts, int replicas, const void* const* inputs, void* const* outputs);

  // Whether rows of tables cross by gather_rows().
  virtual bool gathers_rows() const { return false; }
  // Hands the rows of all replicas over to `use`, in the order of the replicas and to each of them in the same groups;
  // they are there until it returns. Every replica must call it, for rows of the same types; it waits for all of them.
  // False, on all replicas, where that does not pay: there may be more than `most`, or rows do not cross.
  virtual bool gather_rows(const Rows& /*rows*/, std::int64_t /*most*/, UseRows /*use*/) { return false; }

  // Begins to add all replicas' values up in place, and returns while that goes on. Every replica must begin the same
  // reductions in the same order, calls of all_reduce among them.
  //   values: memory of the parts, which nobody else may use before wait() returns. The list is copied.
  //   stream: the device's own handle of the queue that makes the values; null: they lie on the host and are there.
  virtual void start(std::span<const Part> parts, void* const* values, void* stream) {
    check_host(stream);
    all_reduce(parts, values, values, Reduction::Sum);
  }
  // Returns when the values of the oldest reduction that was not waited for are there, or has the stream wait for them;
  // throws what ended one of the replicas meanwhile.
  //   values: those that it was begun with.
  virtual void wait(void* const* values, void* stream) {
    (void)values;
    check_host(stream);
  }
  // After a run that failed, while its exception is handled: ends what was begun and not waited for. The memory is free
  // when it returns.
  virtual void abandon() noexcept {}

  // Whether it reduces memory of the replicas' devices where it lies, in their streams; else that goes through the
  // host.
  virtual bool enqueues() const { return false; }
  // all_reduce for memory of the replica's device, put into one of its streams: waits for nobody.
  virtual void enqueue(std::span<const Part> /*parts*/, const void* const* /*inputs*/, void* const* /*outputs*/,
                       Reduction /*reduction*/, void* /*stream*/) {
    throw internal_error("Replicas in step", "values are reduced on the host", {{"replica", name()}});
  }

 protected:
  // Throws where values lie on a device.
  static void check_host(const void* stream);
};

}  // namespace cohort
