#include "cohort/layers/recurrent/stacked_rnn_cells.h"

#include <map>

#include "cohort/layers/layer_checks.h"

namespace cohort::layers {

StackedRNNCellsLayer::StackedRNNCellsLayer(std::vector<Ref<RnnCell>> cells, const NameOption& options)
    : cells_(std::move(cells)) {
  take_options(options);
  StackedRNNCellsLayer::fields_changed();
}

void StackedRNNCellsLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("cells", cells_);
}

void StackedRNNCellsLayer::fields_changed() {
  if (cells_.empty()) throw invalid_argument(class_name(), "at least one cell is expected", {{"cells", "[]"}});
  while (!sublayers().empty()) untrack_last_layer();
  std::map<std::string, int> counts;
  for (const Ref<RnnCell>& cell : cells_) {
    if (!cell) throw invalid_argument(class_name(), "every cell must be given", {{"cell", "none"}});
    // Files know members of a list by their class, counted.
    std::string name = snake_case_name(cell->class_name());
    if (const int count = counts[name]++; count > 0) name += "_" + std::to_string(count);
    track_layer("cells/" + name, cell);
  }
}

void StackedRNNCellsLayer::build(const Shape& input) {
  Shape below = input;
  for (const Ref<RnnCell>& cell : cells_) {
    build_inside(*this, *cell, below);
    below = Shape{input[0]};
    for (std::int64_t size : cell->output_shape()) below.push_back(size);
  }
}

std::vector<Shape> StackedRNNCellsLayer::state_shapes() const {
  std::vector<Shape> shapes;
  for (const Ref<RnnCell>& cell : cells_) {
    for (Shape& shape : cell->state_shapes()) shapes.push_back(std::move(shape));
  }
  return shapes;
}

RnnCell::Step StackedRNNCellsLayer::prepare(const Tensor& input, const CallContext& context) {
  struct Level {
    Step step;
    std::ptrdiff_t states;
  };
  std::vector<Level> levels;
  Tensor below = input;
  for (const Ref<RnnCell>& cell : cells_) {
    levels.push_back({cell->prepare(below, context), static_cast<std::ptrdiff_t>(cell->state_shapes().size())});
    below = batch_zeros(input, cell->output_shape(), cell->compute_dtype());
  }
  return [levels](const Tensor& x, const Tensors& states) {
    StepResult all{x, {}};
    auto first = states.begin();
    for (const Level& level : levels) {
      StepResult one = level.step(all.output, {first, first + level.states});
      first += level.states;
      all.output = one.output;
      all.states.insert(all.states.end(), one.states.begin(), one.states.end());
    }
    return all;
  };
}

COHORT_REGISTER(Layer, StackedRNNCellsLayer, "StackedRNNCells");

StackedRNNCells::StackedRNNCells(std::vector<Ref<RnnCell>> cells, NameOption options)
    : CellHandle<StackedRNNCellsLayer>(std::make_shared<StackedRNNCellsLayer>(std::move(cells), options)) {}

}  // namespace cohort::layers
