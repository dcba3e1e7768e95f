#pragma once

#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/layers/recurrent/rnn_cell.h"

namespace cohort::layers {

// Cells one above the other as one cell: each takes the output of the one before; the states are those of all of them.
class StackedRNNCellsLayer : public RnnCell {
 public:
  StackedRNNCellsLayer() = default;
  explicit StackedRNNCellsLayer(std::vector<Ref<RnnCell>> cells, const NameOption& options = {});
  std::string class_name() const override { return "StackedRNNCells"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  std::vector<Shape> state_shapes() const override;
  Shape output_shape() const override { return cells_.back()->output_shape(); }
  Step prepare(const Tensor& input, const CallContext& context) override;

 private:
  std::vector<Ref<RnnCell>> cells_;
};

struct StackedRNNCells : CellHandle<StackedRNNCellsLayer> {
  explicit StackedRNNCells(std::vector<Ref<RnnCell>> cells, NameOption options = {})
      : CellHandle<StackedRNNCellsLayer>(std::make_shared<StackedRNNCellsLayer>(std::move(cells), options)) {}
};

}  // namespace cohort::layers
