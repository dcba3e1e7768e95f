#include "cohort/datasets/transforms/joined_inputs.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cohort::datasets {
namespace {

constexpr std::size_t kPlacesAtATime = 64, kUsualLeaves = 8;

bool are_rows_of(const Tensors& columns, const Specs& specs) {
  return std::equal(columns.begin(), columns.end(), specs.begin(), specs.end(),
                    [](const Tensor& column, const TensorSpec& row) {
                      return column.dtype() == row.dtype && column.shape().slice(1) == row.shape;
                    });
}

// `leaves` is the memory of the first of these rows.
void copy_rows(const Tensors& columns, std::span<const ElementPlace> places, std::span<const RowMemory> leaves) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t bytes = leaves[i].row_bytes;
    if (bytes == 0) continue;
    const auto* source = static_cast<const char*>(columns[i].raw());
    char* target = leaves[i].first;
    for (const ElementPlace& place : places) {
      std::memcpy(target, source + static_cast<std::size_t>(place.position) * bytes, bytes);
      target += bytes;
    }
  }
}

}  // namespace

std::optional<ElementSpec> common_spec(const ElementSpec& first, const ElementSpec& second) {
  if (!first.same_structure(second)) return std::nullopt;
  Specs leaves = first.flatten();
  const Specs others = second.flatten();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    Shape& shape = leaves[i].shape;
    if (leaves[i].dtype != others[i].dtype || shape.rank() != others[i].shape.rank()) return std::nullopt;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] != others[i].shape[axis]) shape[axis] = kUnknown;
    }
  }
  return first.with_leaves(leaves);
}

bool all_indexed(const std::vector<Dataset>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [](const Dataset& input) { return input.stage().is_indexed(); });
}

std::vector<std::unique_ptr<IndexedElements>> indexed_parts(const std::vector<Dataset>& inputs) {
  std::vector<std::unique_ptr<IndexedElements>> parts;
  for (const Dataset& input : inputs) parts.push_back(input.stage().indexed());
  return parts;
}

std::vector<std::unique_ptr<DatasetIterator>> iterators_of(const std::vector<Dataset>& inputs) {
  std::vector<std::unique_ptr<DatasetIterator>> iterators;
  for (const Dataset& input : inputs) iterators.push_back(input.make_iterator());
  return iterators;
}

void JoinedIterator::rewind() {
  for (const auto& input : inputs_) input->rewind();
}

void JoinedIterator::save_to(StateWriter& state) const {
  for (const auto& input : inputs_) input->save_to(state);
}

void JoinedIterator::restore_from(StateReader& state) {
  for (const auto& input : inputs_) input->restore_from(state);
}

bool JoinedElements::blocks() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->blocks(); });
}

std::size_t JoinedElements::parallel_reads() const {
  std::size_t fewest = 0;
  for (const auto& part : parts_) {
    const std::size_t allowed = part->resolve({}).parallel_reads();
    if (allowed > 0) fewest = fewest == 0 ? allowed : std::min(fewest, allowed);
  }
  return fewest;
}

void JoinedElements::save_to(StateWriter& state) const {
  for (const auto& part : parts_) part->save_to(state);
}

void JoinedElements::restore_from(StateReader& state) {
  for (const auto& part : parts_) part->restore_from(state);
}

ElementKey JoinedElements::key_in(const IndexedElements& part, ElementPlace place) {
  return part.resolve({&place, 1}).key(place);
}

void JoinedElements::read_from(const IndexedElements& part, ElementPlace place, Tensors& element) {
  part.resolve({&place, 1}).read(place, element);
}

void JoinedElements::read_rows_from(const IndexedElements& part, std::uint64_t first,
                                    std::span<const ElementPlace> places, std::span<const RowMemory> leaves,
                                    std::size_t row, const Specs& specs) {
  std::array<ElementPlace, kPlacesAtATime> room;
  std::array<RowMemory, kUsualLeaves> few;
  std::vector<RowMemory> many(leaves.size() > few.size() ? leaves.size() : 0);
  const std::span<RowMemory> memory = many.empty() ? std::span(few).first(leaves.size()) : std::span(many);
  for (std::size_t done = 0; done < places.size(); done += kPlacesAtATime) {
    const std::span<ElementPlace> some = std::span(room).first(std::min(kPlacesAtATime, places.size() - done));
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i] = {places[done + i].pass, places[done + i].position - first};
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      memory[i] = {leaves[i].first + (row + done) * leaves[i].row_bytes, leaves[i].row_bytes};
    }
    const IndexedElements& holder = part.resolve(some);
    const Tensors* columns = holder.columns();
    if (columns && are_rows_of(*columns, specs)) {
      copy_rows(*columns, some, memory);
    } else {
      holder.read_rows(some, memory, specs);
    }
  }
}

}  // namespace cohort::datasets
