#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cohort/files/atomic_file.h"
#include "cohort/model/model.h"
#include "cohort/saving/hdf5/hdf5_file.h"

namespace cohort {

// Writes all weights, and the optimizer's state when there is any, where Keras 3 keeps them in a .weights.h5 file.
void write_weights(const Model& model, Hdf5File& file);
// About how many bytes they take in a file: the numbers without their metadata.
std::uint64_t bytes_of_weights(const Model& model);
// Writes a file in HDF5 that is whole or not there at all: `write` fills it. `bytes`: an estimate of its size.
void write_hdf5_atomically(const std::string& path, std::uint64_t bytes, const std::function<void(Hdf5File&)>& write);
// Begins one inside a file that is being written, behind its first `offset` bytes; `name` is what errors call it. It is
// to be filled, and closed before the file is used further.
Hdf5File create_hdf5(AtomicFile& whole, const std::string& name, std::uint64_t offset, std::uint64_t bytes);
// Reads them back. Everything is read and checked before the first weight changes; extra entries in the file are
// ignored. With skip_mismatch, layers whose weights do not fit keep theirs and a warning names them.
void read_weights(Model& model, const Hdf5File& file, bool skip_mismatch = false);

// Throws where by_name is asked of a file that is no legacy one.
void refuse_by_name(const std::string& path, const LoadWeightsOptions& options);
// The warning of skip_mismatch; none when nothing was skipped.
void warn_of_skipped(const std::vector<std::string>& skipped, const std::string& reason);

}  // namespace cohort
