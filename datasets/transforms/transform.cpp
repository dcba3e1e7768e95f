#include "cohort/datasets/transforms/transform.h"

namespace cohort::datasets {

DatasetTransform make_transform(std::string kind, Attributes attributes) {
  return [kind = std::move(kind), attributes = std::move(attributes)](const Dataset& input) {
    return Dataset::make(kind, {input}, attributes);
  };
}

TransformStage::TransformStage(const char* who, const std::vector<Dataset>& inputs) {
  if (inputs.size() != 1) throw invalid_argument(who, "one input dataset is expected", {{"inputs", inputs.size()}});
  input_ = inputs[0];
}

void TransformIterator::write_input_state(std::string& state) const {
  constexpr std::size_t kUsual = 256, kDigits = 64;
  state.reserve(kUsual);
  state.clear();
  StateWriter writer(state);
  input_->save_to(writer);
  if (state.capacity() - state.size() < kDigits) state.reserve(2 * state.size());
}

void TransformIterator::restore_input(std::string_view state) {
  StateReader reader(state);
  input_->restore_from(reader);
  reader.finish();
}

void TransformIterator::pass_over(std::uint64_t count) {
  if (skip(count) < count) {
    throw invalid_argument("Iterator.restore", "a position inside the dataset is expected",
                           {{"elements to go", count}});
  }
}

// What shares its memory with others (rows in memory, a cache) will do so again.
Tensors room_for(const Tensors& element) {
  Tensors room;
  room.reserve(element.size());
  for (const Tensor& leaf : element) {
    const bool own = is_plain(leaf.dtype()) && leaf.owns_memory();
    room.push_back(own ? Tensor::empty(leaf.dtype(), leaf.shape(), leaf.device())
                       : Tensor::over(leaf.dtype(), leaf.shape(), nullptr));
  }
  return room;
}

}  // namespace cohort::datasets
