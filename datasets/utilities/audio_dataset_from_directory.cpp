#include "cohort/datasets/utilities/audio_dataset_from_directory.h"

#include "cohort/core/error.h"
#include "cohort/datasets/sources/wav.h"

namespace cohort::utils {
namespace {

void check_audio_options(const char* who, const AudioDirectoryOptions& options) {
  if (options.ragged && options.output_sequence_length) {
    throw invalid_argument(who, "Cannot set both `ragged` and `output_sequence_length`");
  }
  if (options.ragged && options.batch_size > 0) {
    throw unimplemented(who, "batches of elements of one length are expected", {{"ragged", true}},
                        "Use batch_size = 0 for elements of their own lengths.");
  }
  if (options.sampling_rate && *options.sampling_rate <= 0) {
    throw invalid_argument(who, "`sampling_rate` should be higher than 0", {{"sampling_rate", *options.sampling_rate}});
  }
  if (options.output_sequence_length && *options.output_sequence_length < 0) {
    throw invalid_argument(who, "`output_sequence_length` must be 0 or greater",
                           {{"output_sequence_length", *options.output_sequence_length}});
  }
}

}  // namespace

DirectoryDataset audio_dataset_from_directory(const std::string& directory, const AudioDirectoryOptions& options) {
  const DirectoryQuery query = query_of("utils.audio_dataset_from_directory", "audio", {".wav"}, directory, options);
  check_audio_options(query.who, options);
  return dataset_of_directory(
      query, options.batch_size,
      [&](const std::vector<std::string>& paths) {
        return datasets::wav(paths, {.desired_samples = options.output_sequence_length.value_or(-1),
                                     .sampling_rate = options.sampling_rate.value_or(0)});
      },
      [&](const Dataset& sounds) {
        return options.output_sequence_length ? sounds.batch(options.batch_size)
                                              : sounds.padded_batch(options.batch_size);
      });
}

}  // namespace cohort::utils
