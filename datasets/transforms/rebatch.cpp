#include "cohort/datasets/transforms/rebatch.h"

#include <algorithm>
#include <cstring>

#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/transforms/rows_of_batches.h"

namespace cohort::datasets {
namespace {

constexpr const char* kRebatch = "Dataset.rebatch";

// Rows of one batch of the input: of one that is kept here, or of the one that the iterator stands in.
struct Piece {
  Tensors kept;
  const Tensors* current = nullptr;
  std::uint64_t first = 0, rows = 0;

  const Tensors& batch() const { return current ? *current : kept; }
  bool is_whole() const { return !current && static_cast<std::int64_t>(rows) == kept[0].shape()[0]; }
};

// Pieces that follow one another, of which the first `size` are in use; the rest keep their memory for later ones.
class Pieces {
 public:
  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  Piece& add() {
    if (size_ == items_.size()) items_.emplace_back();
    return items_[size_++];
  }
  Piece& front() { return items_[0]; }
  // Copies them, one behind the other.
  void join(Tensors& element) {
    element.resize(items_[0].batch().size());
    for (std::size_t leaf = 0; leaf < element.size(); ++leaf) join_leaf(leaf, element[leaf]);
  }

 private:
  void join_leaf(std::size_t leaf, Tensor& joined) {
    const Tensor& first = items_[0].batch()[leaf];
    Shape shape = first.shape();
    shape[0] = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      check_alike(first, items_[i].batch()[leaf]);
      shape[0] += static_cast<std::int64_t>(items_[i].rows);
    }
    const auto width = static_cast<std::size_t>(shape.slice(1).num_elements());
    if (first.dtype() == DType::String) {
      joined = Tensor::of_strings(strings_of(leaf, width), shape);
      return;
    }
    joined.renew(first.dtype(), shape, cpu());
    const std::size_t row_bytes = width * size_of(first.dtype());
    if (row_bytes == 0) return;
    auto* target = static_cast<char*>(joined.raw());
    for (std::size_t i = 0; i < size_; ++i) {
      const Piece& piece = items_[i];
      const std::size_t bytes = static_cast<std::size_t>(piece.rows) * row_bytes;
      std::memcpy(target, static_cast<const char*>(piece.batch()[leaf].raw()) + piece.first * row_bytes, bytes);
      target += bytes;
    }
  }
  std::vector<std::string> strings_of(std::size_t leaf, std::size_t width) const {
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < size_; ++i) {
      const auto* begin = static_cast<const std::string*>(items_[i].batch()[leaf].raw()) + items_[i].first * width;
      strings.insert(strings.end(), begin, begin + items_[i].rows * width);
    }
    return strings;
  }
  static void check_alike(const Tensor& first, const Tensor& other) {
    if (first.dtype() == other.dtype() && first.shape().slice(1) == other.shape().slice(1)) return;
    throw invalid_argument(kRebatch, "all rows of a batch must have the same shape",
                           {{"first", first.spec()}, {"other", other.spec()}}, "Pad or resize them in a map before.");
  }

  std::vector<Piece> items_;
  std::size_t size_ = 0;
};

// Sizes of batches that take turns.
class Turns {
 public:
  explicit Turns(const std::vector<std::int64_t>& sizes) {
    if (sizes.size() == 1 && sizes[0] < 1) {
      throw invalid_argument(kRebatch, "a batch of at least one row is expected", {{"batch_size", sizes[0]}});
    }
    for (const std::int64_t size : sizes) {
      if (size < 0 || size > INT64_MAX - static_cast<std::int64_t>(sum_)) {
        throw invalid_argument(kRebatch, "batches of 0 rows or more are expected", {{"batch_size", size}});
      }
      sizes_.push_back(static_cast<std::uint64_t>(size));
      sum_ += sizes_.back();
    }
    if (sum_ == 0) {
      throw invalid_argument(kRebatch, "a batch of at least one row is expected", {{"batch_sizes.size", sizes.size()}});
    }
  }
  std::size_t count() const { return sizes_.size(); }
  std::uint64_t size(std::size_t turn) const { return sizes_[turn]; }
  std::size_t after(std::size_t turn, std::uint64_t batches) const {
    return static_cast<std::size_t>((turn + batches % sizes_.size()) % sizes_.size());
  }
  // All of one size, for shapes; 0 where they are not.
  std::uint64_t only_size() const {
    return std::all_of(sizes_.begin(), sizes_.end(), [&](std::uint64_t each) { return each == sizes_[0]; }) ? sizes_[0]
                                                                                                            : 0;
  }
  // Rows of so many batches, or the largest number.
  std::uint64_t rows_of(std::uint64_t batches, std::size_t turn) const {
    const std::uint64_t rounds = batches / sizes_.size();
    if (rounds >= (UINT64_MAX - sum_) / sum_) return UINT64_MAX;
    std::uint64_t rows = rounds * sum_;
    for (std::uint64_t left = batches % sizes_.size(); left > 0; --left, turn = after(turn, 1)) rows += sizes_[turn];
    return rows;
  }
  // Batches that so many rows are cut into, from one's turn on. An empty batch is one only before a row.
  std::uint64_t batches_of(std::uint64_t rows, std::size_t turn, bool drop_remainder) const {
    if (rows == 0) return 0;
    const std::uint64_t rounds = (rows - 1) / sum_;
    std::uint64_t left = rows - rounds * sum_, batches = rounds * sizes_.size();
    for (; left > 0; turn = after(turn, 1)) {
      if (sizes_[turn] > left) return batches + (drop_remainder ? 0 : 1);
      left -= sizes_[turn];
      ++batches;
    }
    return batches;
  }

 private:
  std::vector<std::uint64_t> sizes_;
  std::uint64_t sum_ = 0;
};

class RebatchIterator : public RowsOfBatches {
 public:
  RebatchIterator(std::unique_ptr<DatasetIterator> input, std::int64_t rows_of_each, Turns turns, bool drop_remainder)
      : RowsOfBatches(kRebatch, std::move(input), rows_of_each),
        turns_(std::move(turns)),
        drop_remainder_(drop_remainder) {}

  bool next(Tensors& element) override {
    if (!load(element)) return false;
    key_ = row_key();
    size_ = turns_.size(turn_);
    turn_ = turns_.after(turn_, 1);
    if (!error() && rows_left() >= size_) {
      give_part(element);
      return true;
    }
    std::exception_ptr error = size_ == 0 ? this->error() : nullptr;
    const std::uint64_t rows = collect(error);
    if (rows < size_ && drop_remainder_) return false;
    if (error) std::rethrow_exception(error);
    give_pieces(element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    const std::uint64_t rows = turns_.rows_of(count, turn_), passed = pass_rows(rows);
    std::uint64_t batches = std::min(count, turns_.batches_of(passed, turn_, drop_remainder_));
    // Those without rows behind the last row that was passed are there if another row is.
    if (passed == rows && batches < count && load()) batches = count;
    turn_ = turns_.after(turn_, batches);
    return batches;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    turn_ = 0;
    RowsOfBatches::rewind();
  }
  void save_to(StateWriter& state) const override {
    state.stage('r');
    state.number(turn_);
    RowsOfBatches::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('r');
    const std::uint64_t turn = state.number();
    if (turn >= turns_.count()) {
      throw invalid_argument("Iterator.restore", "a position inside the dataset is expected", {{"turn", turn}});
    }
    turn_ = static_cast<std::size_t>(turn);
    RowsOfBatches::restore_from(state);
  }

 private:
  // Its rows lie in one batch: they are shared, and of a whole batch even the tensors are given away.
  void give_part(Tensors& element) {
    if (row() == 0 && rows_left() == size_) {
      element.swap(batch());
    } else {
      share(batch(), row(), size_, element);
    }
    advance(size_);
  }

  // The rows of the next batch, one piece from each batch of the input; how many there are. Of one that fails all rows
  // are passed, so that the batches behind it are what they would be without the error.
  std::uint64_t collect(std::exception_ptr& error) {
    pieces_.clear();
    std::uint64_t rows = 0;
    while (rows < size_ && load()) {
      const std::uint64_t taken = std::min(size_ - rows, rows_left());
      if (this->error()) {
        if (!error) error = this->error();
      } else {
        add_piece(taken);
      }
      advance(taken);
      rows += taken;
    }
    return rows;
  }
  void add_piece(std::uint64_t rows) {
    Piece& piece = pieces_.add();
    piece.first = row();
    piece.rows = rows;
    piece.current = rows < rows_left() ? &batch() : nullptr;
    if (!piece.current) piece.kept.swap(batch());
  }

  void give_pieces(Tensors& element) {
    Piece& first = pieces_.front();
    if (pieces_.size() == 1 && first.is_whole()) {
      element.swap(first.kept);
    } else if (pieces_.size() == 1) {
      share(first.batch(), first.first, first.rows, element);
    } else {
      if (!has_memory(element)) {
        element.swap(spare_);
        let_go(spare_);
      }
      pieces_.join(element);
    }
  }

  // Shared rows and copied ones take turns: the memory of copies is put aside meanwhile.
  void share(const Tensors& batch, std::uint64_t first, std::uint64_t rows, Tensors& element) {
    if (has_memory(element) && !has_memory(spare_)) element.swap(spare_);
    rows_of(batch, static_cast<std::int64_t>(first), static_cast<std::int64_t>(rows), element);
  }
  static bool has_memory(const Tensors& element) {
    return !element.empty() && std::all_of(element.begin(), element.end(),
                                           [](const Tensor& leaf) { return leaf.defined() && leaf.owns_memory(); });
  }

  Turns turns_;
  bool drop_remainder_;
  std::size_t turn_ = 0;
  std::uint64_t size_ = 0;  // of the batch that is made
  Pieces pieces_;
  Tensors spare_;
  std::optional<ElementKey> key_;
};

class RebatchStage : public TransformStage {
 public:
  RebatchStage(const std::vector<Dataset>& inputs, const std::vector<std::int64_t>& batch_sizes, bool drop_remainder)
      : TransformStage(kRebatch, inputs),
        rows_of_each_(rows_of_each_batch(kRebatch, input().element_spec())),
        turns_(batch_sizes),
        drop_remainder_(drop_remainder) {
    const bool fixed = drop_remainder && turns_.only_size() > 0;
    spec_ = input().element_spec().map([&](const TensorSpec& leaf) {
      TensorSpec batch = leaf;
      batch.shape[0] = fixed ? static_cast<std::int64_t>(turns_.only_size()) : kUnknown;
      return batch;
    });
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    const std::int64_t rows = rows_of_all_batches(input(), rows_of_each_);
    if (rows < 0) return rows;
    return static_cast<std::int64_t>(turns_.batches_of(static_cast<std::uint64_t>(rows), 0, drop_remainder_));
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<RebatchIterator>(input().make_iterator(), rows_of_each_, turns_, drop_remainder_);
  }

 private:
  std::int64_t rows_of_each_;
  Turns turns_;
  bool drop_remainder_;
  ElementSpec spec_;
};

std::vector<std::int64_t> batch_sizes_of(const Attributes& attributes) {
  if (attributes.has("batch_sizes")) return attributes.get<std::vector<std::int64_t>>("batch_sizes");
  return {attributes.get<std::int64_t>("batch_size")};
}

COHORT_DATASET("rebatch", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<RebatchStage>(inputs, batch_sizes_of(attributes),
                                        attributes.get<bool>("drop_remainder", false));
});

}  // namespace

DatasetTransform rebatch(std::int64_t batch_size, BatchOptions options) {
  return make_transform("rebatch", {{"batch_size", batch_size}, {"drop_remainder", options.drop_remainder}});
}

DatasetTransform rebatch(std::vector<std::int64_t> batch_sizes, BatchOptions options) {
  return make_transform("rebatch",
                        {{"batch_sizes", std::move(batch_sizes)}, {"drop_remainder", options.drop_remainder}});
}

}  // namespace cohort::datasets
