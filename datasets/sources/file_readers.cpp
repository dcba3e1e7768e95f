#include "cohort/data/dataset_function.h"
#include "cohort/datasets/sources/csv.h"
#include "cohort/datasets/sources/npy.h"
#include "cohort/datasets/sources/text_lines.h"
#include "cohort/datasets/sources/tf_records.h"

namespace cohort::datasets {
namespace {

// What list_files.h names.

template <class Read>
DatasetFunction reader_of_a_file(Read read) {
  return [read](const Tensor& name) { return read(name.to_strings().at(0)); };
}

DatasetFunction lines_of_a_file(const char* compression) {
  return reader_of_a_file(
      [compression](const std::string& file) { return text_lines(file, {.compression = compression}); });
}

DatasetFunction records_of_a_file(const char* compression) {
  return reader_of_a_file(
      [compression](const std::string& file) { return tf_records({file}, {.compression = compression}); });
}

COHORT_DATASET_FUNCTION("text_lines", lines_of_a_file(""));
COHORT_DATASET_FUNCTION("text_lines_gzip", lines_of_a_file("gzip"));
COHORT_DATASET_FUNCTION("text_lines_zlib", lines_of_a_file("zlib"));
COHORT_DATASET_FUNCTION("tf_records", records_of_a_file(""));
COHORT_DATASET_FUNCTION("tf_records_gzip", records_of_a_file("GZIP"));
COHORT_DATASET_FUNCTION("tf_records_zlib", records_of_a_file("ZLIB"));
COHORT_DATASET_FUNCTION("csv", reader_of_a_file([](const std::string& file) { return csv(file); }));
COHORT_DATASET_FUNCTION("npy", reader_of_a_file([](const std::string& file) { return npy(file); }));
COHORT_DATASET_FUNCTION("npz", reader_of_a_file([](const std::string& file) { return npz(file); }));

}  // namespace
}  // namespace cohort::datasets
