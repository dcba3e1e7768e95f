#include "cohort/core/error.h"
#include "cohort/summary/event.h"
#include "cohort/summary/event_writer.h"
#include "cohort/summary/hparams.pb.h"

namespace cohort::summary {
namespace {

// What the hparams page reads stands beside the tensor, which is empty.
void add_hparams_data(Event& event, const std::string& tag, const HParamsPluginData& data) {
  TensorProto& tensor = *add_value(event, tag, "hparams", data.SerializeAsString()).mutable_tensor();
  tensor.set_dtype(kTensorFlowFloat);
  tensor.mutable_tensor_shape()->add_dim();
}

void describe_hparam(const std::string& name, const HParam& hparam, HParamInfo& info) {
  constexpr HParamInfo::DataType kTypes[] = {HParamInfo::DATA_TYPE_FLOAT64, HParamInfo::DATA_TYPE_BOOL,
                                             HParamInfo::DATA_TYPE_STRING};
  info.set_name(name);
  info.set_type(kTypes[hparam.value().index()]);
}

google::protobuf::Value hparam_proto(const HParam& hparam) {
  google::protobuf::Value proto;
  if (const auto* number = std::get_if<double>(&hparam.value())) {
    proto.set_number_value(*number);
  } else if (const auto* truth = std::get_if<bool>(&hparam.value())) {
    proto.set_bool_value(*truth);
  } else {
    proto.set_string_value(std::get<std::string>(hparam.value()));
  }
  return proto;
}

}  // namespace

void EventWriter::add_hparams(const HParams& hparams, const std::map<std::string, double>& metrics,
                              const HParamsOptions& options) {
  if (hparams.empty()) {
    throw invalid_argument("EventWriter.add_hparams", "at least one hyperparameter is expected", {{"hparams", "{}"}});
  }
  Event event = new_event(0);
  if (!metrics.empty()) {
    HParamsPluginData data;
    Experiment& experiment = *data.mutable_experiment();
    experiment.set_time_created_secs(wall_time());
    for (const auto& [name, hparam] : hparams) describe_hparam(name, hparam, *experiment.add_hparam_infos());
    for (const auto& [tag, value] : metrics) experiment.add_metric_infos()->mutable_name()->set_tag(tag);
    add_hparams_data(event, "_hparams_/experiment", data);
  }
  HParamsPluginData start;
  for (const auto& [name, hparam] : hparams) {
    (*start.mutable_session_start_info()->mutable_hparams())[name] = hparam_proto(hparam);
  }
  start.mutable_session_start_info()->set_group_name(options.trial_id);
  start.mutable_session_start_info()->set_start_time_secs(wall_time());
  add_hparams_data(event, "_hparams_/session_start_info", start);
  if (!metrics.empty()) {
    HParamsPluginData end;
    end.mutable_session_end_info()->set_status(SessionEndInfo::STATUS_SUCCESS);
    end.mutable_session_end_info()->set_end_time_secs(wall_time());
    add_hparams_data(event, "_hparams_/session_end_info", end);
  }
  add(event);
  for (const auto& [tag, value] : metrics) add_scalar(tag, value, 0);
}

}  // namespace cohort::summary
