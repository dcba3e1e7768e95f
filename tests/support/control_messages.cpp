#include "tests/support/control_messages.h"

#include <google/protobuf/message.h>

#include <limits>
#include <new>

#include "cohort/data/dataset.pb.h"
#include "cohort/datasets/datasets.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/rpc/in_process.h"
#include "cohort/distribute/worker/task_service.h"
#include "cohort/graph/graph_proto.h"
#include "cohort/variables/initial_value.h"

namespace cohort::test {
namespace {

using namespace distribute;
using google::protobuf::FieldDescriptor;

constexpr std::uint64_t kJob = 99, kFunction = 4;
constexpr std::size_t kBeforeClosures = 6;  // messages
constexpr char kPsAddress[] = "127.0.0.1:4", kWorkerAddress[] = "127.0.0.1:5";

// delta, variable: variable += delta; without a delta -> the variable's value.
Graph adding_graph(bool adds) {
  Graph graph;
  Value delta;
  if (adds) {
    delta = graph.add(find_op("Input"), {}, {{"dtype", DType::Float32}, {"shape", Shape({2})}});
    graph.inputs.push_back(delta.node);
  }
  const Value variable = graph.add(find_op("Input"), {}, {{"dtype", DType::Resource}, {"shape", Shape()}});
  graph.inputs.push_back(variable.node);
  if (adds) {
    graph.add(find_op("AssignAddVariable"), {variable, delta}, {{"dtype", DType::Float32}, {"shape", Shape({2})}});
  } else {
    graph.outputs.push_back(
        graph.add(find_op("ReadVariable"), {variable}, {{"dtype", DType::Float32}, {"shape", Shape({2})}}));
  }
  return graph;
}

std::string bytes_of(const Graph& graph) {
  ConstantTable constants;
  return serialize(graph, constants);
}

std::string initial_graph() { return bytes_of(InitialValue::constant(1.0, {2}, DType::Float32).graph()); }

std::string dataset_chain() {
  ConstantTable constants;
  return serialize(datasets::range(5).repeat(2), constants);
}

proto::HelloProto hello_to(const std::string& job) {
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_job_name(job);
  hello.set_from("chief");
  hello.add_cluster()->set_name("ps");
  hello.mutable_cluster(0)->add_tasks()->set_address(kPsAddress);
  return hello;
}

proto::CreateVariableProto variable() {
  proto::CreateVariableProto meta;
  meta.set_name("w");
  write_spec({DType::Float32, {2}}, *meta.mutable_spec());
  meta.set_initial(initial_graph());
  return meta;
}

proto::RegisterServerProto server_function() {
  proto::RegisterServerProto meta;
  proto::ServerPartProto& part = *meta.add_parts();
  part.set_graph(bytes_of(adding_graph(true)));
  part.add_resources("w");
  part.set_writes(true);
  part.add_fresh("w");
  meta.add_pulled("w");
  return meta;
}

// Takes an element, pushes the replica's own value, gets a fresh one back.
proto::RegisterWorkerProto worker_function() {
  proto::RegisterWorkerProto meta;
  meta.add_inputs()->set_kind(proto::InputProto::ELEMENT);
  proto::InputProto& replica = *meta.add_inputs();
  replica.set_kind(proto::InputProto::REPLICA);
  replica.set_name("w");
  write_spec({DType::Float32, {2}}, *replica.mutable_spec());
  proto::InputProto& sum = *meta.add_inputs();
  sum.set_kind(proto::InputProto::ACCUMULATOR);
  sum.set_name("sum");
  write_spec({DType::Float32, {}}, *sum.mutable_spec());
  meta.add_inputs()->set_kind(proto::InputProto::UNUSED);
  proto::StageProto& reads = *meta.add_stages();
  reads.set_graph(bytes_of(adding_graph(false)));
  reads.add_inputs(1);
  reads.add_outputs(0);
  meta.add_stages()->set_graph(bytes_of(Graph()));
  proto::ExchangeProto& exchange = *meta.add_rounds()->add_exchanges();
  exchange.add_sent(~0);
  exchange.add_fresh(1);
  meta.set_slots(1);
  meta.add_outputs(~0);
  meta.add_pulls(0);
  meta.add_ps()->set_address(kPsAddress);
  meta.add_ps_pulls()->add_inputs(1);
  return meta;
}

proto::ClosureProto closure() {
  proto::ClosureProto meta;
  meta.set_steps(2);
  meta.add_leases();
  meta.add_versions(1);
  return meta;
}

// Of what another message may bring again.
proto::ReleaseProto releases() {
  proto::ReleaseProto meta;
  meta.set_generation(1);
  meta.add_datasets(0);
  meta.add_functions(kFunction);
  meta.add_variables("w");
  return meta;
}

proto::JoinProto joining() {
  proto::JoinProto meta;
  meta.set_protocol(kProtocolVersion);
  meta.set_task_index(1);
  meta.set_address("127.0.0.1:6");
  meta.set_incarnation(5);
  return meta;
}

proto::RunGraphProto read_variable() {
  proto::RunGraphProto meta;
  meta.set_graph(bytes_of(adding_graph(false)));
  meta.add_inputs("w");
  return meta;
}

proto::OpenSessionProto session() {
  proto::OpenSessionProto meta;
  meta.set_protocol(kProtocolVersion);
  return meta;
}

// Of a delta and a variable.
proto::ExtendSessionProto session_graph() {
  proto::ExtendSessionProto meta;
  meta.set_graph(bytes_of(adding_graph(true)));
  proto::SessionVariableProto& variable = *meta.add_variables();
  variable.set_node(1);
  variable.set_name("w");
  write_spec({DType::Float32, {2}}, *variable.mutable_spec());
  variable.set_initial(initial_graph());
  return meta;
}

proto::RunSessionProto session_run() {
  proto::RunSessionProto meta;
  meta.add_targets(2);
  meta.add_feeds()->set_node(0);
  meta.set_timeout(200);
  return meta;
}

proto::RegisterPartProto session_part() {
  proto::RegisterPartProto meta;
  meta.set_graph(bytes_of(adding_graph(true)));
  meta.set_device("CPU:0");
  proto::PartVariableProto& variable = *meta.add_variables();
  variable.set_name("w");
  write_spec({DType::Float32, {2}}, *variable.mutable_spec());
  variable.set_initial(initial_graph());
  return meta;
}

// Nobody but the tasks here is ever dialled.
std::string text_for(const FieldDescriptor& field, Choices& choices) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) {
    switch (choices.below(6)) {
      case 0:
        return bytes_of(adding_graph(true));
      case 1:
        return bytes_of(adding_graph(false));
      case 2:
        return initial_graph();
      case 3:
        return dataset_chain();
      case 4:
        return {};
      default:
        return std::string(choices.below(12), static_cast<char>(choices.byte()));
    }
  }
  if (field.name() == "address") {
    const char* addresses[] = {kPsAddress, "", "no address", "127.0.0.1:70000", ":"};
    return addresses[choices.below(std::size(addresses))];
  }
  if (field.name() == "op") {
    const char* ops[] = {"Input", "ReadVariable", "AssignAddVariable", "AssignVariable", "Constant", "Multiply",
                         "Add",   "MatMul",       "Reshape",           "Gather",         "Concat",   "NoSuchOp"};
    return ops[choices.below(std::size(ops))];
  }
  const char* names[] = {"", "w", "sum", "ps", "worker", "chief", "another", "dtype", "shape", "axis", "value"};
  return names[choices.below(std::size(names))];
}

// Sizes of axes: few, or more than there is memory anywhere.
std::int64_t axis(Choices& choices) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t kSizes[] = {
      0, 1, 2, 3, -1, -2, std::int64_t{1} << 45, std::int64_t{1} << 62, Limits::min(), Limits::max()};
  return kSizes[choices.below(std::size(kSizes))];
}

void change(google::protobuf::Message& message, Choices& choices);

// A message that lies in a field of bytes, a graph or a chain of stages, with as many changes as the choices want;
// false where it is none.
template <class Inner>
bool change_inside(std::string& bytes, Choices& choices) {
  Inner inner;
  if (bytes.empty() || !inner.ParseFromString(bytes)) return false;
  for (std::size_t changes = 1 + choices.below(3); changes > 0; --changes) change(inner, choices);
  return inner.SerializeToString(&bytes);
}

// What a field of bytes or text becomes.
std::string other_text(const FieldDescriptor& field, std::string now, Choices& choices) {
  if (field.type() != FieldDescriptor::TYPE_BYTES || choices.below(3) == 0) return text_for(field, choices);
  const bool changed = field.name() == "chain" ? change_inside<proto::DatasetProto>(now, choices)
                                               : change_inside<proto::GraphProto>(now, choices);
  return changed ? now : text_for(field, choices);
}

// Sets a field, or an element of a repeated one.
void set(google::protobuf::Message& message, const FieldDescriptor& field, int element, Choices& choices) {
  const google::protobuf::Reflection& way = *message.GetReflection();
  const bool many = field.is_repeated();
  const auto number = [&] {
    return field.name() == "sizes" ? static_cast<std::uint64_t>(axis(choices)) : choices.number();
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = static_cast<std::int32_t>(number());
      return many ? way.SetRepeatedInt32(&message, &field, element, value) : way.SetInt32(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const auto value = static_cast<std::int64_t>(number());
      return many ? way.SetRepeatedInt64(&message, &field, element, value) : way.SetInt64(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto value = static_cast<std::uint32_t>(number());
      return many ? way.SetRepeatedUInt32(&message, &field, element, value) : way.SetUInt32(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const std::uint64_t value = number();
      return many ? way.SetRepeatedUInt64(&message, &field, element, value) : way.SetUInt64(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      const bool value = choices.byte() & 1;
      return many ? way.SetRepeatedBool(&message, &field, element, value) : way.SetBool(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      constexpr double kReals[] = {0, 1, -1, 1e300, -1e300, std::numeric_limits<double>::quiet_NaN()};
      const double value = kReals[choices.below(std::size(kReals))];
      return many ? way.SetRepeatedDouble(&message, &field, element, value) : way.SetDouble(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto value = static_cast<int>(choices.number());
      return many ? way.SetRepeatedEnumValue(&message, &field, element, value)
                  : way.SetEnumValue(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string value = other_text(
          field, many ? way.GetRepeatedString(message, &field, element) : way.GetString(message, &field), choices);
      return many ? way.SetRepeatedString(&message, &field, element, std::move(value))
                  : way.SetString(&message, &field, std::move(value));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return change(
          many ? *way.MutableRepeatedMessage(&message, &field, element) : *way.MutableMessage(&message, &field),
          choices);
    default:
      return;
  }
}

void add_element(google::protobuf::Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& way = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return way.AddInt32(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_INT64:
      return way.AddInt64(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_UINT32:
      return way.AddUInt32(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_UINT64:
      return way.AddUInt64(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_BOOL:
      return way.AddBool(&message, &field, false);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return way.AddDouble(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_ENUM:
      return way.AddEnumValue(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_STRING:
      return way.AddString(&message, &field, "");
    case FieldDescriptor::CPPTYPE_MESSAGE:
      way.AddMessage(&message, &field);
      return;
    default:
      return;
  }
}

// Changes one field, here or further down.
void change(google::protobuf::Message& message, Choices& choices) {
  const google::protobuf::Reflection& way = *message.GetReflection();
  const int fields = message.GetDescriptor()->field_count();
  if (fields == 0) return;
  const FieldDescriptor& field =
      *message.GetDescriptor()->field(static_cast<int>(choices.below(static_cast<std::size_t>(fields))));
  if (!field.is_repeated()) return set(message, field, 0, choices);
  int size = way.FieldSize(message, &field);
  switch (choices.below(5)) {
    case 0:
      if (size > 0) way.RemoveLast(&message, &field);
      return;
    case 1:
      if (size > 1)
        way.SwapElements(&message, &field, 0, static_cast<int>(choices.below(static_cast<std::size_t>(size))));
      return;
    case 2:
      add_element(message, field);
      ++size;
      return set(message, field, size - 1, choices);
    default:
      if (size > 0) set(message, field, static_cast<int>(choices.below(static_cast<std::size_t>(size))), choices);
  }
}

void change_head(Head& head, Choices& choices) {
  std::uint64_t* fields[] = {&head.incarnation, &head.sequence, &head.function,       &head.closure,
                             &head.step,        &head.version,  &head.all_done_below, &head.epoch};
  switch (choices.below(4)) {
    case 0:
      head.flags = static_cast<std::uint16_t>(choices.number());
      break;
    case 1:
      head.round = static_cast<std::uint32_t>(choices.number());
      break;
    default:
      *fields[choices.below(std::size(fields))] = choices.number();
  }
}

void change_parts(Tensors& parts, Choices& choices) {
  const auto dtype = static_cast<DType>(choices.below(kDTypeCount));
  const Shape shapes[] = {{}, {2}, {0}, {1, 3}, {2, 2}};
  const Tensor made =
      is_plain(dtype) ? Tensor::full(shapes[choices.below(5)], 1, dtype) : Tensor::of_strings({"a", "b"}, {2});
  if (parts.empty() || choices.below(3) == 0) {
    parts.push_back(choices.below(8) == 0 ? Tensor() : made);
  } else if (choices.below(3) == 0) {
    parts.pop_back();
  } else {
    parts[choices.below(parts.size())] = made;
  }
}

}  // namespace

std::uint8_t Choices::byte() {
  if (left_ == 0) return 0;
  --left_;
  return *bytes_++;
}

std::uint64_t Choices::number() {
  constexpr std::uint64_t kOne = 1;
  constexpr std::uint64_t kEnds[] = {0,
                                     1,
                                     2,
                                     3,
                                     ~std::uint64_t{0},
                                     ~std::uint64_t{1},
                                     63,
                                     64,
                                     (kOne << 20) + 1,
                                     1'000'001,
                                     (kOne << 31) - 1,
                                     kOne << 31,
                                     (kOne << 32) - 1,
                                     kOne << 32,
                                     (kOne << 63) - 1,
                                     kOne << 63};
  const std::uint8_t which = byte();
  if (which < 224) return kEnds[which % std::size(kEnds)];
  std::uint64_t number = 0;
  for (int i = which % 8; i >= 0; --i) number = number << 8 | byte();
  return number;
}

// Both tasks, the ps where the worker finds it.
class ControlMessages::Tasks {
 public:
  Tasks() { rpc::add_endpoint(kPsAddress, endpoint_); }
  ~Tasks() {
    rpc::remove_endpoint(kPsAddress);
    endpoint_->close();
  }
  TaskService& of(bool ps) { return ps ? ps_ : worker_; }

 private:
  const ClusterSpec spec_ = ClusterSpec({{"ps", {kPsAddress}}, {"worker", {kWorkerAddress}}});
  TaskService ps_{spec_, "ps", 0, {.transport = "in_process"}};
  TaskService worker_{spec_, "worker", 0, {.transport = "in_process"}};
  const std::shared_ptr<rpc::Endpoint> endpoint_ = std::make_shared<rpc::Endpoint>(ps_);
};

template <class Metadata>
void ControlMessages::add(Method method, const Metadata& metadata, std::vector<Tensor> parts) {
  const auto meta = [metadata](Choices& choices) {
    Metadata changed = metadata;
    for (std::size_t changes = choices.below(4); changes > 0; --changes) change(changed, choices);
    return changed.SerializeAsString();
  };
  honest_.push_back({method, meta, std::move(parts)});
}

ControlMessages::ControlMessages() : by_method_(256) {
  proto::CreatePipelineProto pipeline;
  pipeline.set_chain(dataset_chain());
  add(Method::Hello, hello_to("worker"));
  add(Method::Hello, hello_to("ps"));
  add(Method::CreateVariable, variable());
  add(Method::RegisterServer, server_function());
  add(Method::RegisterWorker, worker_function());
  add(Method::CreatePipeline, pipeline);
  add(Method::RunGraph, read_variable());
  add(Method::RunClosure, closure());
  add(Method::Release, releases());
  add(Method::Trace, proto::TraceProto());
  add(Method::Join, joining());
  add(Method::Leave, proto::LeaveProto());
  add(Method::Members, proto::MembersProto());
  first_of_sessions_ = honest_.size();
  add(Method::OpenSession, session());
  add(Method::ExtendSession, session_graph());
  add(Method::RunSession, session_run(), {Tensor::full({2}, 1)});
  add(Method::RegisterPart, session_part());
  add(Method::RunPart, proto::RunPartProto(), {Tensor::full({2}, 1)});
  add(Method::ReleaseParts, proto::ReleasePartsProto());
  const auto nothing = [](Choices& choices) { return std::string(choices.below(16) == 15 ? 1 : 0, 'x'); };
  honest_.push_back({Method::Exchange, nothing, {Tensor::full({2}, 1)}});
  for (const Method method :
       {Method::Exchange, Method::Cancel, Method::EndJob, Method::Echo, Method::Progress, Method::ReachPs,
        Method::Fence, Method::Status, Method::CloseSession, Method::ListDevices}) {
    honest_.push_back({method, nothing, {}});
  }
}

ControlMessages::~ControlMessages() = default;

void ControlMessages::send_one(Tasks& tasks, const Honest& honest, Choices& choices) {
  Message request, reply;
  request.head = {.method = honest.method, .job = kJob, .function = kFunction};
  request.head.closure = 1 + choices.below(4);
  if (honest.method == Method::Exchange && honest.parts.empty()) request.head.flags = kPull;
  request.parts.assign(honest.parts.begin(), honest.parts.end());
  request.meta = honest.meta(choices);
  if (choices.below(4) == 3) change_head(request.head, choices);
  if (choices.below(6) == 5) change_parts(request.parts, choices);
  try {
    tasks.of(choices.byte() & 1).handle(request, reply);
    ++answered_;
    ++by_method_.at(static_cast<std::size_t>(honest.method));
  } catch (const Error&) {
    ++refused_;
  } catch (const std::bad_alloc&) {
    ++refused_;
  }
}

void ControlMessages::send(Choices choices) {
  Tasks tasks;
  // As far as a job gets before its first closure, or less far.
  const std::size_t prepared = choices.below(2) ? kBeforeClosures : choices.below(kBeforeClosures);
  const auto send_unchanged = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      for (const std::uint8_t ps : {0, 1}) {
        const std::uint8_t unchanged[] = {0, 0, 0, 0, ps};
        Choices none(unchanged, sizeof unchanged);
        send_one(tasks, honest_[i], none);
      }
    }
  };
  send_unchanged(0, prepared);
  // A session that is open, with a graph, or not.
  send_unchanged(first_of_sessions_, choices.below(4) ? 0 : 2);
  while (!choices.empty()) send_one(tasks, honest_[choices.below(honest_.size())], choices);
}

}  // namespace cohort::test
