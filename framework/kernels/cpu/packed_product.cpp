// Products with a right operand that was laid out beforehand. So far benchmarks alone define the ops.
#include <algorithm>

#include "cohort/core/kernel.h"
#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/product_schemes.h"

namespace cohort {
namespace {

std::int64_t pieces_of(std::int64_t size, std::int64_t piece) { return (size + piece - 1) / piece; }
std::int64_t round_up(std::int64_t size, std::int64_t step) { return pieces_of(size, step) * step; }

// A matrix in panels of kLines lines, in equal parts along the depth.
template <class Scheme, std::int64_t kLines>
struct PanelLayout {
  std::int64_t lines, depth, part;

  PanelLayout(std::int64_t lines, std::int64_t depth)
      : lines(lines),
        depth(depth),
        part(round_up(pieces_of(depth, pieces_of(depth, Scheme::kDepth)), Scheme::kDepthStep)) {}
  std::int64_t parts() const { return pieces_of(depth, part); }
  std::int64_t depth_of(std::int64_t q) const { return std::min(part, depth - q * part); }
  std::int64_t size() const { return parts() * Scheme::packed_depth(part) * round_up(lines, kLines); }
  // Where the panel of part q begins whose first line is `line`.
  std::int64_t panel(std::int64_t q, std::int64_t line) const {
    return q * Scheme::packed_depth(part) * round_up(lines, kLines) + line * Scheme::packed_depth(depth_of(q));
  }
};

// How many rows and columns of c are a task: at least two for each thread, by halves of the longer side.
struct TaskSize {
  std::int64_t rows, columns;
};
TaskSize task_size(std::int64_t m, std::int64_t n, std::int64_t tile_rows, std::int64_t tile_columns) {
  const std::int64_t threads = ThreadPool::instance().threads();
  std::int64_t rows = pieces_of(m, tile_rows), columns = pieces_of(n, tile_columns);
  while (threads > 1 && pieces_of(m, rows * tile_rows) * pieces_of(n, columns * tile_columns) < 2 * threads &&
         rows * columns > 1) {
    std::int64_t& longer = columns == 1 || (rows > 1 && rows * tile_rows >= columns * tile_columns) ? rows : columns;
    longer = pieces_of(longer, 2);
  }
  return {rows * tile_rows, columns * tile_columns};
}

Scratch left_panels, strip_panels, strip_sums;

// c (m x n) = a (m x k) * b (k x n), all row-major and dense.
template <class T>
class PackedProduct {
 public:
  using Scheme = typename products::SchemeOf<T>::Type;
  using Packed = typename Scheme::Packed;
  using Sum = typename Scheme::Sum;

  PackedProduct(std::int64_t m, std::int64_t n, std::int64_t k)
      : m_(m), n_(n), k_(k), a_layout_(m, k), b_layout_(n, k) {}

  std::int64_t panels_bytes() const { return b_layout_.size() * static_cast<std::int64_t>(sizeof(Packed)); }

  void pack(const T* b, Packed* panels) const {
    const products::Operand<T> columns{b, n_, false};
    for_panels(b_layout_, kColumns, [&](std::int64_t q, std::int64_t j, std::int64_t count) {
      Scheme::pack_columns(columns.at(j, q * b_layout_.part), count, b_layout_.depth_of(q),
                           panels + b_layout_.panel(q, j));
    });
  }

  void run(const T* a, const Packed* panels, T* c) const {
    const TaskSize size = task_size(m_, n_, kRows, kColumns);
    const std::int64_t across = pieces_of(n_, size.columns);
    // A task that has whole rows of c packs those of a, a strip at a time, just before they are used.
    const Packed* const left = across == 1 ? nullptr : pack_left(a);
    ThreadPool::instance().run_blocks(pieces_of(m_, size.rows) * across, [&](std::int64_t task) {
      [[maybe_unused]] const typename Scheme::Session session;
      const std::int64_t row = task / across * size.rows, column = task % across * size.columns;
      const std::int64_t bottom = std::min(m_, row + size.rows), right = std::min(n_, column + size.columns);
      const std::int64_t rows = round_up(pieces_of(bottom - row, pieces_of(bottom - row, kStripRows)), kRows);
      for (std::int64_t i = row; i < bottom; i += rows) {
        const Strip strip = left ? Strip{left, a_layout_, i} : pack_strip(a, i, std::min(rows, bottom - i));
        for (std::int64_t j = column; j < right; j += kColumns) {
          multiply_strip(strip, panels, c, i, std::min(rows, bottom - i), j, right);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t kRows = Scheme::kRows, kColumns = Scheme::kColumns;
  static constexpr std::int64_t kStripRows = Scheme::kBlockRows / kRows * kRows;
  using LeftLayout = PanelLayout<Scheme, kRows>;

  // Rows of a in panels, of which those from line `first` on are meant.
  struct Strip {
    const Packed* panels;
    LeftLayout layout;
    std::int64_t first;

    const Packed* panel(std::int64_t q, std::int64_t i) const {
      return panels + layout.panel(q, first + i) * Scheme::kRowCopies;
    }
  };

  // Calls body(part, first line, lines) on the pool for some panels at a time.
  template <class Layout, class Body>
  static void for_panels(const Layout& layout, std::int64_t lines, const Body& body) {
    const std::int64_t together = 4 * lines, items = pieces_of(layout.lines, together);
    ThreadPool::instance().run_blocks(layout.parts() * items, [&](std::int64_t task) {
      const std::int64_t first = task % items * together;
      body(task / items, first, std::min(together, layout.lines - first));
    });
  }

  const Packed* pack_left(const T* a) const {
    Packed* left = left_panels.get<Packed>(a_layout_.size() * Scheme::kRowCopies);
    const products::Operand<T> rows{a, k_, true};
    for_panels(a_layout_, kRows, [&](std::int64_t q, std::int64_t i, std::int64_t count) {
      Scheme::pack_rows(rows.at(i, q * a_layout_.part), count, a_layout_.depth_of(q),
                        left + a_layout_.panel(q, i) * Scheme::kRowCopies);
    });
    return left;
  }
  // Into memory of this thread.
  Strip pack_strip(const T* a, std::int64_t row, std::int64_t rows) const {
    const LeftLayout layout(rows, k_);
    Packed* left = strip_panels.get<Packed>(layout.size() * Scheme::kRowCopies);
    const products::Operand<T> from{a, k_, true};
    for (std::int64_t q = 0; q < layout.parts(); ++q) {
      Scheme::pack_rows(from.at(row, q * layout.part), rows, layout.depth_of(q),
                        left + layout.panel(q, 0) * Scheme::kRowCopies);
    }
    return {left, layout, 0};
  }

  // One panel of b, that of `column`, with some rows of a, over the whole depth. Meanwhile the panel behind it is
  // fetched.
  void multiply_strip(const Strip& strip, const Packed* panels, T* c, std::int64_t row, std::int64_t rows,
                      std::int64_t column, std::int64_t right) const {
    const std::int64_t columns = std::min(kColumns, right - column);
    Sum* sums;
    std::int64_t step;
    if constexpr (std::is_same_v<T, Sum>) {
      sums = c + row * n_ + column, step = n_;
    } else {
      sums = strip_sums.get<Sum>(kStripRows * kColumns), step = kColumns;
    }
    for (std::int64_t q = 0; q < b_layout_.parts(); ++q) {
      const std::int64_t depth = b_layout_.depth_of(q);
      const Packed* panel = panels + b_layout_.panel(q, column);
      products::Ahead ahead;
      if (column + kColumns < right) {
        ahead =
            products::Ahead::of_panel(panels + b_layout_.panel(q, column + kColumns), kColumns, pieces_of(rows, kRows));
      }
      for (std::int64_t i = 0; i < rows; i += kRows) {
        Scheme::multiply(strip.panel(q, i), panel, depth, sums + i * step, step, q > 0, std::min(kRows, rows - i),
                         columns, ahead);
        ahead.pass(Scheme::packed_depth(depth));
      }
    }
    if constexpr (!std::is_same_v<T, Sum>) {
      for (std::int64_t i = 0; i < rows; ++i) {
        products::round_sums(sums + i * step, columns, c + (row + i) * n_ + column);
      }
    }
  }

  std::int64_t m_, n_, k_;
  PanelLayout<Scheme, kRows> a_layout_;
  PanelLayout<Scheme, kColumns> b_layout_;
};

template <class Visit>
KernelFn visit_packed_type(DType dtype, const Visit& visit) {
  if (dtype == DType::Float32) return visit(float{});
  if (dtype == DType::BFloat16) return visit(BFloat16{});
  return {};
}

KernelFn make_pack_matrix(const KernelSpec& spec) {
  const Shape& b = spec.input(0).shape;
  return visit_packed_type(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [product = PackedProduct<T>(0, b[1], b[0])](const KernelIO& io) {
      void* panels = io.allocator->allocate(0, {product.panels_bytes()});
      product.pack(io.in<T>(0), static_cast<typename PackedProduct<T>::Packed*>(panels));
    };
  });
}

KernelFn make_packed_matmul(const KernelSpec& spec) {
  const Shape& a = spec.input(0).shape;
  return visit_packed_type(spec.input(0).dtype, [&]<class T>(T) -> KernelFn {
    return [product = PackedProduct<T>(a[0], spec.output(0).shape[1], a[1])](const KernelIO& io) {
      product.run(io.in<T>(0), io.in<typename PackedProduct<T>::Packed>(1), io.out<T>(0));
    };
  });
}

COHORT_KERNEL("PackMatrix", kCPU, make_pack_matrix);
COHORT_KERNEL("PackedMatMul", kCPU, make_packed_matmul);

}  // namespace
}  // namespace cohort
