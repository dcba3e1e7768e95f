#include "cohort/datasets/sources/source.h"

#include "cohort/datasets/sources/rows.h"

namespace cohort::datasets {
namespace {

class RowsOfColumns : public IndexedElements {
 public:
  RowsOfColumns(std::shared_ptr<const SourceColumns> columns, std::uint64_t count)
      : columns_(std::move(columns)), count_(count) {}

  std::uint64_t count() const override { return count_; }
  ElementKey key(ElementPlace place) const override { return {place.pass, place.position}; }
  const Tensors* columns() const override { return &columns_->get(); }
  void read(ElementPlace place, Tensors& element) const override {
    row_of(columns_->get(), static_cast<std::int64_t>(place.position), element);
  }

 private:
  std::shared_ptr<const SourceColumns> columns_;
  std::uint64_t count_;
};

}  // namespace

void check_no_inputs(const char* who, const std::vector<Dataset>& inputs) {
  if (!inputs.empty()) throw invalid_argument(who, "a source has no inputs", {{"inputs", inputs.size()}});
}

std::unique_ptr<IndexedElements> rows_by_number(std::shared_ptr<const SourceColumns> columns, std::uint64_t count) {
  return std::make_unique<RowsOfColumns>(std::move(columns), count);
}

}  // namespace cohort::datasets
