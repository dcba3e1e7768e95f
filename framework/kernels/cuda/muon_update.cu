#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "cohort/kernels/cuda/grouped_product.h"
#include "cohort/kernels/cuda/update_sums.h"
#include "cohort/kernels/cuda/update_table.h"

// Muon makes the momentum of a matrix orthogonal by Newton-Schulz steps: an odd polynomial brings its singular values
// near 1. The matrices of a group go through each step together.

namespace cohort::kernels::cuda {
namespace {

enum MuonArray { kMuonValue, kMuonMomentum, kMuonGradient, kMuonWork, kMuonArrays };
using MuonTable = UpdateTable<kMuonArrays>;
constexpr int kMostMatrices = ProductTable<double>::kMost;
static_assert(kMostMatrices <= MuonTable::kMost);

template <class Real>
struct MuonOptions {
  Real decay, momentum;
  bool nesterov;
};
// Of the rate, for each matrix.
template <class Real>
struct MuonScales {
  Real values[kMostMatrices];
};

// Moves the momentum and leaves what is to be made orthogonal in the working memory; adds up its squares.
template <class T>
__global__ void __launch_bounds__(kBlock) gather_momentum(const __grid_constant__ MuonTable table,
                                                          const MuonOptions<Compute<T>> options, double* block_sums) {
  using Real = Compute<T>;
  const auto place = table.find(static_cast<int>(blockIdx.x));
  const T* gradient = table.at<T>(kMuonGradient, place.variable);
  T* momentum = table.at<T>(kMuonMomentum, place.variable);
  Real* work = table.at<Real>(kMuonWork, place.variable);
  double sums[1] = {};
  for (std::int64_t i = place.begin + threadIdx.x; i < place.end; i += kBlock) {
    const Real g = widened(gradient[i]);
    Real m = widened(momentum[i]);
    m += g + m * (options.momentum - Real{1});
    momentum[i] = narrowed<T>(m);
    const Real x = options.nesterov ? g + options.momentum * m : m;
    work[i] = x;
    sums[0] += static_cast<double>(x) * static_cast<double>(x);
  }
  add_up_block(sums);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sums[0];
}

// One block a matrix.
__global__ void __launch_bounds__(kBlock)
    measure_matrices(const __grid_constant__ MuonTable table, const double* block_sums, double* norms) {
  const int variable = static_cast<int>(blockIdx.x);
  double sums[1] = {};
  for (int block = table.first_block[variable] + static_cast<int>(threadIdx.x); block < table.first_block[variable + 1];
       block += kBlock) {
    sums[0] += block_sums[block];
  }
  add_up_block(sums);
  if (threadIdx.x == 0) norms[variable] = ::sqrt(sums[0]);
}

template <class Real>
__global__ void __launch_bounds__(kBlock)
    normalize_matrices(const __grid_constant__ MuonTable table, const double* norms) {
  const auto place = table.find(static_cast<int>(blockIdx.x));
  const Real norm = static_cast<Real>(norms[place.variable]) + static_cast<Real>(1e-7);
  Real* work = table.at<Real>(kMuonWork, place.variable);
  for (std::int64_t i = place.begin + threadIdx.x; i < place.end; i += kBlock) work[i] /= norm;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    move_matrices(const __grid_constant__ MuonTable table, const UpdateScalarInputs scalars,
                  const MuonOptions<Compute<T>> options, const MuonScales<Compute<T>> scales) {
  using Real = Compute<T>;
  const auto place = table.find(static_cast<int>(blockIdx.x));
  const Real rate = static_cast<Real>(*scalars.rate), scale = scales.values[place.variable];
  const WeightDecay<Real> decay{options.decay, rate};
  const Real* direction = table.at<Real>(kMuonWork, place.variable);
  T* value = table.at<T>(kMuonValue, place.variable);
  for (std::int64_t i = place.begin + threadIdx.x; i < place.end; i += kBlock) {
    Real w = widened(value[i]);
    decay(w);
    value[i] = narrowed<T>(w - rate * direction[i] * scale);
  }
}

// Matrices that are updated together. Places in the working memory count elements from its begin.
template <class Real>
struct MuonGroup {
  struct Matrix {
    int variable;
    int rows, cols;
    std::int64_t work, spare, square, power;
    int side() const { return std::min(rows, cols); }
  };
  MuonTable table = {};
  MuonScales<Real> scales = {};
  std::vector<Matrix> matrices;
  std::int64_t reals = 0;  // of the working memory

  void add(int variable, int rows, int cols, Real scale) {
    const int i = table.count++;
    const std::int64_t size = static_cast<std::int64_t>(rows) * cols;
    if (i == 0) table.chunk = update_chunk(size);
    table.sizes[i] = size;
    table.first_block[i + 1] = table.first_block[i] + static_cast<int>((size + table.chunk - 1) / table.chunk);
    scales.values[i] = scale;
    const auto take = [&](std::int64_t count) { return std::exchange(reals, reals + (count + 63) / 64 * 64); };
    Matrix matrix{variable, rows, cols, take(size), take(size), 0, 0};
    const std::int64_t square = static_cast<std::int64_t>(matrix.side()) * matrix.side();
    matrix.square = take(square);
    matrix.power = take(square);
    matrices.push_back(matrix);
  }
};

template <class T>
struct MuonPlan {
  using Real = Compute<T>;
  using Group = MuonGroup<Real>;
  // A group takes no further matrix when it holds this much.
  static constexpr std::int64_t kGroupBytes = std::int64_t{256} << 20;

  explicit MuonPlan(const KernelSpec& spec) : at(spec.call()) {
    const auto real = [&](const char* name) { return static_cast<Real>(spec.attr<double>(name)); };
    options = {real("weight_decay"), real("momentum"), spec.attr<bool>("nesterov")};
    a = real("a");
    b = real("b");
    c = real("c");
    steps = spec.attr<std::int64_t>("ns_steps");
    for (int v = 0; v < at.count(); ++v) {
      const Shape& shape = spec.input(at.gradient(v)).shape;
      if (shape.num_elements() == 0) continue;
      if (groups.empty() || groups.back().table.count == kMostMatrices ||
          groups.back().reals * static_cast<std::int64_t>(sizeof(Real)) >= kGroupBytes) {
        groups.emplace_back();
      }
      const double longer = static_cast<double>(std::max(shape[0], shape[1]));
      groups.back().add(
          v, static_cast<int>(shape[0]), static_cast<int>(shape[1]),
          real("rate_scale") * static_cast<Real>(spec.attr<bool>("scale_by_size") ? std::sqrt(longer) : 1.0));
    }
    for (const Group& group : groups) {
      most_blocks = std::max<std::int64_t>(most_blocks, group.table.blocks());
      most_reals = std::max(most_reals, group.reals);
    }
  }

  // Sums of blocks, norms, then the matrices; each begins where 16 bytes do.
  std::int64_t doubles() const { return (most_blocks + kMostMatrices + 31) / 32 * 32; }
  std::size_t bytes() const {
    return static_cast<std::size_t>(doubles()) * sizeof(double) + static_cast<std::size_t>(most_reals) * sizeof(Real);
  }

  void run(const Group& group, const KernelIO& io, double* sums) const {
    Real* memory = reinterpret_cast<Real*>(sums + doubles());
    double* norms = sums + most_blocks;
    const cudaStream_t stream = stream_of(io);
    MuonTable table = group.table;
    for (int i = 0; i < table.count; ++i) {
      const auto& matrix = group.matrices[static_cast<std::size_t>(i)];
      table.memory[kMuonValue][i] = io.inputs[at.variable(matrix.variable)];
      table.memory[kMuonMomentum][i] = io.inputs[at.slot(matrix.variable, 0)];
      table.memory[kMuonGradient][i] = io.inputs[at.gradient(matrix.variable)];
      table.memory[kMuonWork][i] = memory + matrix.work;
    }
    gather_momentum<T><<<table.blocks(), kBlock, 0, stream>>>(table, options, sums);
    cohort::cuda::check(cudaGetLastError());
    measure_matrices<<<table.count, kBlock, 0, stream>>>(table, sums, norms);
    cohort::cuda::check(cudaGetLastError());
    normalize_matrices<Real><<<table.blocks(), kBlock, 0, stream>>>(table, norms);
    cohort::cuda::check(cudaGetLastError());
    for (std::int64_t step = 0; step < steps; ++step) make_more_orthogonal(group, memory, step % 2 == 1, stream);
    if (steps % 2 == 1) {
      for (int i = 0; i < table.count; ++i) {
        table.memory[kMuonWork][i] = memory + group.matrices[static_cast<std::size_t>(i)].spare;
      }
    }
    move_matrices<T><<<table.blocks(), kBlock, 0, stream>>>(table, UpdateScalarInputs(io, at), options, group.scales);
    cohort::cuda::check(cudaGetLastError());
  }

  // One step: the square of x (x x' for a wide matrix, x' x for a tall one), the polynomial of it, its product with x.
  // The result lies in the spare memory, from which an odd step takes its x.
  void make_more_orthogonal(const Group& group, Real* memory, bool odd, cudaStream_t stream) const {
    ProductTable<Real> squares, powers, products;
    for (const auto& matrix : group.matrices) {
      const int rows = matrix.rows, cols = matrix.cols, side = matrix.side();
      const bool wide = rows <= cols;
      const Real* x = memory + (odd ? matrix.spare : matrix.work);
      Real* next = memory + (odd ? matrix.work : matrix.spare);
      Real *square = memory + matrix.square, *power = memory + matrix.power;
      const ProductFactor<Real> lines = wide ? ProductFactor<Real>{x, cols, 1} : ProductFactor<Real>{x, 1, cols};
      squares.add({lines, lines, square, nullptr, side, side, std::max(rows, cols)});
      powers.add({{square, side, 1}, {square, 1, side}, power, square, side, side, side});
      if (wide) {
        products.add({{power, side, 1}, {x, 1, cols}, next, nullptr, rows, cols, side});
      } else {
        products.add({{x, cols, 1}, {power, 1, side}, next, nullptr, rows, cols, side});
      }
    }
    for (const auto* table : {&squares, &powers, &products}) {
      multiply_matrices<Real><<<table->blocks(), kBlock, 0, stream>>>(*table, a, b, c);
      cohort::cuda::check(cudaGetLastError());
    }
  }

  UpdateLayout at;
  MuonOptions<Real> options;
  Real a, b, c;
  std::int64_t steps;
  std::vector<Group> groups;
  std::int64_t most_blocks = 0, most_reals = 0;
};

KernelFn make_muon(const KernelSpec& spec) {
  auto* device = &cohort::cuda::device_of(spec);
  return visit_floating(spec.input(UpdateLayout(spec.call()).gradient(0)).dtype, [&](auto type) -> KernelFn {
    using T = typename decltype(type)::type;
    auto plan = std::make_shared<const MuonPlan<T>>(spec);
    device->reserve_workspace(plan->bytes());
    return [plan, device](const KernelIO& io) {
      for (const auto& group : plan->groups) plan->run(group, io, static_cast<double*>(device->workspace()));
    };
  });
}

COHORT_KERNEL("MuonUpdate", kGPU, make_muon);

}  // namespace
}  // namespace cohort::kernels::cuda
