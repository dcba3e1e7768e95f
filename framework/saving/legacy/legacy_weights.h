#pragma once

#include <string>
#include <vector>

#include "cohort/model/model.h"
#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort {

// A model's weights below `group` ("" is the root) as a legacy .h5 file holds them: a group for each layer with the
// attribute weight_names, the layers' names in layer_names.
void write_legacy_weights(const Model& model, Hdf5File& file, const std::string& group);
// Reads them back, layer after layer in the file's order or by name; everything is checked before a weight changes.
void read_legacy_weights(Model& model, const Hdf5File& file, const std::string& group,
                         const LoadWeightsOptions& options);

// The optimizer's state in `optimizer_weights`. One that does not fit leaves the optimizer as it is, with a warning.
void write_legacy_optimizer(const Optimizer& optimizer, Hdf5File& file);
void read_legacy_optimizer(Model& model, const Hdf5File& file);

// A list of names as one attribute, or, where HDF5 has no room for so long a one, as several: name0, name1, ...
void write_names(Hdf5File& file, const std::string& group, const std::string& name,
                 const std::vector<std::string>& values);
std::vector<std::string> read_names(const Hdf5File& file, const std::string& group, const std::string& name);

}  // namespace cohort
