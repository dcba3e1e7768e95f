#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/hdf5/hdf5_handle.h"

namespace cohort {

// An open file: finds what a path names and checks what the file claims of it. The caller holds the lock.
struct Hdf5File::State {
  explicit State(std::string name);

  Hdf5Handle file;
  Hdf5Handle links;  // link access that never leaves the file
  std::string name;

  Error data_loss(const std::string& path, std::string_view expected,
                  std::initializer_list<Received> received = {}) const;
  Error no_write(const std::string& path, std::string_view what) const;

  // hdf5_paths.cpp
  static std::string rooted(const std::string& path);
  bool exists(const std::string& path) const;
  Hdf5Handle object(const std::string& path) const;
  Hdf5Handle dataset(const std::string& path) const;

  // hdf5_reader.cpp
  Shape shape_of(hid_t space, const std::string& path) const;
  DType dtype_of(hid_t type, bool marked_bool, const std::string& path) const;
  std::uint64_t bytes_in_file() const;
  // Refuses a dataset that claims more values than its stored bytes can mean.
  void check_storage(hid_t data, std::uint64_t bytes, const std::string& path) const;
  // Elements of a string type, fixed or variable, read by `read(memory type, buffer)`.
  std::vector<std::string> strings(hid_t type, hid_t space, std::int64_t count, const std::string& path,
                                   const std::function<herr_t(hid_t, void*)>& read) const;

  // hdf5_strings.cpp: throw for strings of any length whose places in the file make no sense.
  void check_attribute_strings(hid_t owner, const std::string& attribute_name, std::int64_t count,
                               const std::string& path) const;
  void check_dataset_strings(hid_t data, std::int64_t count, const std::string& path) const;

  // hdf5_attributes.cpp
  static bool has_attribute(hid_t owner, const char* attribute_name);
  Hdf5Handle attribute(const std::string& path, const std::string& attribute_name) const;
  std::vector<std::string> attribute_strings(const std::string& path, const std::string& attribute_name,
                                             bool scalar) const;
  template <class T>
  T attribute_number(const std::string& path, const std::string& attribute_name, hid_t memory) const;
  void set_attribute(const std::string& path, const std::string& attribute_name, hid_t type, hid_t memory, hid_t space,
                     const void* value) const;
};

}  // namespace cohort
