#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cohort/data/element.h"
#include "cohort/data/indexed_elements.h"
#include "cohort/datasets/sources/source_file.h"

namespace cohort::datasets {

// A file of elements, column by column, that is mapped to be read: columns begin at pages. A leaf of plain type and
// fixed shape is an array; of any other the bytes of its rows follow each other, beside where each ends. At the end is
// what describes them, with a sum.

// What a file of columns says about itself.
struct ColumnFileInfo {
  // Of the dataset whose elements they are.
  std::uint64_t fingerprint = 0;
  // Where its iterator stood before the first.
  std::string start = {};
  ElementSpec spec = {};
  std::uint64_t count = 0;
};

// Writes such a file from front to back. The path holds the old file or the new one, whole.
class ColumnFileWriter {
 public:
  // Begins a file.
  //   who: names the writer in errors.
  //   path: where it will be.
  //   spec: of the elements; no resources.
  ColumnFileWriter(const char* who, const std::string& path, const ElementSpec& spec);
  // Without commit() nothing is left.
  ~ColumnFileWriter();
  ColumnFileWriter(const ColumnFileWriter&) = delete;

  // Adds an element; throws unless it has the spec.
  //   number: what it is known by.
  void append(const Tensors& element, std::uint64_t number);
  // Gives the file its name; nothing can be added then.
  void commit(std::uint64_t fingerprint, const std::string& start);

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Such a file, mapped. Thread-safe. Elements share its memory and keep it.
class ColumnFile {
 public:
  // Throws NotFound when there is none, and DataLoss when it is not whole.
  //   who: names the reader in errors.
  ColumnFile(const char* who, const std::string& path);
  // A file of a dataset; throws also when it does not have the size that it had.
  ColumnFile(const char* who, const InputFile& file);
  ~ColumnFile();
  ColumnFile(const ColumnFile&) = delete;

  // What it says about itself.
  const ColumnFileInfo& info() const;
  // Its bytes.
  std::uint64_t bytes() const;
  // What an element is known by.
  std::uint64_t number(std::uint64_t row) const;
  // Tensors of which the elements are the rows; nullptr unless all leaves are arrays.
  const Tensors* columns() const;
  // Fills `element` with the leaves of an element.
  void read(std::uint64_t row, Tensors& element) const;
  // Copies consecutive elements, whose shapes are all fixed, into rows of memory; those of strings are std::string.
  void read_rows(std::uint64_t first, std::size_t count, std::span<const RowMemory> leaves) const;

 private:
  class State;
  std::unique_ptr<const State> state_;
};

}  // namespace cohort::datasets
