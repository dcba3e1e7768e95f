#pragma once

#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/layers/recurrent/rnn_cell.h"

namespace cohort::layers {

class StackedRNNCellsLayer : public RnnCell {
 public:
  StackedRNNCellsLayer() = default;
  explicit StackedRNNCellsLayer(std::vector<Ref<RnnCell>> cells, const NameOption& options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  std::vector<Shape> state_shapes() const override;
  Shape output_shape() const override { return cells_.back()->output_shape(); }
  Step prepare(const Tensor& input, const CallContext& context) override;

 private:
  std::vector<Ref<RnnCell>> cells_;
};

// Cells one above the other that act as one cell: each takes the output of the one below.
// Input (batch, ...) and the states of all cells, lowest first; output (batch, ...) of the last cell.
//   cells: the cells from the lowest to the highest, at least one.
struct StackedRNNCells : CellHandle<StackedRNNCellsLayer> {
  explicit StackedRNNCells(std::vector<Ref<RnnCell>> cells, NameOption options = {});
};

}  // namespace cohort::layers
