#include "cohort/data/dataset_creator.h"

namespace cohort {

DatasetCreator::DatasetCreator(DatasetFn dataset_fn) : dataset_fn_(std::move(dataset_fn)) {
  if (!dataset_fn_) throw invalid_argument("DatasetCreator", "a function that makes a dataset is expected");
}

Dataset DatasetCreator::operator()(const InputContext& context) const {
  Dataset dataset = dataset_fn_(context);
  if (!dataset.defined()) {
    throw failed_precondition("DatasetCreator", "the function must return a dataset",
                              {{"input_pipeline_id", context.input_pipeline_id}});
  }
  return dataset;
}

}  // namespace cohort
