#include "cohort/distribute/session.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "cohort/core/log.h"
#include "cohort/distribute/protocol/attached_constants.h"
#include "cohort/distribute/protocol/typed_call.h"
#include "cohort/distribute/rpc/timed_calls.h"
#include "cohort/distribute/session_graph_body.h"
#include "cohort/graph/graph_proto.h"

namespace cohort::distribute {
namespace {

using CallClock = rpc::TimedCalls::Clock;

// For the answer of a master that has waited for another task in vain.
constexpr std::chrono::milliseconds kToAnswer{2000}, kBetweenCalls{50}, kToClose{2000};

std::chrono::milliseconds milliseconds_in(double seconds, const char* option) {
  if (seconds > 0.0 && seconds <= 1e6) return std::chrono::milliseconds(std::max<std::int64_t>(1, seconds * 1000.0));
  throw invalid_argument("Session", "a time above 0, and of at most 1e6 seconds, is expected", {{option, seconds}});
}

rpc::Peer peer_at(const std::string& target) {
  constexpr std::string_view kScheme = "grpc://";
  const std::string address = target.starts_with(kScheme) ? target.substr(kScheme.size()) : target;
  if (address.empty() || address.find("://") != std::string::npos) {
    throw invalid_argument("Session", "a server's target is expected", {{"target", target}},
                           "Give \"grpc://host:port\", as Server::target() does.");
  }
  return {"the server at " + address, address};
}

// The nodes from `first` on, with inputs in place of earlier values.
Graph added_nodes(const Graph& graph, int first, std::vector<Value>& earlier) {
  Graph added;
  std::map<Value, Value> values;
  const int nodes = static_cast<int>(graph.nodes.size());
  for (int i = first; i < nodes; ++i) {
    for (const Value& input : graph.nodes[static_cast<std::size_t>(i)].inputs) {
      if (input.node >= first || values.contains(input)) continue;
      const TensorSpec& spec = graph.spec(input);
      values[input] = added.add(find_op("Input"), {}, {{"dtype", spec.dtype}, {"shape", spec.shape}});
      earlier.push_back(input);
    }
  }
  const int moved_by = static_cast<int>(earlier.size()) - first;
  for (int i = first; i < nodes; ++i) {
    Node node = graph.nodes[static_cast<std::size_t>(i)];
    for (Value& input : node.inputs) {
      input = input.node < first ? values.at(input) : Value{input.node + moved_by, input.output};
    }
    added.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < added.nodes.size(); ++i) {
    if (added.nodes[i].op->name() == "Input") added.inputs.push_back(static_cast<int>(i));
  }
  return added;
}

void write_value(Value value, proto::ValueProto& to) {
  to.set_node(value.node);
  to.set_output(value.output);
}

}  // namespace

class Session::Body {
 public:
  Body(const std::string& target, SessionGraph graph, const SessionOptions& options)
      : options_(options),
        graph_(std::move(graph.body_)),
        run_timeout_(milliseconds_in(options.run_timeout, "run_timeout")),
        id_(new_identity()),
        calls_(peer_at(target),
               {.transport = options.transport, .security = make_security(options.security, "Session"), .caller = id_},
               std::make_shared<rpc::StreamDeadlines>()) {
    open(CallClock::now() + milliseconds_in(options.start_timeout, "start_timeout"));
  }

  const std::string& master() const { return master_; }
  void extend();
  Tensors run(const std::vector<Fetch>& fetches, const Feeds& feeds);
  void close();
  std::vector<std::string> placement() const {
    std::lock_guard lock(mutex_);
    return placement_;
  }

 private:
  template <Method M>
  ReceivedReply<M> call(const typename MetadataOf<M>::Request& metadata, Tensors parts,
                        CallClock::time_point deadline) {
    auto calls = calls_.until(deadline);
    return distribute::call<M>(calls, {.job = id_, .incarnation = id_}, metadata, std::move(parts));
  }
  void open(CallClock::time_point deadline);
  void check_open() const;
  void add_fetch(const Fetch& fetch, proto::RunSessionProto& to) const;
  Value value_of(const Tensor& symbol) const;
  void note_placement(const proto::RunSessionReplyProto& reply);

  const SessionOptions options_;
  const std::shared_ptr<SessionGraph::Body> graph_;
  const std::chrono::milliseconds run_timeout_;
  const std::uint64_t id_;
  rpc::TimedCalls calls_;
  std::string master_;
  mutable std::mutex mutex_;  // guards what follows
  bool closed_ = false;
  int sent_nodes_ = 0;
  std::size_t sent_captures_ = 0;
  std::vector<std::string> placement_;
};

void Session::Body::open(CallClock::time_point deadline) {
  proto::OpenSessionProto metadata;
  metadata.set_protocol(kProtocolVersion);
  metadata.set_private_variables(options_.private_variables);
  metadata.set_soft_placement(options_.soft_placement);
  for (;;) {
    try {
      master_ = call<Method::OpenSession>(metadata, {}, deadline).metadata.master();
      return;
    } catch (const rpc::RpcError& error) {
      if (error.code() != ErrorCode::Unavailable || CallClock::now() + kBetweenCalls >= deadline) throw;
      std::this_thread::sleep_for(kBetweenCalls);
    }
  }
}

void Session::Body::check_open() const {
  if (closed_) throw failed_precondition("Session", "a session that is open is expected", {{"master", master_}});
}

void Session::Body::extend() {
  std::lock_guard lock(mutex_);
  check_open();
  const Graph& graph = graph_->tracer.graph();
  const Tensors& captures = graph_->tracer.captures();
  if (sent_nodes_ == static_cast<int>(graph.nodes.size())) return;
  const ConstantHashScope hashes;
  proto::ExtendSessionProto metadata;
  ConstantTable constants;
  std::vector<Value> earlier;
  metadata.set_first_node(sent_nodes_);
  metadata.set_graph(serialize(added_nodes(graph, sent_nodes_, earlier), constants));
  for (const Value& value : earlier) write_value(value, *metadata.add_earlier());
  for (std::size_t i = sent_captures_; i < captures.size(); ++i) {
    const SessionVariable& variable = graph_->variable_of(captures[i]);
    proto::SessionVariableProto& to = *metadata.add_variables();
    to.set_node(graph_->tracer.capture_nodes()[i]);
    to.set_container(variable.container);
    to.set_name(variable.name());
    write_spec(variable.spec(), *to.mutable_spec());
    to.set_initial(serialize(variable.initial.graph(), constants));
    to.set_device(variable.device.to_string());
  }
  Tensors parts;
  attach_all(constants, *metadata.mutable_constants(), parts);
  call<Method::ExtendSession>(metadata, std::move(parts), CallClock::now() + run_timeout_);
  sent_nodes_ = static_cast<int>(graph.nodes.size());
  sent_captures_ = captures.size();
}

Value Session::Body::value_of(const Tensor& symbol) const {
  if (!symbol.defined() || !graph_->tracer.made(symbol)) {
    throw invalid_argument("Session", "values of the session's own graph are fetched and fed",
                           {{"value", symbol.defined() ? symbol.spec().to_string() : "undefined"}});
  }
  return {symbol.traced_value().node, symbol.traced_value().output};
}

void Session::Body::add_fetch(const Fetch& fetch, proto::RunSessionProto& to) const {
  if (fetch.value_.defined()) return write_value(value_of(fetch.value_), *to.add_fetches());
  if (fetch.operation_.graph_ && fetch.operation_.graph_ != graph_.get()) {
    throw invalid_argument("Session", "operations of the session's own graph are run");
  }
  for (int node : fetch.operation_.nodes_) to.add_targets(node);
}

void Session::Body::note_placement(const proto::RunSessionReplyProto& reply) {
  std::lock_guard lock(mutex_);
  for (const std::string& line : reply.placement()) {
    if (std::find(placement_.begin(), placement_.end(), line) != placement_.end()) continue;
    placement_.push_back(line);
    log::info(line);
  }
}

Tensors Session::Body::run(const std::vector<Fetch>& fetches, const Feeds& feeds) {
  extend();
  proto::RunSessionProto metadata;
  Tensors parts;
  for (const Fetch& fetch : fetches) add_fetch(fetch, metadata);
  for (const auto& [symbol, value] : feeds) {
    write_value(value_of(symbol), *metadata.add_feeds());
    if (!value.defined() || value.is_symbolic() || value.dtype() != symbol.dtype() ||
        !value.shape().compatible(symbol.shape())) {
      throw invalid_argument(
          "Session", "a feed has a value of its type and shape",
          {{"fed", value.defined() ? value.spec().to_string() : "undefined"}, {"expected", symbol.spec().to_string()}});
    }
    parts.push_back(value.to_host());
  }
  metadata.set_timeout(static_cast<std::uint32_t>(run_timeout_.count()));
  metadata.set_log_placement(options_.log_device_placement);
  auto reply = call<Method::RunSession>(metadata, std::move(parts), CallClock::now() + run_timeout_ + kToAnswer);
  if (reply.parts.size() != static_cast<std::size_t>(metadata.fetches_size())) {
    throw Error(ErrorCode::DataLoss, master_, "a reply must bring what was fetched",
                {{"parts", reply.parts.size()}, {"fetches", metadata.fetches_size()}});
  }
  if (options_.log_device_placement) note_placement(reply.metadata);
  Tensors results;
  auto next = reply.parts.begin();
  for (const Fetch& fetch : fetches) results.push_back(fetch.value_.defined() ? std::move(*next++) : Tensor());
  return results;
}

void Session::Body::close() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
  }
  call<Method::CloseSession>({}, {}, CallClock::now() + kToClose);
}

Session::Session(const std::string& target, SessionGraph graph, SessionOptions options)
    : body_(std::make_unique<Body>(target, std::move(graph), options)) {}

Session::~Session() {
  try {
    close();
  } catch (const std::exception& error) {
    // Who does not hear it closes the session when this client is gone.
    log::info(std::string("Session: it was not closed at its master: ") + error.what());
  }
}

void Session::extend() { body_->extend(); }
Tensor Session::run(const Fetch& fetch, const Feeds& feeds) { return run(std::vector<Fetch>{fetch}, feeds)[0]; }
Tensors Session::run(std::initializer_list<Fetch> fetches, const Feeds& feeds) {
  return run(std::vector<Fetch>(fetches), feeds);
}
Tensors Session::run(const std::vector<Fetch>& fetches, const Feeds& feeds) { return body_->run(fetches, feeds); }
void Session::close() { body_->close(); }
const std::string& Session::master() const { return body_->master(); }
std::vector<std::string> Session::placement() const { return body_->placement(); }

}  // namespace cohort::distribute
