#include <limits>

#include "cohort/data/dataset.h"
#include "cohort/data/dataset.pb.h"
#include "cohort/graph/graph_proto.h"

namespace cohort {
namespace {

constexpr int kMostStages = 10'000;

Error malformed(std::string_view problem) {
  return Error(ErrorCode::DataLoss, "Dataset", "the bytes of a dataset are expected", {{"problem", problem}});
}

// Stages by identity: one that feeds two others is written once.
class Writer {
 public:
  explicit Writer(ConstantTable* constants) : constants_(constants) {}
  int add(const Dataset& dataset) {
    const DatasetStage* stage = &dataset.stage();
    if (auto known = numbers_.find(stage); known != numbers_.end()) return known->second;
    std::vector<int> inputs;
    for (const Dataset& input : dataset.inputs()) inputs.push_back(add(input));
    proto::DatasetStageProto& out = *proto_.add_stages();
    out.set_kind(dataset.kind());
    for (int input : inputs) out.add_inputs(input);
    write_attributes(dataset.attributes(), constants_, *out.mutable_attributes());
    return numbers_[stage] = proto_.stages_size() - 1;
  }
  const proto::DatasetProto& proto() const { return proto_; }

 private:
  ConstantTable* constants_;
  proto::DatasetProto proto_;
  std::map<const DatasetStage*, int> numbers_;
};

std::string write(const Dataset& dataset, ConstantTable* constants) {
  Writer writer(constants);
  writer.add(dataset);
  if (writer.proto().ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorCode::ResourceExhausted, "Dataset", "a dataset travels in at most 2 GiB",
                {{"bytes", writer.proto().ByteSizeLong()}}, "Read large data from files where it is used.");
  }
  return writer.proto().SerializeAsString();
}

Dataset read(std::string_view bytes, const ConstantTable* constants) {
  proto::DatasetProto from;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw malformed("they are no message");
  }
  if (from.stages_size() == 0) throw malformed("there is no stage");
  if (from.stages_size() > kMostStages) throw malformed("there are too many stages");
  std::vector<Dataset> stages;
  for (const proto::DatasetStageProto& stage : from.stages()) {
    std::vector<Dataset> inputs;
    for (int input : stage.inputs()) {
      if (input < 0 || input >= static_cast<int>(stages.size())) throw malformed("a stage comes before its input");
      inputs.push_back(stages[static_cast<std::size_t>(input)]);
    }
    // The maker of its kind checks the rest.
    stages.push_back(Dataset::make(stage.kind(), std::move(inputs), read_attributes(stage.attributes(), constants)));
  }
  return stages.back();
}

}  // namespace

std::string serialize(const Dataset& dataset) { return write(dataset, nullptr); }
std::string serialize(const Dataset& dataset, ConstantTable& constants) { return write(dataset, &constants); }
Dataset parse_dataset(std::string_view bytes) { return read(bytes, nullptr); }
Dataset parse_dataset(std::string_view bytes, const ConstantTable& constants) { return read(bytes, &constants); }

}  // namespace cohort
