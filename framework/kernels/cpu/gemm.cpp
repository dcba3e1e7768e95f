#include "cohort/kernels/cpu/gemm.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

#include "cohort/core/scratch.h"
#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/product_schemes.h"

namespace cohort::products {
namespace {

constexpr std::int64_t kVectorWork = kVectorBytes / 16;        // what a level does while a narrow one does 1
constexpr std::int64_t kSharedWork = kVectorWork << 19;        // products that are worth handing over, twice
constexpr std::int64_t kSharedElements = 1 << 16;              // of all matrices: to bring them is work, too
constexpr std::int64_t kTaskWork = kVectorWork << 20;          // of small matrices in a batch
constexpr std::int64_t kMaxLines = 4096;                       // of an operand that are packed at once
constexpr std::int64_t kPackedBytes = std::int64_t(32) << 20;  // of both
constexpr std::int64_t kOwnBytes = std::int64_t(1) << 20;      // that a task packs for itself
constexpr std::int64_t kSmallBytes = std::int64_t(64) << 10;   // of b that stays in the cache as it lies
constexpr std::int64_t kFewRows = 64;                          // that meet it there
constexpr std::int64_t kOwnColumns = 1 << 13;  // elements of b that a task packs rather than wait for others
constexpr int kManyThreads = 4;  // of which each packs what it needs of b rather than wait for what others pack
constexpr std::int64_t kOwnWork = std::int64_t(1) << 25;  // of such a thread; for more than that packing pays
constexpr std::int64_t kFlatRows = 384;                   // of a that stay in the cache with a part of the depth
constexpr std::int64_t kFlatPanels = 4;                   // of b that meet them together
constexpr std::int64_t kDeepParts = 4;   // of a depth that is cut, unless they would be deeper than kDeepest
constexpr std::int64_t kDeepPart = 128;  // how deep they are at least
constexpr std::int64_t kDeepest = 1024;  // and at most: a panel of b stays in the cache
constexpr std::int64_t kDeepTiles = 20;  // of a task that takes half of the parts
constexpr std::int64_t kDeepBytes = std::int64_t(2) << 20;  // of the sums of all parts

constexpr GemmCut kUncut{1, kMaxLines, kMaxLines};

Scratch shared_panels, own_panels, sums_memory;

std::int64_t parts_of(std::int64_t size, std::int64_t part) { return (size + part - 1) / part; }
std::int64_t step_up(std::int64_t size, std::int64_t step) { return parts_of(size, step) * step; }
// Equal parts of at most `largest`, so that the last is not a sliver.
std::int64_t equal_part(std::int64_t size, std::int64_t largest, std::int64_t step) {
  return step_up(parts_of(size, parts_of(size, largest)), step);
}

void run_tasks(int threads, std::int64_t tasks, FunctionRef<void(std::int64_t)> body) {
  if (threads > 1 && tasks > 1) return ThreadPool::instance().run_blocks(tasks, body);
  for (std::int64_t i = 0; i < tasks; ++i) body(i);
}

// The cut that ends first: whole rounds of equal tasks, each of which also fetches its part of both operands, and a
// thread that comes late by a quarter of a task.
GemmCut best_cut(std::int64_t row_tiles, std::int64_t column_tiles, int threads) {
  if (threads == 1) return {1, row_tiles, column_tiles};
  GemmCut best;
  double least = std::numeric_limits<double>::infinity();
  const std::int64_t most = 4 * threads;
  for (std::int64_t i = 1; i <= std::min(row_tiles, most); ++i) {
    const std::int64_t rows = parts_of(row_tiles, i);
    for (std::int64_t j = 1; j <= std::min(column_tiles, most / i); ++j) {
      const std::int64_t columns = parts_of(column_tiles, j);
      const std::int64_t tasks = parts_of(row_tiles, rows) * parts_of(column_tiles, columns);
      const double work =
          static_cast<double>(rows * columns) + 0.25 * static_cast<double>(rows) + 0.5 * static_cast<double>(columns);
      const double time = (static_cast<double>(parts_of(tasks, threads)) + 0.25) * work;
      if (time >= least) continue;
      least = time;
      best = {threads, rows, columns};
    }
  }
  return best;
}

// One product with its operands wherever they lie.
template <class T>
class Product {
 public:
  using Scheme = typename SchemeOf<T>::Type;
  using Packed = typename Scheme::Packed;
  using Sum = typename Scheme::Sum;

  Product(const GemmShape& s, const void* a, std::int64_t lda, const void* b, std::int64_t ldb, void* c,
          std::int64_t ldc, const GemmFinish<T>& finish)
      : m_(s.m),
        n_(s.n),
        k_(s.k),
        a_{static_cast<const T*>(a), lda, !s.transpose_a},
        b_{static_cast<const T*>(b), ldb, s.transpose_b},
        wide_a_{s.wide_a ? static_cast<const float*>(a) : nullptr, lda, !s.transpose_a},
        wide_b_{s.wide_b ? static_cast<const float*>(b) : nullptr, ldb, s.transpose_b},
        c_(static_cast<T*>(c)),
        wide_c_(s.wide_c ? static_cast<float*>(c) : nullptr),
        ldc_(ldc),
        finish_(finish) {}

  void run(int threads, const GemmCut& cut) const {
    if (m_ == 0 || n_ == 0) return;
    if (k_ == 0) {
      for (std::int64_t i = 0; i < m_ && wide_c_; ++i) std::fill_n(wide_c_ + i * ldc_, n_, 0.0f);
      for (std::int64_t i = 0; i < m_ && !wide_c_; ++i) std::fill_n(c_ + i * ldc_, n_, T(0));
      return finish_rows(0, m_, 0, n_);
    }
    if constexpr (kDirect) {
      if (const std::optional<Depth> depth = deep()) return run_deep(threads, *depth);
    }
    if constexpr (std::is_same_v<T, Packed>) {
      if (narrow()) return run_narrow(threads);
      if (m_ <= 2 * kRows) return run_thin(threads);
    }
    if constexpr (kDirect) {
      if (flat(threads) && reads_rows()) return run_direct(threads, m_, flat_columns(threads));
      if (cut.threads == threads && threads >= kManyThreads && m_ * n_ * k_ <= threads * kOwnWork && reads_rows()) {
        return run_direct(threads, cut.row_tiles * kRows, cut.column_tiles * kColumns);
      }
    }
    if (flat(threads)) return run_flat(threads);
    run_packed(threads, cut);
  }

 private:
  static constexpr std::int64_t kRows = Scheme::kRows, kColumns = Scheme::kColumns;
  static constexpr std::int64_t kRowBlock = Scheme::kBlockRows / kRows * kRows, kRowCopies = Scheme::kRowCopies;
  static constexpr std::int64_t kTogether = Scheme::kPartsTogether;
  static constexpr bool kHalf = sizeof(T) < sizeof(float);  // and may be wide
  // The widest vectors are multiplied by an element of a wherever it lies: it need not be packed.
  static constexpr bool kDirect = kVectorBytes == 64 && std::is_same_v<T, Packed>;

  void pack_rows(std::int64_t row, std::int64_t rows, std::int64_t begin, std::int64_t depth, Packed* to) const {
    if constexpr (kHalf) {
      if (wide_a_.data) return Scheme::pack_rows(wide_a_.at(row, begin), rows, depth, to);
    }
    Scheme::pack_rows(a_.at(row, begin), rows, depth, to);
  }
  void pack_columns(std::int64_t column, std::int64_t columns, std::int64_t begin, std::int64_t depth,
                    Packed* to) const {
    if constexpr (kHalf) {
      if (wide_b_.data) return Scheme::pack_columns(wide_b_.at(column, begin), columns, depth, to);
    }
    Scheme::pack_columns(b_.at(column, begin), columns, depth, to);
  }
  // Where c itself can hold sums, from this element on; nullptr: it cannot.
  Sum* sums_in_c(std::int64_t row, std::int64_t column) const {
    if constexpr (std::is_same_v<T, Sum>) {
      return c_ + row * ldc_ + column;
    } else {
      return wide_c_ ? wide_c_ + row * ldc_ + column : nullptr;
    }
  }

  void finish_rows(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    if (!finish_.epilogue || !*finish_.epilogue) return;
    for (std::int64_t i = row; i < row + rows; ++i) {
      (*finish_.epilogue)(c_ + i * ldc_ + column, finish_.bias ? finish_.bias + column : nullptr, columns);
    }
  }

  // Few columns: an element of a is met a few times only, so it is read from where it lies. Not where rows are a page
  // apart: they would drive each other out of the cache.
  bool narrow() const {
    return n_ <= 4 * kColumns && k_ * step_up(n_, kColumns) * static_cast<std::int64_t>(sizeof(T)) <= kOwnBytes &&
           (!a_.along || m_ < kRows || a_.step * static_cast<std::int64_t>(sizeof(T)) % 4096 != 0);
  }
  // So small a matrix b that it stays in the cache as it lies, and so few rows for each task to meet it that packing it
  // would not pay: nobody packs it, and nobody waits for that.
  bool reads_columns(std::int64_t rows) const {
    const std::int64_t bytes = b_.step * static_cast<std::int64_t>(sizeof(T));
    return kDirect && rows <= kFewRows && !b_.along && n_ % Scheme::kColumnStep == 0 && k_ * bytes <= kSmallBytes &&
           bytes % 4096 != 0;
  }
  void run_narrow(int threads) const {
    const std::int64_t rows = step_up(parts_of(m_, threads == 1 ? 1 : 2 * threads), kRows);
    const std::int64_t part = equal_part(k_, Scheme::kDepth, 1), width = step_up(n_, kColumns);
    const bool direct = reads_columns(rows), shared = !direct && threads > 1 && k_ * width > kOwnColumns;
    Packed* shared_b = shared ? shared_panels.get<Packed>(k_ * width) : nullptr;
    const auto pack_part = [&](std::int64_t q, Packed* panels) {
      Scheme::pack_columns(b_.at(0, q * part), n_, std::min(part, k_ - q * part), panels + q * part * width);
    };
    if (shared) run_tasks(threads, parts_of(k_, part), [&](std::int64_t q) { pack_part(q, shared_b); });
    run_tasks(threads, parts_of(m_, rows), [&](std::int64_t task) {
      Packed* panels = shared || direct ? shared_b : own_panels.get<Packed>(k_ * width);
      const std::int64_t last = std::min(m_, (task + 1) * rows);
      for (std::int64_t q = 0; !shared && !direct && q * part < k_; ++q) pack_part(q, panels);
      for (std::int64_t block = task * rows; block < last; block += kRowBlock) {
        const std::int64_t end = std::min(last, block + kRowBlock);
        for (std::int64_t p = 0; p < k_; p += part) {
          const std::int64_t depth = std::min(part, k_ - p);
          for (std::int64_t j = 0; j < n_; j += kColumns) {
            const Packed* panel = direct ? b_.at(j, p).data : panels + p * width + j * depth;
            for (std::int64_t i = block; i < end; i += kRows) {
              unpacked_tile(i, end, panel, direct ? b_.step : kColumns, p, depth, j, n_);
            }
          }
        }
        finish_rows(block, end - block, 0, n_);
      }
    });
  }

  // Few rows: an element of b is met once or twice, so some panels are packed at a time, just before they are used.
  void run_thin(int threads) const {
    constexpr std::int64_t kTogether = 4 * kColumns;
    const std::int64_t panels = parts_of(n_, kColumns);
    const std::int64_t columns = parts_of(panels, threads == 1 ? 1 : 2 * threads) * kColumns;
    run_tasks(threads, parts_of(n_, columns), [&](std::int64_t task) {
      const std::int64_t part = equal_part(k_, Scheme::kDepth, 1), last = std::min(n_, (task + 1) * columns);
      Packed* packed = own_panels.get<Packed>(part * kTogether);
      for (std::int64_t first = task * columns; first < last; first += kTogether) {
        const std::int64_t end = std::min(last, first + kTogether);
        for (std::int64_t p = 0; p < k_; p += part) {
          const std::int64_t depth = std::min(part, k_ - p);
          Scheme::pack_columns(b_.at(first, p), end - first, depth, packed);
          for (std::int64_t j = first; j < end; j += kColumns) {
            const Packed* panel = packed + (j - first) * depth;
            for (std::int64_t i = 0; i < m_; i += kRows) unpacked_tile(i, m_, panel, kColumns, p, depth, j, n_);
          }
        }
      }
      finish_rows(0, m_, task * columns, last - task * columns);
    });
  }
  // Rows of a from i on, as they lie, and columns from j on, whose depths lie `step` apart.
  void unpacked_tile(std::int64_t i, std::int64_t end, const Packed* panel, std::int64_t step, std::int64_t p,
                     std::int64_t depth, std::int64_t j, std::int64_t right) const {
    AnyTile<Packed, LeftOperand::kInMatrix>::multiply(a_.at(i, p).data, a_.line_step(), a_.depth_step(), panel, step,
                                                      depth, c_ + i * ldc_ + j, ldc_, p > 0, std::min(kRows, end - i),
                                                      std::min(kColumns, right - j));
  }

  // Where sums are kept: those from (row, column) of what is packed on, rows ld apart.
  struct Sums {
    Sum* memory;
    std::int64_t ld, row = 0, column = 0;
    Sum* at(std::int64_t i, std::int64_t j) const { return memory + (i - row) * ld + (j - column); }
  };

  // What is packed at once: some rows of a and columns of b, in parts along k.
  struct Packing {
    std::int64_t row, rows, column, columns, depth_begin, depth_end, part;
    Packed *a, *b;
    Sums sums;  // without memory: those of a block are done at once, wherever that is

    std::int64_t parts() const { return parts_of(depth_end - depth_begin, part); }
    std::int64_t depth(std::int64_t q) const { return std::min(part, depth_end - depth_begin - q * part); }
    const Packed* a_panel(std::int64_t q, std::int64_t i) const {
      return a +
             (q * Scheme::packed_depth(part) * step_up(rows, kRows) + i * Scheme::packed_depth(depth(q))) * kRowCopies;
    }
    const Packed* b_panel(std::int64_t q, std::int64_t j) const {
      return b + q * Scheme::packed_depth(part) * step_up(columns, kColumns) + j * Scheme::packed_depth(depth(q));
    }
  };

  // So few rows that what is computed with a part of the depth stays in the cache: tasks are columns, and each packs
  // some panels of b just before all rows meet them, into memory that stays in the cache too.
  bool flat(int threads) const {
    return m_ <= kFlatRows && n_ >= threads * kColumns && m_ * k_ <= kMaxLines * kFlatRows;
  }
  // Of a task: equal shares, two for each thread unless they would be narrow, and none so wide that its sums take much
  // memory.
  std::int64_t flat_columns(int threads) const {
    constexpr std::int64_t kWidest = kMaxLines / kColumns * kColumns;
    const std::int64_t half = parts_of(n_, 2 * threads);
    const std::int64_t share = threads > 1 && half >= 2 * kColumns ? half : parts_of(n_, threads);
    return std::clamp(step_up(share, Scheme::kColumnStep), kColumns, kWidest);
  }
  void run_flat(int threads) const {
    constexpr std::int64_t kStrip = kFlatPanels * kColumns;
    const std::int64_t part = equal_part(k_, Scheme::kDepth, Scheme::kDepthStep), depths = Scheme::packed_depth(part);
    Packed* a = shared_panels.get<Packed>(parts_of(k_, part) * depths * step_up(m_, kRows) * kRowCopies);
    const Packing at{0, m_, 0, n_, 0, k_, part, a, nullptr, {}};
    pack(threads, at);
    const std::int64_t columns = flat_columns(threads);
    run_tasks(threads, parts_of(n_, columns), [&](std::int64_t task) {
      [[maybe_unused]] const typename Scheme::Session session;
      Packed* panels = own_panels.get<Packed>(depths * kStrip);
      const std::int64_t first = task * columns, last = std::min(n_, first + columns);
      Sums sums{sums_in_c(0, 0), ldc_};
      if (!sums.memory && at.parts() > 1) sums = {sums_memory.get<Sum>(m_ * columns), columns, 0, first};
      for (std::int64_t q = 0; q < at.parts(); ++q) {
        for (std::int64_t column = first; column < last; column += kStrip) {
          const std::int64_t right = std::min(last, column + kStrip);
          pack_columns(column, right - column, q * part, at.depth(q), panels);
          for (std::int64_t j = column; j < right; j += kColumns) {
            const Packed* panel = panels + (j - column) * Scheme::packed_depth(at.depth(q));
            for (std::int64_t i = 0; i < m_; i += kRows) {
              multiply_tile(at, sums, at.a_panel(q, i), panel, at.depth(q), q > 0, i, std::min(kRows, m_ - i), j,
                            std::min(kColumns, right - j));
            }
          }
        }
      }
      if (sums.memory) store_sums(at, sums, 0, m_, first, last - first);
      finish_rows(0, m_, first, last - first);
    });
  }

  // With rows of a where they lie: threads need not wait for one another, nor fetch what another one packed.
  // Rows a page apart would drive each other out of the cache.
  bool reads_rows() const { return !a_.along || a_.step * static_cast<std::int64_t>(sizeof(T)) % 4096 != 0; }
  void run_direct(int threads, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t part = equal_part(k_, Scheme::kDepth, 1), across = parts_of(n_, columns);
    run_tasks(threads, parts_of(m_, rows) * across, [&](std::int64_t task) {
      Packed* panel = own_panels.get<Packed>(part * kColumns);
      const std::int64_t top = task / across * rows, bottom = std::min(m_, top + rows);
      const std::int64_t left = task % across * columns, right = std::min(n_, left + columns);
      for (std::int64_t p = 0; p < k_; p += part) {
        const std::int64_t depth = std::min(part, k_ - p);
        for (std::int64_t j = left; j < right; j += kColumns) {
          Scheme::pack_columns(b_.at(j, p), std::min(kColumns, right - j), depth, panel);
          for (std::int64_t i = top; i < bottom; i += kRows) {
            unpacked_tile(i, bottom, panel, kColumns, p, depth, j, right);
          }
        }
      }
      finish_rows(top, bottom - top, left, right - left);
    });
  }

  // Few sums of many products each, of operands whose parts along the depth are rows that follow each other: gradients
  // of weights. Tasks are parts of the depth, so that no two threads fetch the same rows. The shape alone says how
  // parts are cut and added up, so that sums have the same bits whoever computes them: those of each half one after the
  // other, then the halves.
  struct Depth {
    std::int64_t part, parts, half;  // how deep a part is; how many there are, and how many are half of them
  };
  std::optional<Depth> deep() const {
    if (a_.along || b_.along || k_ < std::max(m_, n_) || m_ * n_ * k_ < kSharedWork) return std::nullopt;
    const std::int64_t wanted = std::max(std::min(kDeepParts, k_ / kDeepPart), parts_of(k_, kDeepest));
    if (wanted < 2 || wanted * m_ * n_ * static_cast<std::int64_t>(sizeof(Sum)) > kDeepBytes) return std::nullopt;
    const std::int64_t part = parts_of(k_, wanted), parts = parts_of(k_, part);
    return Depth{part, parts, parts_of(parts, 2)};
  }
  void run_deep(int threads, const Depth& depth) const {
    // Few threads take half of the parts each, with the sums in one place. Many take a part and have its sums added up.
    const std::int64_t tiles = parts_of(m_, kRows) * parts_of(n_, kColumns);
    const bool halves = threads <= 2 || (threads % 2 == 0 && 2 * tiles >= threads * kDeepTiles);
    const std::int64_t together = halves ? depth.half : 1, places = parts_of(depth.parts, together);
    // More tasks than threads unless they would be narrow.
    const std::int64_t least = parts_of(threads, places), most = std::min(2 * least, n_ / (2 * kColumns));
    const std::int64_t columns = step_up(parts_of(n_, halves ? least : std::max(least, most)), Scheme::kColumnStep);
    const std::int64_t across = parts_of(n_, columns);
    Sum* memory = shared_panels.get<Sum>((places - 1) * m_ * n_);
    const auto sums_at = [&](std::int64_t q) { return q == 0 ? Sums{c_, ldc_} : Sums{memory + (q - 1) * m_ * n_, n_}; };
    run_tasks(threads, places * across, [&](std::int64_t task) {
      const std::int64_t place = task / across, column = task % across * columns,
                         right = std::min(n_, column + columns);
      const std::int64_t first = place * together * depth.part, end = std::min(k_, first + together * depth.part);
      for (std::int64_t p = first; p < end; p += depth.part) {
        multiply_deep(sums_at(place), p, std::min(depth.part, end - p), p > first, column, right);
      }
    });
    const std::int64_t second = halves ? 1 : depth.half, rows = parts_of(m_, threads == 1 ? 1 : 2 * threads);
    run_tasks(threads, parts_of(m_, rows), [&](std::int64_t task) {
      const std::int64_t row = task * rows, count = std::min(rows, m_ - row);
      const auto add = [&](std::int64_t place, std::int64_t to_place, std::int64_t i) {
        const Sum* from = sums_at(place).at(i, 0);
        Sum* __restrict to = sums_at(to_place).at(i, 0);
        for (std::int64_t j = 0; j < n_; ++j) to[j] += from[j];
      };
      for (std::int64_t i = row; i < row + count; ++i) {
        for (std::int64_t place = 1; place < second; ++place) add(place, 0, i);
        for (std::int64_t place = second + 1; place < places; ++place) add(place, second, i);
        if (second < places) add(second, 0, i);
      }
      finish_rows(row, count, 0, n_);
    });
  }
  // A part of the depth, all rows and some columns; `add`: to what was summed before. Rows of a lie side by side, and
  // the first tile of a panel of b packs it for those below.
  void multiply_deep(const Sums& sums, std::int64_t p, std::int64_t depth, bool add, std::int64_t first,
                     std::int64_t right) const {
    Packed* panel = own_panels.get<Packed>(depth * kColumns);
    for (std::int64_t j = first; j < right; j += kColumns) {
      const std::int64_t width = std::min(kColumns, right - j);
      std::int64_t i = 0;
      if (width == kColumns && m_ >= kRows) {
        const Operand<Packed> a = a_.at(0, p), b = b_.at(j, p);
        products::multiply_tile<Packed, kTileRows, kTileVectors, LeftOperand::kSideBySide, true, true>(
            a.data, 1, a.step, b.data, b.step, depth, sums.at(0, j), sums.ld, add, {}, panel);
        i = kRows;
      } else {
        Scheme::pack_columns(b_.at(j, p), width, depth, panel);
      }
      for (; i < m_; i += kRows) {
        const Packed* rows = a_.at(i, p).data;
        if (i + kRows <= m_) {
          AnyTile<Packed, LeftOperand::kSideBySide, true>::multiply(rows, 1, a_.step, panel, kColumns, depth,
                                                                    sums.at(i, j), sums.ld, add, kRows, width);
        } else {  // no more rows than there are may be read
          AnyTile<Packed, LeftOperand::kInMatrix, true>::multiply(rows, 1, a_.step, panel, kColumns, depth,
                                                                  sums.at(i, j), sums.ld, add, m_ - i, width);
        }
      }
    }
  }

  void run_packed(int threads, GemmCut cut) const {
    const std::int64_t rows = step_up(std::min(m_, kMaxLines), kRows),
                       columns = step_up(std::min(n_, kMaxLines), kColumns);
    const std::int64_t part = equal_part(k_, Scheme::kDepth, Scheme::kDepthStep);
    const std::int64_t line = Scheme::packed_depth(part) * static_cast<std::int64_t>(sizeof(Packed));
    const std::int64_t parts =
        std::clamp<std::int64_t>(kPackedBytes / ((rows * kRowCopies + columns) * line), 1, parts_of(k_, part));
    if (cut.threads != threads) cut = best_cut(parts_of(rows, kRows), parts_of(columns, kColumns), threads);
    // A task that has whole rows of c packs its rows of a, some at a time, just before they are used.
    const bool own_rows = cut.column_tiles * kColumns >= columns;
    const std::int64_t shared_rows = own_rows ? 0 : rows * kRowCopies;
    Packed* memory = shared_panels.get<Packed>(parts * Scheme::packed_depth(part) * (shared_rows + columns));
    const bool in_c = sums_in_c(0, 0) != nullptr, at_once = parts * part >= k_;
    const Sums sums{in_c || at_once ? nullptr : sums_memory.get<Sum>(rows * columns), columns};
    for (std::int64_t j = 0; j < n_; j += columns) {
      for (std::int64_t i = 0; i < m_; i += rows) {
        for (std::int64_t p = 0; p < k_; p += parts * part) {
          Packing packing{i,
                          std::min(rows, m_ - i),
                          j,
                          std::min(columns, n_ - j),
                          p,
                          std::min(k_, p + parts * part),
                          part,
                          own_rows ? nullptr : memory,
                          memory + parts * Scheme::packed_depth(part) * shared_rows,
                          in_c ? Sums{sums_in_c(i, j), ldc_} : sums};
          pack(threads, packing);
          multiply(threads, cut, packing);
        }
      }
    }
  }

  // By all threads, what there is memory for.
  void pack(int threads, const Packing& at) const {
    const std::int64_t row_panels = at.a ? parts_of(at.rows, kRows) : 0;
    const std::int64_t column_panels = at.b ? parts_of(at.columns, kColumns) : 0;
    const std::int64_t together = std::clamp<std::int64_t>((row_panels + column_panels) / (2 * threads), 1, 8);
    const std::int64_t row_items = parts_of(row_panels, together), column_items = parts_of(column_panels, together);
    run_tasks(threads, at.parts() * (row_items + column_items), [&](std::int64_t task) {
      const std::int64_t q = task / (row_items + column_items), item = task % (row_items + column_items);
      const std::int64_t depth = at.depth(q), first = at.depth_begin + q * at.part;
      if (item < row_items) {
        const std::int64_t i = item * together * kRows;
        pack_rows(at.row + i, std::min(together * kRows, at.rows - i), first, depth,
                  const_cast<Packed*>(at.a_panel(q, i)));
      } else {
        const std::int64_t j = (item - row_items) * together * kColumns;
        pack_columns(at.column + j, std::min(together * kColumns, at.columns - j), first, depth,
                     const_cast<Packed*>(at.b_panel(q, j)));
      }
    });
  }

  // Some rows of a, into memory of this thread, which holds as many parts as meet b together.
  const Packed* pack_block(const Packing& at, std::int64_t q, std::int64_t row, std::int64_t rows) const {
    const std::int64_t size = Scheme::packed_depth(at.part) * kRowBlock * kRowCopies;
    Packed* to = own_panels.get<Packed>(kTogether * size) + q % kTogether * size;
    pack_rows(at.row + row, rows, at.depth_begin + q * at.part, at.depth(q), to);
    return to;
  }
  void multiply(int threads, const GemmCut& cut, const Packing& at) const {
    const std::int64_t rows = cut.row_tiles * kRows, columns = cut.column_tiles * kColumns;
    const std::int64_t across = parts_of(at.columns, columns);
    run_tasks(threads, parts_of(at.rows, rows) * across, [&](std::int64_t task) {
      [[maybe_unused]] const typename Scheme::Session session;
      const std::int64_t row = task / across * rows, column = task % across * columns;
      const std::int64_t last = std::min(at.rows, row + rows), right = std::min(at.columns, column + columns);
      const std::int64_t block_rows = equal_part(last - row, kRowBlock, kRows);
      for (std::int64_t block = row; block < last; block += block_rows) {
        const std::int64_t end = std::min(last, block + block_rows);
        Sums sums = at.sums;
        // In memory of this thread, which stays in its cache: those of a panel of b where all parts meet it together.
        const bool own_sums = !sums.memory && at.parts() > 1, panel_sums = own_sums && at.parts() <= kTogether;
        if (own_sums) {
          const std::int64_t width = panel_sums ? kColumns : right - column;
          sums = {sums_memory.get<Sum>(kRowBlock * width), width, block, column};
        }
        for (std::int64_t first = 0; first < at.parts(); first += kTogether) {
          const std::int64_t next = std::min(at.parts(), first + kTogether);
          const Packed* a[kTogether];
          for (std::int64_t q = first; q < next; ++q) {
            a[q - first] = at.a ? at.a_panel(q, block) : pack_block(at, q, block, end - block);
          }
          for (std::int64_t j = column; j < right; j += kColumns) {
            if (panel_sums) sums.column = j;
            for (std::int64_t q = first; q < next; ++q) {
              const std::int64_t depth = Scheme::packed_depth(at.depth(q)) * kRowCopies;
              Ahead ahead = Ahead::of_panel(at.b_panel(q, j + kColumns < right ? j + kColumns : column), kColumns,
                                            parts_of(end - block, kRows));
              for (std::int64_t i = block; i < end; i += kRows) {
                if (sums.memory && !panel_sums) {
                  ahead.sums =
                      i + kRows < end ? sums.at(i + kRows, j) : sums.at(block, std::min(j + kColumns, right - 1));
                }
                multiply_tile(at, sums, a[q - first] + (i - block) * depth, at.b_panel(q, j), at.depth(q),
                              q > 0 || at.depth_begin > 0, i, std::min(kRows, end - i), j,
                              std::min(kColumns, right - j), ahead);
                ahead.pass(depth / kRowCopies);
              }
            }
            if (panel_sums) store_sums(at, sums, block, end - block, j, std::min(kColumns, right - j));
          }
        }
        if (at.depth_end < k_) continue;
        if (sums.memory && !panel_sums) store_sums(at, sums, block, end - block, column, right - column);
        finish_rows(at.row + block, end - block, at.column + column, right - column);
      }
    });
  }
  // One tile of c; where sums have no memory it is stored at once.
  void multiply_tile(const Packing& at, const Sums& sums, const Packed* a, const Packed* b, std::int64_t depth,
                     bool add, std::int64_t i, std::int64_t rows, std::int64_t j, std::int64_t columns,
                     Ahead ahead = {}) const {
    if (sums.memory) return Scheme::multiply(a, b, depth, sums.at(i, j), sums.ld, add, rows, columns, ahead);
    if constexpr (!std::is_same_v<T, Sum>) {
      Sum tile[kRows * kColumns];
      Scheme::multiply(a, b, depth, tile, kColumns, false, rows, columns, ahead);
      store_sums(at, {tile, kColumns, i, j}, i, rows, j, columns);
    }
  }
  // Rounds sums of a wider type than T.
  void store_sums([[maybe_unused]] const Packing& at, [[maybe_unused]] const Sums& sums,
                  [[maybe_unused]] std::int64_t row, [[maybe_unused]] std::int64_t rows,
                  [[maybe_unused]] std::int64_t column, [[maybe_unused]] std::int64_t columns) const {
    if constexpr (!std::is_same_v<T, Sum>) {
      for (std::int64_t i = row; i < row + rows; ++i) {
        Sum* from = sums.at(i, column);
        if (wide_c_) {
          for (std::int64_t j = 0; j < columns; ++j) from[j] = static_cast<float>(T(from[j]));
          continue;
        }
        round_sums(from, columns, c_ + (at.row + i) * ldc_ + at.column + column);
      }
    }
  }

  std::int64_t m_, n_, k_;
  Operand<T> a_, b_;
  Operand<float> wide_a_, wide_b_;  // instead of a_ and b_ where they have data
  T* c_;
  float* wide_c_;  // instead of c_ unless it is null
  std::int64_t ldc_;
  GemmFinish<T> finish_;
};

// Integers wrap around as C++'s unsigned ones do.
template <class T>
void integer_rows(const GemmShape& s, std::int64_t first, std::int64_t last, const T* a, const T* b, T* c) {
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t p = 0; p < s.k; ++p) {
        sum += static_cast<std::uint64_t>(s.transpose_a ? a[p * s.m + i] : a[i * s.k + p]) *
               static_cast<std::uint64_t>(s.transpose_b ? b[j * s.k + p] : b[p * s.n + j]);
      }
      c[i * s.n + j] = static_cast<T>(sum);
    }
  }
}

template <class T>
void run_product(const GemmShape& s, const void* left, const void* right, void* result, const GemmFinish<T>& finish,
                 int threads, const GemmCut& cut) {
  if constexpr (std::is_integral_v<T>) {
    const T *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
    T* c = static_cast<T*>(result);
    const std::int64_t rows = std::max<std::int64_t>(1, parts_of(s.m, 4 * threads));
    run_tasks(threads, parts_of(s.m, rows), [&](std::int64_t task) {
      const std::int64_t first = task * rows, last = std::min(s.m, first + rows);
      integer_rows(s, first, last, a, b, c);
      if (!finish.epilogue || !*finish.epilogue) return;
      for (std::int64_t i = first; i < last; ++i) (*finish.epilogue)(c + i * s.n, finish.bias, s.n);
    });
  } else {
    const std::int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
    Product<T>(s, left, lda, right, ldb, result, s.n, finish).run(threads, cut);
  }
}

}  // namespace
}  // namespace cohort::products

namespace cohort {

template <class T>
Gemm<T>::Gemm(const GemmShape& shape)
    : shape_(shape),
      shared_(shape.m * shape.n * shape.k >= products::kSharedWork ||
              shape.m * shape.k + shape.k * shape.n + shape.m * shape.n >= products::kSharedElements) {
  if constexpr (!std::is_integral_v<T>) {
    if (!shared_) return;
    using Scheme = typename products::SchemeOf<T>::Type;
    cut_ = products::best_cut(products::parts_of(std::min(shape.m, products::kMaxLines), Scheme::kRows),
                              products::parts_of(std::min(shape.n, products::kMaxLines), Scheme::kColumns),
                              ThreadPool::instance().threads());
  }
}

template <class T>
std::int64_t Gemm<T>::products_per_task() const {
  const std::int64_t work = std::max<std::int64_t>(1, shape_.m * shape_.n * shape_.k);
  return std::max<std::int64_t>(1, products::kTaskWork / work);
}

template <class T>
void Gemm<T>::run(const void* a, const void* b, void* c, const GemmFinish<T>& finish) const {
  if (!shared_) return run_here(a, b, c, finish);
  products::run_product(shape_, a, b, c, finish, ThreadPool::instance().threads(), cut_);
}

template <class T>
void Gemm<T>::run_here(const void* a, const void* b, void* c, const GemmFinish<T>& finish) const {
  products::run_product(shape_, a, b, c, finish, 1, products::kUncut);
}

template <class T>
void strided_gemm(const GemmShape& shape, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                  std::int64_t ldc) {
  products::Product<T>(shape, a, lda, b, ldb, c, ldc, {}).run(1, products::kUncut);
}
template void strided_gemm(const GemmShape&, const float*, std::int64_t, const float*, std::int64_t, float*,
                           std::int64_t);
template void strided_gemm(const GemmShape&, const double*, std::int64_t, const double*, std::int64_t, double*,
                           std::int64_t);

template class Gemm<float>;
template class Gemm<double>;
template class Gemm<Half>;
template class Gemm<BFloat16>;
template class Gemm<std::uint8_t>;
template class Gemm<std::int8_t>;
template class Gemm<std::int32_t>;
template class Gemm<std::int64_t>;

}  // namespace cohort
