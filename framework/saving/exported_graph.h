#pragma once

#include <memory>
#include <string>

#include "cohort/data/element.h"
#include "cohort/model/model.h"

namespace cohort {

// What Model::export_graph wrote: the graph of predict_step with its weights, which runs without the model's classes.
// Thread-safe.
class ExportedModel {
 public:
  // What serve() takes, the batch unknown.
  const ElementSpec& input_signature() const;
  // Name of the model that was exported.
  const std::string& name() const;
  // The outputs for one batch; bit for bit those of the model's predict_on_batch.
  Element serve_element(const Element& inputs) const;
  // The same for a model of one output.
  Tensor serve(const TensorArgument& inputs) const;

 private:
  struct State;
  explicit ExportedModel(std::shared_ptr<const State> state);
  friend ExportedModel load_exported(const std::string& path);
  std::shared_ptr<const State> state_;
};

// Reads an exported graph; every byte is checked before it is believed.
ExportedModel load_exported(const std::string& path);
// Writes one; Model::export_graph("x.graph") calls this. Whole or not at all.
void export_model(Model& model, const std::string& path, const ExportOptions& options = {});

namespace models {
using cohort::load_exported;
}

}  // namespace cohort
