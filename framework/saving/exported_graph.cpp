#include "cohort/saving/exported_graph.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/core/text.h"
#include "cohort/model/fit/training.h"
#include "cohort/model/model_format.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/json/layer_json.h"
#include "cohort/saving/json/object_json.h"
#include "cohort/saving/overwrite.h"
#include "cohort/saving/weight_plan.h"
#include "cohort/saving/weights_file.h"
#include "cohort/variables/variable_body.h"

// The file is HDF5: the attribute `cohort_graph` says in JSON what the graph takes, gives and captured; `graph` holds
// its protobuf bytes, `constants/<hash>` its constants, `variables/<i>` the values of what it captured.
namespace cohort {

struct ExportedModel::State {
  std::string name;
  ElementSpec inputs, outputs;
  Variables variables;
  std::unique_ptr<ExecutableCache> executables;
};

namespace {

constexpr const char* kGraphAttribute = "cohort_graph";
constexpr std::int64_t kGraphVersion = 1;
const std::string kExportWho = "Model.export_graph";

Json exported_spec_to_json(const TensorSpec& spec) {
  return Json{{"dtype", std::string(to_string(spec.dtype))}, {"shape", shape_to_json(spec.shape)}};
}

TensorSpec exported_spec_from_json(const Json& value, const std::string& who) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() || !value.contains("shape")) {
    throw Error(ErrorCode::DataLoss, who, "a tensor is described by its dtype and shape", {{"value", excerpt(value)}});
  }
  return {dtype_from_string(value["dtype"].get<std::string>()), shape_from_json(value["shape"], who)};
}

Json exported_tree_to_json(const ElementSpec& tree) {
  Json leaves = Json::array();
  for (const TensorSpec& leaf : tree.flatten()) leaves.push_back(exported_spec_to_json(leaf));
  return Json{{"structure", structure_of(tree)}, {"leaves", std::move(leaves)}};
}

ElementSpec exported_tree_from_json(const Json& value, const std::string& who) {
  if (!value.is_object() || !value.contains("structure") || !value["structure"].is_string() ||
      !value.contains("leaves") || !value["leaves"].is_array()) {
    throw Error(ErrorCode::DataLoss, who, "a structure and its leaves are expected", {{"value", excerpt(value)}});
  }
  std::vector<TensorSpec> leaves;
  for (const Json& leaf : value["leaves"]) leaves.push_back(exported_spec_from_json(leaf, who));
  return parse_structure(value["structure"].get<std::string>(), leaves);
}

// The inputs that a model was made or built for.
ElementSpec exported_signature(const Model& model) {
  const auto* sequential = dynamic_cast<const Sequential*>(&model);
  if (model.functional() == nullptr && !(sequential && sequential->input_shape().rank() > 0)) {
    throw failed_precondition(kExportWho, "a model that knows its inputs is expected", {{"model", model.name()}},
                              "Give .input_signature, or build the model first.");
  }
  return model.inputs().map([](const SymbolicTensor& symbol) { return TensorSpec{symbol.dtype(), symbol.shape()}; });
}

// The variables a graph captured, in order.
Variables captured_variables(const TracedGraph& traced) {
  Variables variables;
  for (const Tensor& capture : traced.captures) {
    auto body = capture.dtype() == DType::Resource ? std::dynamic_pointer_cast<VariableBody>(capture.resource())
                                                   : std::shared_ptr<VariableBody>();
    if (!body) {
      throw unimplemented(kExportWho, "a graph of ops and variables alone is exported", {{"capture", capture.spec()}});
    }
    variables.push_back(Variable(std::move(body)));
  }
  return variables;
}

[[maybe_unused]] const bool export_registered =
    register_model_format({.ending = ".graph", .export_graph = export_model});

}  // namespace

void export_model(Model& model, const std::string& path, const ExportOptions& options) {
  require_may_write(path, options.overwrite);
  const ElementSpec inputs =
      with_unknown_batch(options.input_signature ? *options.input_signature : exported_signature(model));
  // One element of a dataset of inputs alone.
  const StepGraph& step = model.training().program(Program::Kind::Predict)->step(ElementSpec::tuple({inputs}));
  const Variables variables = captured_variables(step.traced);
  ConstantTable constants;
  const std::string graph = serialize(*step.traced.graph, constants);
  Json captured = Json::array();
  std::uint64_t bytes = graph.size();
  for (const Variable& variable : variables) {
    captured.push_back(exported_spec_to_json({variable.dtype(), variable.shape()}));
    captured.back()["path"] = variable.path();
    bytes += static_cast<std::uint64_t>(variable.shape().num_elements()) * size_of(variable.dtype());
  }
  Json kinds = Json::object();
  for (const auto& [hash, tensor] : constants.tensors) {
    kinds[hash] = std::string(to_string(tensor.dtype()));
    bytes += tensor.bytes();
  }
  const Json about{{"version", kGraphVersion},
                   {"name", model.name()},
                   {"inputs", exported_tree_to_json(inputs)},
                   {"outputs", exported_tree_to_json(step.outputs)},
                   {"variables", std::move(captured)},
                   {"constants", std::move(kinds)}};
  write_hdf5_atomically(path, bytes, [&](Hdf5File& file) {
    file.set_attribute("", kGraphAttribute, dump_json(about));
    file.write("graph", Tensor::of(std::vector<std::uint8_t>(graph.begin(), graph.end()),
                                   {static_cast<std::int64_t>(graph.size())}, cpu()));
    for (std::size_t i = 0; i < variables.size(); ++i) {
      file.write("variables/" + std::to_string(i), read_now(variables[i]));
    }
    for (const auto& [hash, tensor] : constants.tensors) file.write("constants/" + hash, tensor);
  });
}

ExportedModel load_exported(const std::string& path) {
  const std::string who = titled("load_exported", path);
  const Hdf5File file = Hdf5File::open(path);
  if (!file.has_attribute("", kGraphAttribute)) {
    throw Error(ErrorCode::DataLoss, who, "a graph written by Model.export_graph is expected", {{"file", path}});
  }
  const Json about = parse_json(file.string_attribute("", kGraphAttribute), who);
  for (const char* key : {"version", "name", "inputs", "outputs", "variables", "constants"}) {
    if (!about.is_object() || !about.contains(key)) {
      throw Error(ErrorCode::DataLoss, who, "the description of the graph must be whole", {{"missing", key}});
    }
  }
  if (about["version"] != kGraphVersion || !about["name"].is_string() || !about["variables"].is_array() ||
      !about["constants"].is_object()) {
    throw Error(ErrorCode::DataLoss, who, "a graph of version 1 is expected", {{"version", excerpt(about["version"])}});
  }
  auto state = std::make_shared<ExportedModel::State>();
  state->name = about["name"];
  state->inputs = exported_tree_from_json(about["inputs"], who);
  state->outputs = exported_tree_from_json(about["outputs"], who);
  ConstantTable constants;
  for (const auto& [hash, dtype] : about["constants"].items()) {
    if (!dtype.is_string()) throw Error(ErrorCode::DataLoss, who, "a constant has a dtype", {{"constant", hash}});
    Tensor value = file.read("constants/" + hash);
    constants.tensors.emplace_back(hash, converted_for(value, dtype_from_string(dtype.get<std::string>()), who));
  }
  const std::vector<std::uint8_t> bytes = file.read("graph").to_vector<std::uint8_t>();
  const auto graph = parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, constants);

  Specs expected;
  for (const TensorSpec& leaf : state->inputs.flatten()) expected.push_back(leaf);
  const std::size_t arguments = expected.size(), captured = about["variables"].size();
  const Specs given = graph->input_specs();
  bool fits = given.size() == arguments + captured && graph->outputs.size() == state->outputs.flatten().size();
  for (std::size_t i = 0; fits && i < given.size(); ++i) {
    fits = i < arguments ? given[i] == expected[i] : given[i].dtype == DType::Resource;
  }
  if (!fits) {
    throw Error(ErrorCode::DataLoss, who, "the graph must take and give what its description says",
                {{"inputs", given.size()}, {"expected", arguments + captured}});
  }
  for (std::size_t i = 0; i < captured; ++i) {
    const std::string place = "variables/" + std::to_string(i);
    const TensorSpec spec = exported_spec_from_json(about["variables"][i], who);
    if (file.spec(place).shape != spec.shape) {
      throw Error(ErrorCode::DataLoss, who, "a stored variable must have the shape the graph knows",
                  {{"path", place}, {"stored", file.spec(place).shape}, {"expected", spec.shape}});
    }
    state->variables.emplace_back(converted_for(file.read(place), spec.dtype, who));
  }
  for (Node& node : graph->nodes) node.device.clear();  // it runs where it is served
  state->executables = std::make_unique<ExecutableCache>(graph);
  return ExportedModel(std::move(state));
}

ExportedModel::ExportedModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}
const ElementSpec& ExportedModel::input_signature() const { return state_->inputs; }
const std::string& ExportedModel::name() const { return state_->name; }

Element ExportedModel::serve_element(const Element& inputs) const {
  const std::string who = titled("ExportedModel", state_->name);
  if (!inputs.same_structure(state_->inputs)) {
    throw invalid_argument(who, "inputs in the structure of its signature are expected",
                           {{"inputs", to_string(spec_of(inputs))}, {"signature", to_string(state_->inputs)}});
  }
  Device& device = default_device();
  Tensors values = inputs.flatten();
  const std::vector<TensorSpec> specs = state_->inputs.flatten();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].dtype() != specs[i].dtype || !values[i].shape().compatible(specs[i].shape)) {
      throw invalid_argument(who, "an input must have the type and shape of its signature",
                             {{"input", values[i].spec()}, {"expected", specs[i]}});
    }
    values[i] = values[i].to(device);
  }
  for (const Variable& variable : state_->variables) values.push_back(variable.handle());
  Tensors outputs(state_->outputs.flatten().size());
  state_->executables->run(values, outputs, RandomState{.seed = global_seed()}, device);
  return state_->outputs.with_leaves(outputs);
}

Tensor ExportedModel::serve(const TensorArgument& inputs) const {
  const Element outputs = serve_element(inputs.element());
  if (!outputs.is_leaf()) {
    throw invalid_argument(titled("ExportedModel", state_->name), "a model of one output is expected",
                           {{"outputs", outputs.flatten().size()}}, "Call serve_element().");
  }
  return outputs.leaf();
}

}  // namespace cohort
