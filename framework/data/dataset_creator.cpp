#include "cohort/data/dataset_creator.h"

#include "cohort/data/auto_shard.h"

namespace cohort {

DatasetCreator::DatasetCreator(DatasetFn dataset_fn, DistributedInputOptions input_options)
    : dataset_fn_(std::move(dataset_fn)), input_options_(input_options) {
  if (!dataset_fn_) throw invalid_argument("DatasetCreator", "a function that makes a dataset is expected");
  constexpr std::int64_t kMostPipelines = std::int64_t{1} << 16;
  if (input_options_.num_input_pipelines < 0 || input_options_.num_input_pipelines > kMostPipelines) {
    throw invalid_argument("DatasetCreator", "0 to 2^16 pipelines are expected",
                           {{"num_input_pipelines", input_options_.num_input_pipelines}});
  }
}

Dataset DatasetCreator::operator()(const InputContext& context) const {
  Dataset dataset = dataset_fn_(context);
  if (!dataset.defined()) {
    throw failed_precondition("DatasetCreator", "the function must return a dataset",
                              {{"input_pipeline_id", context.input_pipeline_id}});
  }
  if (input_options_.auto_shard_policy == AutoShardPolicy::Off) return dataset;
  return shard_for(dataset, input_options_.auto_shard_policy, context.num_input_pipelines, context.input_pipeline_id);
}

}  // namespace cohort
