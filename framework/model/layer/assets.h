#pragma once

#include <map>
#include <string>

#include "cohort/core/tensor.h"

namespace cohort {

// State of a layer that is no weight: small files, and values that a weights file holds under names. Keys are paths
// below the layer's own ("vocabulary.txt", "vars/idf_weights").
struct LayerAssets {
  // Contents of files by their paths.
  std::map<std::string, std::string> files;
  // Values of a weights file by their paths.
  std::map<std::string, Tensor> values;
};

// A layer with such state (vocabularies): Keras keeps it beside the weights of a .keras file.
class HasAssets {
 public:
  virtual ~HasAssets() = default;
  // Empty where the config says it all.
  virtual LayerAssets assets() const = 0;
  // Takes over what a file holds below the layer's path; throws for what it cannot be.
  virtual void restore_assets(const LayerAssets& assets) = 0;
};

}  // namespace cohort
