#include <cstring>

#include "cohort/core/kernel.h"
#include "cohort/data/iterator.h"

namespace cohort {
namespace {

COHORT_OP("IteratorNext")
    .inputs(1)
    .infer([](const OpCall& call) {
      call.check(call.dtype(0) == DType::Resource, "an iterator is expected", {{"input", call.spec(0)}});
      const auto dtypes = call.attr<std::vector<std::int64_t>>("dtypes");
      const auto shapes = call.attr<std::vector<std::int64_t>>("shapes");
      Specs specs;
      std::size_t next = 0;
      for (std::int64_t dtype : dtypes) {
        call.check(dtype >= 0 && dtype < kDTypeCount, "known element types are expected", {{"dtype", dtype}});
        call.check(next < shapes.size(), "one shape for each element type is expected", {{"dtypes", dtypes.size()}});
        const std::int64_t rank = shapes[next++];
        call.check(rank >= 0 && rank <= Shape::kMaxRank && static_cast<std::size_t>(rank) <= shapes.size() - next,
                   "shapes as ranks, each followed by its sizes, are expected", {{"rank", rank}});
        specs.push_back({static_cast<DType>(dtype),
                         Shape(std::span<const std::int64_t>(shapes).subspan(next, static_cast<std::size_t>(rank)))});
        next += static_cast<std::size_t>(rank);
      }
      call.check(next == shapes.size(), "one shape for each element type is expected", {{"dtypes", dtypes.size()}});
      return specs;
    })
    .not_differentiable()
    .stateful()
    .dynamic_outputs()
    .host_only();

void copy_out(const Tensor& from, int output, const KernelIO& io) {
  void* target = io.allocator->allocate(output, from.shape());
  if (from.dtype() == DType::String) {
    const auto* strings = static_cast<const std::string*>(from.raw());
    std::copy(strings, strings + from.num_elements(), static_cast<std::string*>(target));
  } else if (from.bytes() > 0) {
    std::memcpy(target, from.raw(), from.bytes());
  }
}

KernelFn iterator_next(const KernelSpec& spec) {
  Specs expected;
  for (int i = 0; i < spec.num_outputs(); ++i) expected.push_back(spec.output(i));
  return [expected](const KernelIO& io) {
    auto* base = static_cast<Resource*>(io.inputs[0]);
    auto* iterator = dynamic_cast<IteratorResource*>(base);
    if (!iterator) throw invalid_argument("IteratorNext", "an iterator is expected", {{"resource", base->kind()}});
    const Tensors& element = iterator->next_element();
    // The graph was made for one dataset and may be handed another one's iterator.
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (element.size() != expected.size() || element[i].dtype() != expected[i].dtype ||
          !element[i].shape().compatible(expected[i].shape)) {
        throw invalid_argument("IteratorNext", "an iterator of the dataset the function was traced with is expected",
                               {{"expected", expected[i]}, {"tensors", element.size()}});
      }
    }
    for (std::size_t i = 0; i < element.size(); ++i) copy_out(element[i], static_cast<int>(i), io);
  };
}

COHORT_KERNEL("IteratorNext", kCPU, iterator_next);

}  // namespace
}  // namespace cohort
