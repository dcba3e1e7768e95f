#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort {

class Hdf5Rows;

// An HDF5 file whose groups, datasets and attributes are named by paths ("layers/dense/vars/0"; "" is the root).
// Thread-safe: one lock for the process, because the HDF5 library has no other. What a file claims (types, ranks,
// sizes) is checked before memory is taken for it.
class Hdf5File {
 public:
  // An existing file, for reading.
  static Hdf5File open(const std::string& file);
  // A new file, in place of an old one; `name` is what errors call it, if not by its path. It may begin behind bytes
  // that are somebody else's (a power of two, at least 512).
  static Hdf5File create(const std::string& file, const std::string& name = {}, std::uint64_t user_block = 0);
  // Makes a closed file that begins behind a user block one that does not know of it, as it is inside an archive.
  static void forget_user_block(const std::string& file, std::uint64_t user_block);
  // The same in memory; `name` is what errors call it.
  static Hdf5File open_image(std::string bytes, const std::string& name);
  static Hdf5File create_image(const std::string& name);
  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;
  ~Hdf5File();

  const std::string& name() const;
  // Writes everything out; a destructor does so too, but cannot say that it failed.
  void close();
  // The bytes of a file made by create_image.
  std::string image() const;

  bool exists(const std::string& path) const;
  bool is_group(const std::string& path) const;
  bool is_dataset(const std::string& path) const;
  // Names of a group's members in the order HDF5 sorts them.
  std::vector<std::string> members(const std::string& group) const;
  // Number of members of a group called 0, 1, 2, ...; an error when they are called otherwise. 0 when there is no
  // group.
  int numbered_members(const std::string& group) const;
  // Makes the group and those above it; nothing when it is there.
  void create_group(const std::string& path);

  // A dataset as a host tensor: float32, float64, bool (uint8 with an attribute `bool`, or h5py's), int8, uint8, int32,
  // int64 (also wider or unsigned integers that fit), strings.
  Tensor read(const std::string& path) const;
  TensorSpec spec(const std::string& path) const;
  // Makes a dataset (and the groups above it) from a tensor on any device.
  void write(const std::string& path, const Tensor& value);

  bool has_attribute(const std::string& path, const std::string& name) const;
  std::string string_attribute(const std::string& path, const std::string& name) const;
  std::int64_t int_attribute(const std::string& path, const std::string& name) const;
  double double_attribute(const std::string& path, const std::string& name) const;
  std::vector<std::string> strings_attribute(const std::string& path, const std::string& name) const;
  void set_attribute(const std::string& path, const std::string& name, const std::string& value);
  void set_attribute(const std::string& path, const std::string& name, const char* value);
  void set_attribute(const std::string& path, const std::string& name, std::int64_t value);
  void set_attribute(const std::string& path, const std::string& name, double value);
  void set_attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values);
  // The same with the text in the attribute itself, each padded to the longest.
  void set_fixed_strings_attribute(const std::string& path, const std::string& name,
                                   const std::vector<std::string>& values);

 private:
  friend class Hdf5Rows;  // reads parts of datasets
  struct State;
  explicit Hdf5File(std::unique_ptr<State> state);
  const State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace cohort
