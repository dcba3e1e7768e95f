#include "cohort/kernels/cuda/index_math.h"
#include "cohort/kernels/cuda/places.h"
#include "cohort/kernels/cuda/row_sums.h"
#include "cohort/kernels/cuda/row_words.h"

namespace cohort::kernels::cuda {
namespace {

// The row of an entry, for EntrySort.
struct RowOfPlace {
  Places places;
  const void* indices;

  __device__ std::int64_t operator()(std::int64_t entry) const { return places.find(indices, entry); }
};

// The inputs of an op that are the indices and what is scattered.
struct ScatterInputs {
  int indices, values;
};

KernelFn scatter_sums(const KernelSpec& spec, const Places& places, std::int64_t width, std::int64_t outer,
                      ScatterInputs inputs) {
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  Pieces memory;
  const RowSums sums(spec.name(), device, spec.output(0).dtype, {places.count, places.rows, width, outer}, memory);
  device.reserve_workspace(memory.bytes());
  return [=, device = &device](const KernelIO& io) {
    void* workspace = device->workspace();
    sums.entries().enqueue(workspace, stream_of(io), RowOfPlace{places, io.inputs[inputs.indices]});
    sums.enqueue(workspace, io.inputs[inputs.values], io.outputs[0], stream_of(io));
  };
}

KernelFn make_scatter_add_like(const KernelSpec& spec) {
  const Shape& like = spec.input(0).shape;
  const int axis = normalize_axis(spec.attr<int>("axis"), like.rank(), spec.name());
  return scatter_sums(spec, Places(spec, like[axis], spec.input(1)), like.slice(axis + 1).num_elements(),
                      like.slice(0, axis).num_elements(), {1, 2});
}

KernelFn scatter_nd(const KernelSpec& spec, ScatterInputs inputs) {
  const Shape& target = spec.output(0).shape;
  const Places places(spec, target, spec.input(inputs.indices));
  return scatter_sums(spec, places, target.slice(places.depth).num_elements(), 1, inputs);
}
KernelFn make_scatter_nd(const KernelSpec& spec) { return scatter_nd(spec, {0, 1}); }
KernelFn make_scatter_nd_like(const KernelSpec& spec) { return scatter_nd(spec, {1, 2}); }

// (variable, indices, values)
KernelFn make_scatter_add_variable(const KernelSpec& spec) {
  const Shape shape = spec.attr<Shape>("shape");
  const std::int64_t rows = shape[0], width = rows == 0 ? 0 : shape.num_elements() / rows;
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  Places places(spec, rows, spec.input(1));
  places.check.site = cohort::cuda::add_check(
      spec, [rows](std::int64_t position, std::int64_t row) { throw_bad_row(position, row, rows); });
  Pieces memory;
  const RowSums sums(spec.name(), device, spec.input(2).dtype, {places.count, rows, width}, memory);
  device.reserve_workspace(memory.bytes());
  return [=, device = &device](const KernelIO& io) {
    void* workspace = device->workspace();
    sums.entries().enqueue(workspace, stream_of(io), RowOfPlace{places, io.inputs[1]});
    sums.enqueue_added(workspace, io.inputs[2], io.inputs[0], stream_of(io));
  };
}

// Of several updates of a row the last one stays.
template <class Word>
void launch_update(const EntrySort& entries, const cohort::cuda::CudaDevice& device, std::int64_t words,
                   const void* updates, void* result, void* memory, cudaStream_t stream) {
  const auto* from = static_cast<const Word*>(updates);
  auto* to = static_cast<Word*>(result);
  const std::int64_t count = entries.count(), rows = entries.rows(), n = count * words;
  const std::uint64_t* sorted = entries.sorted(memory);
  const BoundedDivider by_words(words, n);
  launch_each(n, device, stream, [=] __device__(std::int64_t i) {
    const std::int64_t place = by_words.split(i), row = row_in(sorted[place]);
    if (row == rows || (place + 1 < count && row_in(sorted[place + 1]) == row)) return;
    to[row * words + i] = from[entry_in(sorted[place]) * words + i];
  });
}

// (x, indices, updates)
KernelFn make_scatter_update(const KernelSpec& spec) {
  const Shape& target = spec.output(0).shape;
  const Places places(spec, target, spec.input(1));
  cohort::cuda::CudaDevice& device = cohort::cuda::device_of(spec);
  Pieces memory;
  const EntrySort entries(spec.name(), device, places.count, places.rows, memory);
  device.reserve_workspace(memory.bytes());
  const std::size_t element = size_of(spec.output(0).dtype);
  const std::size_t bytes = static_cast<std::size_t>(spec.output_size(0)) * element;
  const RowWords rows(target.slice(places.depth).num_elements() * static_cast<std::int64_t>(element), element);
  return [=, device = &device](const KernelIO& io) {
    void* workspace = device->workspace();
    if (bytes > 0 && io.inputs[0] != io.outputs[0]) {
      cohort::cuda::check(cudaMemcpyAsync(io.outputs[0], io.inputs[0], bytes, cudaMemcpyDeviceToDevice, stream_of(io)));
    }
    entries.enqueue(workspace, stream_of(io), RowOfPlace{places, io.inputs[1]});
    rows.visit(io.inputs[2], io.outputs[0], [&](auto type, std::int64_t words) {
      using Word = typename decltype(type)::type;
      launch_update<Word>(entries, *device, words, io.inputs[2], io.outputs[0], workspace, stream_of(io));
    });
  };
}

// dy [outer, count, inner] goes back to where it was taken from in [outer, size, inner].
struct PutPlan {
  PutPlan(const KernelSpec& spec, int axis)
      : device(&cohort::cuda::device_of(spec)),
        count(spec.input(1).shape[axis]),
        inner(spec.output(0).shape.slice(axis + 1).num_elements()),
        outer(spec.output(0).shape.slice(0, axis).num_elements()),
        places(spec, spec.output(0).shape[axis], spec.input(1)) {}

  cohort::cuda::CudaDevice* device;
  std::int64_t count, inner, outer;
  Places places;
};

// Every element looks at all indices of its row: for few of them.
template <class T>
void launch_put(const PutPlan& plan, const T* dy, const void* memory, T* dx, cudaStream_t stream) {
  // One element of an empty row is there, too, in order to refuse the indices.
  const std::int64_t size = std::max<std::int64_t>(plan.places.rows, 1), n = plan.outer * size * plan.inner;
  const BoundedDivider by_inner(plan.inner, n), by_size(size, n);
  launch_each(n, *plan.device, stream, [=] __device__(std::int64_t i) {
    std::int64_t column = i;
    std::int64_t own = by_inner.split(column);
    const std::int64_t outer = by_size.split(own);
    const Indices indices{memory, plan.places.dtype};
    Compute<T> sum = Compute<T>(0);
    for (std::int64_t j = 0; j < plan.count; ++j) {
      const std::int64_t at = (outer * plan.count + j) * plan.inner + column, index = indices[at];
      if (index == own && index < plan.places.rows) {
        sum = static_cast<Compute<T>>(sum + widened(dy[at]));
      } else if (own == 0 && (index < 0 || index >= plan.places.rows)) {
        plan.places.check.refuse(at, index);
      }
    }
    if (own < plan.places.rows) dx[i] = narrowed<T>(sum);
  });
}

struct RowOfTaken {
  PutPlan plan;
  BoundedDivider by_inner, by_block;
  const void* indices;

  __device__ std::int64_t operator()(std::int64_t entry) const {
    const std::int64_t index = plan.places.find(indices, entry);
    if (index < 0) return -1;
    return (by_block.divide(entry) * plan.places.rows + index) * plan.inner + by_inner.remainder(entry);
  }
};

// (dy, indices, like)
KernelFn make_take_along_axis_grad(const KernelSpec& spec) {
  constexpr std::int64_t kFew = 32;
  const PutPlan plan(spec, normalize_axis(spec.attr<int>("axis"), spec.output(0).shape.rank(), spec.name()));
  const std::int64_t entries = spec.input_size(1);
  if (plan.count <= kFew) {
    return visit_summed(spec.output(0).dtype, [&](auto type) -> KernelFn {
      using T = typename decltype(type)::type;
      return
          [plan](const KernelIO& io) { launch_put<T>(plan, io.in<T>(0), io.inputs[1], io.out<T>(0), stream_of(io)); };
    });
  }
  Pieces memory;
  const RowSums sums(spec.name(), *plan.device, spec.output(0).dtype, {entries, spec.output_size(0)}, memory);
  plan.device->reserve_workspace(memory.bytes());
  const BoundedDivider by_inner(plan.inner, entries), by_block(plan.count * plan.inner, entries);
  return [=](const KernelIO& io) {
    void* workspace = plan.device->workspace();
    sums.entries().enqueue(workspace, stream_of(io), RowOfTaken{plan, by_inner, by_block, io.inputs[1]});
    sums.enqueue(workspace, io.inputs[0], io.outputs[0], stream_of(io));
  };
}

COHORT_KERNEL("ScatterAddLike", kGPU, make_scatter_add_like);
COHORT_KERNEL("ScatterNd", kGPU, make_scatter_nd);
COHORT_KERNEL("ScatterNdLike", kGPU, make_scatter_nd_like);
COHORT_KERNEL("TensorScatterUpdate", kGPU, make_scatter_update);
COHORT_KERNEL("ScatterAddVariable", kGPU, make_scatter_add_variable);
COHORT_KERNEL("TakeAlongAxisGrad", kGPU, make_take_along_axis_grad);

}  // namespace
}  // namespace cohort::kernels::cuda
