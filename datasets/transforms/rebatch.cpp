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

class RebatchIterator : public RowsOfBatches {
 public:
  RebatchIterator(std::unique_ptr<DatasetIterator> input, std::int64_t rows_of_each, std::uint64_t size,
                  bool drop_remainder)
      : RowsOfBatches(kRebatch, std::move(input), rows_of_each), size_(size), drop_remainder_(drop_remainder) {}

  bool next(Tensors& element) override {
    if (!load(element)) return false;
    key_ = row_key();
    if (!error() && rows_left() >= size_) {
      give_part(element);
      return true;
    }
    std::exception_ptr error;
    const std::uint64_t rows = collect(error);
    if (rows < size_ && drop_remainder_) return false;
    if (error) std::rethrow_exception(error);
    give_pieces(element);
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    const std::uint64_t passed = pass_rows(count > UINT64_MAX / size_ ? UINT64_MAX : count * size_);
    return passed / size_ + (drop_remainder_ || passed % size_ == 0 ? 0 : 1);
  }
  std::optional<ElementKey> key() const override { return key_; }
  void save_to(StateWriter& state) const override {
    state.stage('r');
    RowsOfBatches::save_to(state);
  }
  void restore_from(StateReader& state) override {
    state.stage('r');
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

  std::uint64_t size_;
  bool drop_remainder_;
  Pieces pieces_;
  Tensors spare_;
  std::optional<ElementKey> key_;
};

class RebatchStage : public TransformStage {
 public:
  RebatchStage(const std::vector<Dataset>& inputs, std::int64_t batch_size, bool drop_remainder)
      : TransformStage(kRebatch, inputs),
        rows_of_each_(rows_of_each_batch(kRebatch, input().element_spec())),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {
    if (batch_size < 1) {
      throw invalid_argument(kRebatch, "a batch of at least one row is expected", {{"batch_size", batch_size}});
    }
    spec_ = input().element_spec().map([&](const TensorSpec& leaf) {
      TensorSpec batch = leaf;
      batch.shape[0] = drop_remainder ? batch_size : kUnknown;
      return batch;
    });
  }
  const ElementSpec& element_spec() const override { return spec_; }
  std::int64_t cardinality() const override {
    const std::int64_t rows = rows_of_all_batches(input(), rows_of_each_);
    if (rows < 0) return rows;
    return rows / batch_size_ + (!drop_remainder_ && rows % batch_size_ != 0 ? 1 : 0);
  }
  std::unique_ptr<DatasetIterator> iterator() const override {
    return std::make_unique<RebatchIterator>(input().make_iterator(), rows_of_each_,
                                             static_cast<std::uint64_t>(batch_size_), drop_remainder_);
  }

 private:
  std::int64_t rows_of_each_, batch_size_;
  bool drop_remainder_;
  ElementSpec spec_;
};

COHORT_DATASET("rebatch", [](const std::vector<Dataset>& inputs, const Attributes& attributes) {
  return std::make_shared<RebatchStage>(inputs, attributes.get<std::int64_t>("batch_size"),
                                        attributes.get<bool>("drop_remainder", false));
});

}  // namespace

DatasetTransform rebatch(std::int64_t batch_size, BatchOptions options) {
  return make_transform("rebatch", {{"batch_size", batch_size}, {"drop_remainder", options.drop_remainder}});
}

}  // namespace cohort::datasets
