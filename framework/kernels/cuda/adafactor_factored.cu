#include <algorithm>
#include <memory>
#include <vector>

#include "cohort/kernels/cuda/adafactor_step.h"
#include "cohort/kernels/cuda/update_sums.h"

// Adafactor for matrices keeps means of squares along rows and columns in place of one for each element. So there are
// passes over all variables with sums between them: rows, bands of columns, whole columns, velocities, the step.

namespace cohort::kernels::cuda {
namespace {

constexpr int kWarps = kBlock / 32;
constexpr std::int64_t kTileColumns = 32, kBandRows = 256;

enum Array { kValue, kVelocity, kRowMeans, kColumnMeans, kGradient, kSquares, kArrays };

// A variable as a stack of matrices.
struct Matrices {
  std::int64_t rows, cols;     // of one matrix
  std::int64_t all_rows;       // of all matrices together
  std::int64_t first_matrix;   // number of its first one among those of the launch
  std::int64_t first_partial;  // where its sums of columns begin
  int rows_per_block;

  __host__ __device__ std::int64_t count() const { return all_rows / rows; }
  __host__ __device__ std::int64_t tiles() const { return (cols + kTileColumns - 1) / kTileColumns; }
  __host__ __device__ std::int64_t bands() const { return (rows + kBandRows - 1) / kBandRows; }
};

// What the blocks of one pass over many variables work on.
struct FactoredTable {
  static constexpr int kMost = 32;
  int count;
  int first_row_block[kMost + 1], first_band_block[kMost + 1], first_mean_block[kMost + 1];
  Matrices matrices[kMost];
  void* memory[kArrays][kMost];
};

// The working memory of a launch.
struct FactoredSums {
  double* blocks;    // two for each block of rows: squares of values and of the step
  double* partials;  // of columns, band by band
  double* means;     // of the row means of each matrix
  double* sizes;     // of each variable's step
};

template <class T>
struct FactoredVariable {
  using Real = Compute<T>;
  Matrices shape;
  T *value, *velocity, *row_means, *column_means;
  const T *gradient, *squares;

  __device__ FactoredVariable(const FactoredTable& table, int v)
      : shape(table.matrices[v]),
        value(static_cast<T*>(table.memory[kValue][v])),
        velocity(static_cast<T*>(table.memory[kVelocity][v])),
        row_means(static_cast<T*>(table.memory[kRowMeans][v])),
        column_means(static_cast<T*>(table.memory[kColumnMeans][v])),
        gradient(static_cast<const T*>(table.memory[kGradient][v])),
        squares(static_cast<const T*>(table.memory[kSquares][v])) {}

  __device__ Real square(std::int64_t i) const {
    if (squares) return widened(squares[i]);
    const Real g = widened(gradient[i]);
    return g * g;
  }
  // The share a row has in the velocities of its matrix: velocity = share * column.
  __device__ Real share_of(std::int64_t row, const double* means) const {
    return widened(row_means[row]) / static_cast<Real>(means[shape.first_matrix + row / shape.rows]);
  }
  __device__ const T* columns_of(std::int64_t row) const { return column_means + row / shape.rows * shape.cols; }
};

// Calls visit(row, where it begins) for the rows that a warp has in a block of a pass over rows.
template <class Visit>
__device__ void each_row(const Matrices& shape, int block_of_variable, const Visit& visit) {
  const std::int64_t begin = static_cast<std::int64_t>(block_of_variable) * shape.rows_per_block;
  const std::int64_t end =
      begin + shape.rows_per_block < shape.all_rows ? begin + shape.rows_per_block : shape.all_rows;
  for (std::int64_t row = begin + threadIdx.x / 32; row < end; row += kWarps) visit(row, row * shape.cols);
}

template <class Real>
__device__ AdafactorScalars<Real> block_scalars(const AdafactorOptions& options, const UpdateScalarInputs& scalars) {
  __shared__ AdafactorScalars<Real> shared;
  if (threadIdx.x == 0) shared = AdafactorScalars<Real>::make(options, UpdateScalars<Real>(scalars));
  __syncthreads();
  return shared;
}

// Decays whole rows and moves their means of squares; adds up the squares of the values.
template <class T>
__global__ void __launch_bounds__(kBlock)
    average_rows(const __grid_constant__ FactoredTable table, const UpdateScalarInputs scalars,
                 const AdafactorOptions options, const FactoredSums to) {
  using Real = Compute<T>;
  const auto with = block_scalars<Real>(options, scalars);
  const int block = static_cast<int>(blockIdx.x), v = find_variable(table.first_row_block, table.count, block);
  const FactoredVariable<T> x(table, v);
  double values[1] = {};
  each_row(x.shape, block - table.first_row_block[v], [&](std::int64_t row, std::int64_t at) {
    double sum = 0;
    for (std::int64_t i = threadIdx.x % 32; i < x.shape.cols; i += 32) {
      Real w = widened(x.value[at + i]);
      if (with.decay.decay != Real{0}) {
        with.decay(w);
        w = rounded<T>(w);
        x.value[at + i] = narrowed<T>(w);
      }
      values[0] += static_cast<double>(w * w);
      sum += static_cast<double>(x.square(at + i) + with.epsilon_1);
    }
    sum = add_up_warp(sum);
    if (threadIdx.x % 32 == 0) {
      const Real mean = static_cast<Real>(sum / static_cast<double>(x.shape.cols));
      x.row_means[row] = narrowed<T>(with.keep * widened(x.row_means[row]) + with.take * mean);
    }
  });
  add_up_block(values);
  if (threadIdx.x == 0) to.blocks[2 * static_cast<std::int64_t>(block)] = values[0];
}

// Adds up a band of a few columns of one matrix.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_up_columns(const __grid_constant__ FactoredTable table, const AdafactorOptions options, const FactoredSums to) {
  __shared__ double of_warps[kWarps][kTileColumns];
  const auto epsilon_1 = static_cast<Compute<T>>(options.epsilon_1);
  const int block = static_cast<int>(blockIdx.x), v = find_variable(table.first_band_block, table.count, block);
  const FactoredVariable<T> x(table, v);
  const std::int64_t part = block - table.first_band_block[v], tiles = x.shape.tiles(), bands = x.shape.bands();
  const std::int64_t matrix = part / (tiles * bands), band = part / tiles % bands;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t column = part % tiles * kTileColumns + lane;
  const std::int64_t first = band * kBandRows;
  const std::int64_t end = first + kBandRows < x.shape.rows ? first + kBandRows : x.shape.rows;
  double sum = 0;
  if (column < x.shape.cols) {
    for (std::int64_t row = first + warp; row < end; row += kWarps) {
      sum += static_cast<double>(x.square((matrix * x.shape.rows + row) * x.shape.cols + column) + epsilon_1);
    }
  }
  of_warps[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= x.shape.cols) return;
  for (int other = 1; other < kWarps; ++other) sum += of_warps[other][lane];
  to.partials[x.shape.first_partial + (matrix * bands + band) * x.shape.cols + column] = sum;
}

// Of a variable's blocks the first ones take the mean of a matrix's row means each, the others move means of columns.
template <class T>
__global__ void __launch_bounds__(kBlock)
    average_columns(const __grid_constant__ FactoredTable table, const UpdateScalarInputs scalars,
                    const AdafactorOptions options, const FactoredSums to) {
  using Real = Compute<T>;
  const int block = static_cast<int>(blockIdx.x), v = find_variable(table.first_mean_block, table.count, block);
  const FactoredVariable<T> x(table, v);
  const std::int64_t part = block - table.first_mean_block[v], matrices = x.shape.count();
  if (part < matrices) {
    double sums[1] = {};
    for (std::int64_t row = threadIdx.x; row < x.shape.rows; row += kBlock) {
      sums[0] += static_cast<double>(widened(x.row_means[part * x.shape.rows + row]));
    }
    add_up_block(sums);
    if (threadIdx.x == 0) to.means[x.shape.first_matrix + part] = sums[0] / static_cast<double>(x.shape.rows);
    return;
  }
  const auto with = block_scalars<Real>(options, scalars);
  const std::int64_t column = (part - matrices) * kBlock + threadIdx.x;
  if (column >= matrices * x.shape.cols) return;
  const std::int64_t bands = x.shape.bands(), matrix = column / x.shape.cols;
  const double* partials = to.partials + x.shape.first_partial + matrix * bands * x.shape.cols + column % x.shape.cols;
  double sum = 0;
  for (std::int64_t band = 0; band < bands; ++band) sum += partials[band * x.shape.cols];
  const Real mean = static_cast<Real>(sum / static_cast<double>(x.shape.rows));
  x.column_means[column] = narrowed<T>(with.keep * widened(x.column_means[column]) + with.take * mean);
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    make_velocities(const __grid_constant__ FactoredTable table, const FactoredSums to) {
  using Real = Compute<T>;
  const int block = static_cast<int>(blockIdx.x), v = find_variable(table.first_row_block, table.count, block);
  const FactoredVariable<T> x(table, v);
  double steps[1] = {};
  each_row(x.shape, block - table.first_row_block[v], [&](std::int64_t row, std::int64_t at) {
    const Real share = x.share_of(row, to.means);
    const T* columns = x.columns_of(row);
    double sum = 0;
    for (std::int64_t i = threadIdx.x % 32; i < x.shape.cols; i += 32) {
      const Real column = widened(columns[i]);
      x.velocity[at + i] = narrowed<T>(share * column);
      sum += static_cast<double>(x.square(at + i) * (Real{1} / column));
    }
    steps[0] += sum / static_cast<double>(share);
  });
  add_up_block(steps);
  if (threadIdx.x == 0) to.blocks[2 * static_cast<std::int64_t>(block) + 1] = steps[0];
}

// One block a variable.
template <class Real>
__global__ void __launch_bounds__(kBlock)
    measure_steps(const __grid_constant__ FactoredTable table, const UpdateScalarInputs scalars,
                  const AdafactorOptions options, const FactoredSums to) {
  const int v = static_cast<int>(blockIdx.x);
  double sums[2] = {};
  for (std::int64_t block = table.first_row_block[v] + static_cast<int>(threadIdx.x);
       block < table.first_row_block[v + 1]; block += kBlock) {
    sums[0] += to.blocks[2 * block];
    sums[1] += to.blocks[2 * block + 1];
  }
  add_up_block(sums);
  if (threadIdx.x != 0) return;
  const auto with = AdafactorScalars<Real>::make(options, UpdateScalars<Real>(scalars));
  to.sizes[v] = static_cast<double>(with.size(sums[0], sums[1], table.matrices[v].all_rows * table.matrices[v].cols));
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    move_rows(const __grid_constant__ FactoredTable table, const FactoredSums from) {
  using Real = Compute<T>;
  const int block = static_cast<int>(blockIdx.x), v = find_variable(table.first_row_block, table.count, block);
  const FactoredVariable<T> x(table, v);
  const Real size = static_cast<Real>(from.sizes[v]);
  each_row(x.shape, block - table.first_row_block[v], [&](std::int64_t row, std::int64_t at) {
    const Real factor = size / fn::sqrt(x.share_of(row, from.means));
    const T* columns = x.columns_of(row);
    for (std::int64_t i = threadIdx.x % 32; i < x.shape.cols; i += 32) {
      const Real step = widened(x.gradient[at + i]) * (Real{1} / fn::sqrt(widened(columns[i])));
      x.value[at + i] = narrowed<T>(widened(x.value[at + i]) - factor * step);
    }
  });
}

// The launches of an update and the working memory they need.
class FactoredPlan {
 public:
  FactoredPlan(const KernelSpec& spec, const UpdateLayout& at) {
    for (int v = 0; v < at.count(); ++v) {
      const Shape& shape = spec.input(at.gradient(v)).shape;
      if (shape.num_elements() == 0) continue;
      if (launches_.empty() || launches_.back().table.count == FactoredTable::kMost) launches_.emplace_back();
      add(launches_.back(), shape);
      launches_.back().variables.push_back(v);
    }
  }

  std::size_t bytes() const {
    return static_cast<std::size_t>(2 * most_blocks_ + most_partials_ + most_matrices_ + FactoredTable::kMost) *
           sizeof(double);
  }
  FactoredSums sums(void* workspace) const {
    auto* blocks = static_cast<double*>(workspace);
    double *partials = blocks + 2 * most_blocks_, *means = partials + most_partials_;
    return {blocks, partials, means, means + most_matrices_};
  }
  template <class Body>
  void each(const KernelIO& io, const UpdateLayout& at, const Body& body) const {
    for (const Launch& launch : launches_) {
      FactoredTable table = launch.table;
      for (int i = 0; i < table.count; ++i) {
        const int v = launch.variables[static_cast<std::size_t>(i)];
        table.memory[kValue][i] = io.inputs[at.variable(v)];
        for (int s = 0; s < 3; ++s) table.memory[kVelocity + s][i] = io.inputs[at.slot(v, s)];
        table.memory[kGradient][i] = io.inputs[at.gradient(v)];
        table.memory[kSquares][i] = at.has_squares() ? io.inputs[at.squares(v)] : nullptr;
      }
      body(table);
    }
  }

 private:
  struct Launch {
    FactoredTable table = {};
    std::vector<int> variables;
    std::int64_t matrices = 0, partials = 0;
  };

  void add(Launch& launch, const Shape& shape) {
    constexpr std::int64_t kElementsOfABlock = 8192;
    FactoredTable& table = launch.table;
    const int i = table.count++;
    Matrices& own = table.matrices[i];
    own.rows = shape[shape.rank() - 2];
    own.cols = shape.back();
    own.all_rows = shape.num_elements() / own.cols;
    own.first_matrix = launch.matrices;
    own.first_partial = launch.partials;
    own.rows_per_block = static_cast<int>(std::clamp<std::int64_t>(kElementsOfABlock / own.cols, kWarps, 64 * kWarps));
    launch.matrices += own.count();
    launch.partials += own.count() * own.bands() * own.cols;
    const auto after = [i](int(&first)[FactoredTable::kMost + 1], std::int64_t blocks) {
      first[i + 1] = first[i] + static_cast<int>(blocks);
    };
    after(table.first_row_block, (own.all_rows + own.rows_per_block - 1) / own.rows_per_block);
    after(table.first_band_block, own.count() * own.tiles() * own.bands());
    after(table.first_mean_block, own.count() + (own.count() * own.cols + kBlock - 1) / kBlock);
    most_blocks_ = std::max<std::int64_t>(most_blocks_, table.first_row_block[i + 1]);
    most_partials_ = std::max(most_partials_, launch.partials);
    most_matrices_ = std::max(most_matrices_, launch.matrices);
  }

  std::vector<Launch> launches_;
  std::int64_t most_blocks_ = 0, most_partials_ = 0, most_matrices_ = 0;
};

}  // namespace

KernelFn make_factored_adafactor(const KernelSpec& spec) {
  const UpdateLayout at(spec.call());
  auto plan = std::make_shared<const FactoredPlan>(spec, at);
  auto* device = &cohort::cuda::device_of(spec);
  device->reserve_workspace(plan->bytes());
  return visit_floating(spec.input(at.gradient(0)).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    return [plan, at, device, options = AdafactorOptions(spec)](const KernelIO& io) {
      const FactoredSums sums = plan->sums(device->workspace());
      const UpdateScalarInputs scalars(io, at);
      const cudaStream_t stream = stream_of(io);
      plan->each(io, at, [&](const FactoredTable& table) {
        const int n = table.count, row_blocks = table.first_row_block[n];
        average_rows<T><<<row_blocks, kBlock, 0, stream>>>(table, scalars, options, sums);
        cohort::cuda::check(cudaGetLastError());
        add_up_columns<T><<<table.first_band_block[n], kBlock, 0, stream>>>(table, options, sums);
        cohort::cuda::check(cudaGetLastError());
        average_columns<T><<<table.first_mean_block[n], kBlock, 0, stream>>>(table, scalars, options, sums);
        cohort::cuda::check(cudaGetLastError());
        make_velocities<T><<<row_blocks, kBlock, 0, stream>>>(table, sums);
        cohort::cuda::check(cudaGetLastError());
        measure_steps<Compute<T>><<<n, kBlock, 0, stream>>>(table, scalars, options, sums);
        cohort::cuda::check(cudaGetLastError());
        move_rows<T><<<row_blocks, kBlock, 0, stream>>>(table, sums);
        cohort::cuda::check(cudaGetLastError());
      });
    };
  });
}

}  // namespace cohort::kernels::cuda
