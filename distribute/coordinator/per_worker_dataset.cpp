#include "cohort/distribute/coordinator/per_worker_dataset.h"

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/distribute/collective/batch_rows.h"

namespace cohort::distribute {
namespace {

constexpr const char* kCreatePerWorkerDataset = "create_per_worker_dataset";

Dataset make_pipeline(const DatasetCreator& creator, const InputContext& context, const std::string& worker) {
  try {
    return creator(context);
  } catch (const Error& error) {
    throw Error(error.code(),
                std::string(kCreatePerWorkerDataset) + ": the dataset of " + worker + ": " + error.what());
  } catch (const std::exception& error) {
    throw Error(ErrorCode::Internal,
                std::string(kCreatePerWorkerDataset) + ": the dataset of " + worker + ": " + error.what());
  }
}

// A function makes batches of one device: a worker takes one for each of its devices at once.
Dataset for_all_devices(const Dataset& dataset, std::int64_t devices) {
  if (devices == 1) return dataset;
  if (const std::optional<std::int64_t> size = batch_size_of(dataset)) return dataset.rebatch(*size * devices);
  log::warn(
      "DatasetCreator: a dataset that ends in batch() is expected where workers have several devices. Each of its"
      " elements is divided among them.");
  return dataset;
}

}  // namespace

PerWorkerValues PerWorkerDataset::iterator() const {
  if (!body_) throw failed_precondition("PerWorkerDataset.iterator", "a dataset of a coordinator is expected");
  auto values = std::make_shared<PerWorkerValues::Body>();
  values->dataset = body_;
  return PerWorkerValues(std::move(values));
}

const ElementSpec& PerWorkerDataset::element_spec() const {
  if (!body_) throw failed_precondition("PerWorkerDataset.element_spec", "a dataset of a coordinator is expected");
  return body_->pipelines.front().element_spec();
}

std::vector<Dataset> make_pipelines(const DatasetCreator& creator, const std::vector<std::string>& names,
                                    std::int64_t num_replicas_in_sync) {
  std::vector<Dataset> pipelines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const InputContext context{.num_input_pipelines = static_cast<std::int64_t>(names.size()),
                               .input_pipeline_id = static_cast<std::int64_t>(i),
                               .num_replicas_in_sync = num_replicas_in_sync};
    pipelines.push_back(for_all_devices(make_pipeline(creator, context, names[i]), num_replicas_in_sync));
    const std::string first = to_string(pipelines.front().element_spec());
    const std::string spec = to_string(pipelines.back().element_spec());
    if (spec != first) {
      throw invalid_argument(kCreatePerWorkerDataset, "every pipeline must have the same kind of elements",
                             {{names.front(), first}, {names[i], spec}},
                             "Let only the contents depend on the InputContext.");
    }
  }
  return pipelines;
}

std::vector<std::int64_t> cardinalities(const std::vector<Dataset>& pipelines) {
  std::vector<std::int64_t> result;
  for (const Dataset& pipeline : pipelines) result.push_back(pipeline.cardinality());
  return result;
}

}  // namespace cohort::distribute
