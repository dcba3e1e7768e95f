#include "cohort/data/dataset.h"

#include <mutex>

#include "cohort/core/text.h"
#include "cohort/data/fingerprint.h"
#include "cohort/data/stage_counters.h"

namespace cohort {
namespace {

struct Makers {
  std::mutex mutex;
  std::map<std::string, DatasetMaker> by_kind;
};

// Never destroyed: datasets in static storage may outlive any static table.
Makers& makers() {
  static Makers* all = new Makers;
  return *all;
}

DatasetMaker find_maker(const std::string& kind) {
  Makers& all = makers();
  std::lock_guard lock(all.mutex);
  auto found = all.by_kind.find(kind);
  if (found == all.by_kind.end()) {
    throw not_found("Dataset", "a registered kind is expected", {{"kind", in_quotes(kind)}},
                    "Known kinds: " + join(all.by_kind, [](const auto& each) { return each.first; }) + ".");
  }
  return found->second;
}

// The kinds of a chain in which elements are reached by number: one iterator walks it.
std::string stages_of(const Dataset& dataset, int most = 8) {
  if (dataset.inputs().empty()) return dataset.kind();
  if (most == 0) return "...";
  return dataset.kind() + "(" + join(dataset.inputs(), [&](const Dataset& each) { return stages_of(each, most - 1); }) +
         ")";
}

}  // namespace

struct Dataset::Node {
  std::string kind;
  std::vector<Dataset> inputs;
  Attributes attributes;
  std::shared_ptr<const DatasetStage> stage;
  std::uint64_t fingerprint;
};

bool register_dataset(const std::string& kind, DatasetMaker maker) {
  Makers& all = makers();
  std::lock_guard lock(all.mutex);
  if (!all.by_kind.emplace(kind, std::move(maker)).second) {
    throw Error(ErrorCode::AlreadyExists, "Dataset", "a kind may be registered once", {{"kind", kind}});
  }
  return true;
}

Dataset Dataset::make(std::string kind, std::vector<Dataset> inputs, Attributes attributes) {
  for (const Dataset& input : inputs) input.stage();
  auto stage = find_maker(kind)(inputs, attributes);
  Dataset dataset;
  const std::uint64_t fingerprint = fingerprint_of(kind, inputs, attributes);
  dataset.node_ = std::make_shared<const Node>(
      Node{std::move(kind), std::move(inputs), std::move(attributes), std::move(stage), fingerprint});
  return dataset;
}

Dataset Dataset::apply(const DatasetTransform& transform) const {
  if (!transform) throw invalid_argument("Dataset.apply", "a transform is expected", {{"transform", "none"}});
  return transform(*this);
}

const DatasetStage& Dataset::stage() const {
  if (!node_) {
    throw failed_precondition("Dataset", "a dataset must be made before it is used", {},
                              "Start from a source such as datasets::from_tensor_slices.");
  }
  return *node_->stage;
}

const ElementSpec& Dataset::element_spec() const { return stage().element_spec(); }
std::int64_t Dataset::cardinality() const { return stage().cardinality(); }
std::unique_ptr<IndexedElements> DatasetStage::indexed() const {
  throw internal_error("DatasetStage", "elements by number are asked of stages that have them");
}

std::unique_ptr<DatasetIterator> Dataset::make_iterator() const {
  const std::shared_ptr<StageCounters> counters = StageCounters::make(kind());
  std::unique_ptr<DatasetIterator> iterator;
  {
    const StageCounters::Making making(*counters);
    iterator = stage().iterator();
  }
  if (!counters->has_inputs()) counters->set_stage(stages_of(*this));
  iterator = measured(std::move(iterator), counters);
  iterator->fingerprint_ = fingerprint();
  return iterator;
}
Iterator Dataset::iterator() const { return Iterator(make_iterator(), element_spec()); }

std::uint64_t Dataset::fingerprint() const { return stage(), node_->fingerprint; }
const std::string& Dataset::kind() const { return stage(), node_->kind; }
const std::vector<Dataset>& Dataset::inputs() const { return stage(), node_->inputs; }
const Attributes& Dataset::attributes() const { return stage(), node_->attributes; }

}  // namespace cohort
