#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::datasets {

// What TFRecordWriter takes besides the path.
struct TFRecordWriterOptions {
  // How the file is packed: "", "GZIP" or "ZLIB".
  std::string compression = {};
};

// Writes a TFRecord file, which tf_records and TensorFlow read. The path holds the old file or the new one, whole:
// until close() what is written goes by another name.
class TFRecordWriter {
 public:
  // Begins a file.
  //   path: where it will be.
  explicit TFRecordWriter(const std::string& path, const TFRecordWriterOptions& options = {});
  // Without close() nothing is left.
  ~TFRecordWriter();
  TFRecordWriter(const TFRecordWriter&) = delete;

  // Appends a record.
  //   record: its bytes, up to 1 GiB; for instance an example().
  void write(std::string_view record);
  // Gives the file its name; nothing can be written then.
  void close();

 private:
  class File;
  std::unique_ptr<File> file_;
};

// The bytes of a tf.train.Example, for TFRecordWriter::write: floats of any type as float32, integers and truth values
// as int64, and strings.
//   features: names and values, each name once; shapes are not kept.
std::string example(const std::vector<std::pair<std::string, Tensor>>& features);

}  // namespace cohort::datasets
