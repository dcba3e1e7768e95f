#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/optimizer_update.h"
#include "cohort/kernels/cpu/row_sums.h"

// Adafactor looks across a whole variable: at means of squares along rows and columns, at the variable's size and at
// its step's. So there are passes over all variables with small sums between them. Those are added up in the order of
// the pieces, however the pieces were spread over threads.

namespace cohort {
namespace {

Scratch adafactor_sums, adafactor_columns;

// A variable as a stack of matrices; one that is not factored is a single column.
struct AdafactorMatrices {
  std::int64_t rows, cols;  // of one matrix
  std::int64_t all_rows;    // of all matrices together
  std::int64_t tiles;       // bands of kTile columns of one matrix
  static constexpr std::int64_t kTile = 64;
  std::int64_t first;  // number of its first matrix among those of all variables
  std::int64_t matrices() const { return rows == 0 ? 0 : all_rows / rows; }
  std::int64_t size() const { return all_rows * cols; }
};

// Short sums in the type of the numbers, gathered in double: fast, and exact to the last digits.
template <class Real, class Value>
double adafactor_sum(std::int64_t count, const Value& value) {
  constexpr std::int64_t kShort = 512;
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kShort) {
    sum += static_cast<double>(
        kernels::sum_in_lanes<Real>(std::min(kShort, count - begin), [&](std::int64_t i) { return value(begin + i); }));
  }
  return sum;
}

// The scalars of a step, in the type it is computed in.
template <class Real>
struct AdafactorScalars {
  Real decay, rate, limited_rate, keep, take, epsilon_1, epsilon_2, threshold;
};

// The pointers of one variable. kSquares: squares come beside the gradient.
template <class T, bool kSquares>
struct AdafactorPointers {
  using Real = UpdateReal<T>;
  T *value, *velocity, *rows, *columns;
  const T *gradient, *squares;
  Real square(std::int64_t i) const {
    const Real g = static_cast<Real>(gradient[i]);
    return kSquares ? static_cast<Real>(squares[i]) : g * g;
  }
  void decay(std::int64_t begin, std::int64_t end, const AdafactorScalars<Real>& with) const {
    if (with.decay == Real{0}) return;
    for (std::int64_t i = begin; i < end; ++i) {
      const Real w = static_cast<Real>(value[i]);
      value[i] = static_cast<T>(w - w * with.decay * with.rate);
    }
  }
  double value_squares(std::int64_t begin, std::int64_t end) const {
    return adafactor_sum<Real>(end - begin, [&](std::int64_t i) {
      const Real w = static_cast<Real>(value[begin + i]);
      return w * w;
    });
  }
  // Of the step before it is clipped.
  double step_squares(std::int64_t begin, std::int64_t end) const {
    return adafactor_sum<Real>(
        end - begin, [&](std::int64_t i) { return square(begin + i) / static_cast<Real>(velocity[begin + i]); });
  }
};

template <class T, bool kSquares>
class AdafactorKernel {
 public:
  using Real = UpdateReal<T>;
  using Piece = UpdatePlan::Piece;
  using Pointers = AdafactorPointers<T, kSquares>;

  explicit AdafactorKernel(const KernelSpec& spec)
      : at_(spec.call()),
        factored_(spec.attr<bool>("factored")),
        decay_(spec.attr<double>("weight_decay")),
        beta_2_decay_(spec.attr<double>("beta_2_decay")),
        epsilon_1_(spec.attr<double>("epsilon_1")),
        epsilon_2_(spec.attr<double>("epsilon_2")),
        threshold_(spec.attr<double>("clip_threshold")) {
    std::vector<std::int64_t> rows, row_costs, tiles, tile_costs;
    for (int v = 0; v < at_.count(); ++v) {
      const Shape& shape = spec.input(at_.gradient(v)).shape;
      const std::int64_t cols = factored_ ? shape.back() : 1;
      const std::int64_t in_matrix = factored_ ? shape[shape.rank() - 2] : shape.num_elements();
      std::int64_t all_rows = 1;
      for (int axis = 0; axis + (factored_ ? 1 : 0) < shape.rank(); ++axis) all_rows *= shape[axis];
      variables_.push_back(
          {in_matrix, cols, all_rows, (cols + AdafactorMatrices::kTile - 1) / AdafactorMatrices::kTile, matrices_});
      matrices_ += variables_.back().matrices();
      rows.push_back(all_rows);
      row_costs.push_back(cols);
      tiles.push_back(variables_.back().matrices() * variables_.back().tiles);
      tile_costs.push_back(in_matrix * std::min(cols, AdafactorMatrices::kTile));
    }
    by_rows_ = UpdatePlan(rows, row_costs);
    if (factored_) by_tiles_ = UpdatePlan(tiles, tile_costs);
  }

  void operator()(const KernelIO& io) const {
    const AdafactorScalars<Real> with = scalars(io);
    const auto pieces = static_cast<std::int64_t>(by_rows_.pieces.size());
    // For each piece the squares of its values and of its step, for each variable the same, for each matrix its mean.
    double* piece_sums = adafactor_sums.get<double>(2 * pieces + 2 * at_.count() + matrices_);
    double *sizes = piece_sums + 2 * pieces, *means = sizes + 2 * at_.count();
    const auto pointers = [&](const Piece& piece) { return pointers_of(io, piece.variable); };

    by_rows_.run([&](const Piece& piece, std::size_t p) {
      if (factored_) {
        average_rows(pointers(piece), variables_[static_cast<std::size_t>(piece.variable)], piece, with,
                     piece_sums + 2 * p);
      } else {
        move_velocity(pointers(piece), piece, with, piece_sums + 2 * p);
      }
    });
    if (factored_) {
      by_tiles_.run([&](const Piece& piece, std::size_t) {
        average_columns(pointers(piece), variables_[static_cast<std::size_t>(piece.variable)], piece, with);
      });
      for (int v = 0; v < at_.count(); ++v) average_matrices(pointers_of(io, v), v, means);
      by_rows_.run([&](const Piece& piece, std::size_t p) {
        make_velocity(pointers(piece), variables_[static_cast<std::size_t>(piece.variable)], piece, means,
                      piece_sums + 2 * p);
      });
    }
    std::fill_n(sizes, 2 * at_.count(), 0.0);
    for (std::int64_t p = 0; p < pieces; ++p) {
      const int variable = by_rows_.pieces[static_cast<std::size_t>(p)].variable;
      sizes[2 * variable] += piece_sums[2 * p];
      sizes[2 * variable + 1] += piece_sums[2 * p + 1];
    }
    by_rows_.run([&](const Piece& piece, std::size_t) {
      const auto count = static_cast<double>(variables_[static_cast<std::size_t>(piece.variable)].size());
      const Real value_size = static_cast<Real>(std::sqrt(sizes[2 * piece.variable] / count));
      const Real step_size = static_cast<Real>(std::sqrt(sizes[2 * piece.variable + 1] / count));
      const Real size =
          std::max(with.epsilon_2, value_size) * with.limited_rate / std::max(Real{1}, step_size / with.threshold);
      if (factored_) {
        move_rows(pointers(piece), variables_[static_cast<std::size_t>(piece.variable)], piece, means, size);
      } else {
        move(pointers(piece), piece, size);
      }
    });
  }

 private:
  Pointers pointers_of(const KernelIO& io, int v) const {
    const auto memory = [&](int input) { return static_cast<T*>(io.inputs[input]); };
    return {memory(at_.variable(v)),
            memory(at_.slot(v, 0)),
            factored_ ? memory(at_.slot(v, 1)) : nullptr,
            factored_ ? memory(at_.slot(v, 2)) : nullptr,
            io.in<T>(at_.gradient(v)),
            kSquares ? io.in<T>(at_.squares(v)) : nullptr};
  }
  AdafactorScalars<Real> scalars(const KernelIO& io) const {
    const Real rate = static_cast<Real>(*io.in<float>(at_.shared(0)));
    const Real step = static_cast<Real>(*io.in<std::int64_t>(at_.shared(1)) + 1);
    const Real keep = Real{1} - std::pow(step, static_cast<Real>(beta_2_decay_));
    return {static_cast<Real>(decay_),
            rate,
            std::min(rate, Real{1} / std::sqrt(step)),
            keep,
            Real{1} - keep,
            static_cast<Real>(epsilon_1_),
            static_cast<Real>(epsilon_2_),
            static_cast<Real>(threshold_)};
  }
  // Decays whole rows and moves their means of squares; adds up the squares of the values.
  static void average_rows(const Pointers& x, const AdafactorMatrices& shape, const Piece& piece,
                           const AdafactorScalars<Real>& with, double* sums) {
    x.decay(piece.begin * shape.cols, piece.end * shape.cols, with);
    sums[0] = x.value_squares(piece.begin * shape.cols, piece.end * shape.cols);
    for (std::int64_t row = piece.begin; row < piece.end; ++row) {
      const std::int64_t at = row * shape.cols;
      const double sum =
          adafactor_sum<Real>(shape.cols, [&](std::int64_t i) { return x.square(at + i) + with.epsilon_1; });
      const Real mean = static_cast<Real>(sum / static_cast<double>(shape.cols));
      x.rows[row] = static_cast<T>(with.keep * static_cast<Real>(x.rows[row]) + with.take * mean);
    }
  }
  static constexpr std::int64_t kShortColumn = 64;
  static void average_columns(const Pointers& x, const AdafactorMatrices& shape, const Piece& piece,
                              const AdafactorScalars<Real>& with) {
    for (std::int64_t tile = piece.begin; tile < piece.end; ++tile) {
      const std::int64_t matrix = tile / shape.tiles, first = tile % shape.tiles * AdafactorMatrices::kTile;
      const std::int64_t width = std::min(AdafactorMatrices::kTile, shape.cols - first);
      double sums[AdafactorMatrices::kTile] = {};
      for (std::int64_t begin = 0; begin < shape.rows; begin += kShortColumn) {
        Real some[AdafactorMatrices::kTile] = {};
        for (std::int64_t row = begin; row < std::min(shape.rows, begin + kShortColumn); ++row) {
          const std::int64_t at = (matrix * shape.rows + row) * shape.cols + first;
          for (std::int64_t i = 0; i < width; ++i) some[i] += x.square(at + i) + with.epsilon_1;
        }
        for (std::int64_t i = 0; i < width; ++i) sums[i] += static_cast<double>(some[i]);
      }
      T* columns = x.columns + matrix * shape.cols + first;
      for (std::int64_t i = 0; i < width; ++i) {
        const Real mean = static_cast<Real>(sums[i] / static_cast<double>(shape.rows));
        columns[i] = static_cast<T>(with.keep * static_cast<Real>(columns[i]) + with.take * mean);
      }
    }
  }
  void average_matrices(const Pointers& x, int v, double* means) const {
    const AdafactorMatrices& shape = variables_[static_cast<std::size_t>(v)];
    for (std::int64_t matrix = 0; matrix < shape.matrices(); ++matrix) {
      const T* rows = x.rows + matrix * shape.rows;
      means[shape.first + matrix] =
          kernels::sum_in_lanes<double>(shape.rows, [&](std::int64_t i) { return static_cast<double>(rows[i]); }) /
          static_cast<double>(shape.rows);
    }
  }
  // The share a row has in the velocities of its matrix: velocity = share * column.
  static Real share_of(const Pointers& x, const AdafactorMatrices& shape, std::int64_t row, const double* means) {
    return static_cast<Real>(x.rows[row]) / static_cast<Real>(means[shape.first + row / shape.rows]);
  }
  // Calls visit(row, its share, factors of the columns of its matrix) for the rows of a piece. What divides by a
  // velocity, or by its root, is taken apart this way: there are far fewer rows and columns than elements.
  template <class Factor, class Visit>
  static void each_row(const Pointers& x, const AdafactorMatrices& shape, const Piece& piece, const double* means,
                       const Factor& factor, const Visit& visit) {
    Real* factors = adafactor_columns.get<Real>(shape.cols);
    for (std::int64_t row = piece.begin; row < piece.end; ++row) {
      if (row == piece.begin || row % shape.rows == 0) {
        const T* columns = x.columns + row / shape.rows * shape.cols;
        for (std::int64_t i = 0; i < shape.cols; ++i) factors[i] = factor(static_cast<Real>(columns[i]));
      }
      visit(row, share_of(x, shape, row, means), factors);
    }
  }
  static void make_velocity(const Pointers& x, const AdafactorMatrices& shape, const Piece& piece, const double* means,
                            double* sums) {
    sums[1] = 0;
    const auto inverse = [](Real column) { return Real{1} / column; };
    each_row(x, shape, piece, means, inverse, [&](std::int64_t row, Real share, const Real* inverses) {
      const T* columns = x.columns + row / shape.rows * shape.cols;
      const std::int64_t at = row * shape.cols;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < shape.cols; ++i) {
        x.velocity[at + i] = static_cast<T>(share * static_cast<Real>(columns[i]));
      }
      const double sum =
          adafactor_sum<Real>(shape.cols, [&](std::int64_t i) { return x.square(at + i) * inverses[i]; });
      sums[1] += sum / static_cast<double>(share);
    });
  }
  static void move_rows(const Pointers& x, const AdafactorMatrices& shape, const Piece& piece, const double* means,
                        Real size) {
    const auto inverse_root = [](Real column) { return Real{1} / std::sqrt(column); };
    each_row(x, shape, piece, means, inverse_root, [&](std::int64_t row, Real share, const Real* roots) {
      const Real factor = size / std::sqrt(share);
      const std::int64_t at = row * shape.cols;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < shape.cols; ++i) {
        const Real step = static_cast<Real>(x.gradient[at + i]) * roots[i];
        x.value[at + i] = static_cast<T>(static_cast<Real>(x.value[at + i]) - factor * step);
      }
    });
  }
  // What a variable that is not factored has in place of the passes before.
  static void move_velocity(const Pointers& x, const Piece& piece, const AdafactorScalars<Real>& with, double* sums) {
    x.decay(piece.begin, piece.end, with);
#pragma GCC ivdep
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      x.velocity[i] =
          static_cast<T>(with.keep * static_cast<Real>(x.velocity[i]) + with.take * (x.square(i) + with.epsilon_1));
    }
    sums[0] = x.value_squares(piece.begin, piece.end);
    sums[1] = x.step_squares(piece.begin, piece.end);
  }
  static void move(const Pointers& x, const Piece& piece, Real size) {
#pragma GCC ivdep
    for (std::int64_t i = piece.begin; i < piece.end; ++i) {
      const Real step = static_cast<Real>(x.gradient[i]) / std::sqrt(static_cast<Real>(x.velocity[i]));
      x.value[i] = static_cast<T>(static_cast<Real>(x.value[i]) - size * step);
    }
  }

  UpdateLayout at_;
  bool factored_;
  double decay_, beta_2_decay_, epsilon_1_, epsilon_2_, threshold_;
  std::vector<AdafactorMatrices> variables_;
  std::int64_t matrices_ = 0;
  UpdatePlan by_rows_{std::vector<std::int64_t>()}, by_tiles_{std::vector<std::int64_t>()};
};

template <class T, bool kSquares>
KernelFn make_adafactor_of(const KernelSpec& spec) {
  auto kernel = std::make_shared<const AdafactorKernel<T, kSquares>>(spec);
  return [kernel](const KernelIO& io) { (*kernel)(io); };
}

KernelFn make_adafactor(const KernelSpec& spec) {
  const UpdateLayout at(spec.call());
  return visit_floating(spec.input(at.gradient(0)).dtype, [&]<class T>(T) -> KernelFn {
    return at.has_squares() ? make_adafactor_of<T, true>(spec) : make_adafactor_of<T, false>(spec);
  });
}

COHORT_KERNEL("AdafactorUpdate", kCPU, make_adafactor);

}  // namespace
}  // namespace cohort
