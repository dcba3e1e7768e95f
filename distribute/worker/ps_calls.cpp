#include "cohort/distribute/worker/ps_calls.h"

#include <algorithm>

#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute {
namespace {

// Above this a message takes longer on its way than a thread to wake up.
constexpr std::size_t kLargeCall = std::size_t{4} << 20;

void check_values(const WorkerFunction::PsCall& call, std::size_t returned) {
  const std::size_t values = call.reply.parts.size(), most = returned + call.replicas.size();
  if (values >= returned && values <= most) return;
  throw internal_error("Server", "a server must answer with what the function expects",
                       {{"ps", call.ps}, {"values", values}, {"expected", returned}, {"at most", most}});
}
void check_values(const WorkerFunction::Exchange& exchange) { check_values(exchange, exchange.returned.size()); }
void check_values(const WorkerFunction::Pull& pull) { check_values(pull, 0); }

}  // namespace

PsCalls::PsCalls(std::uint64_t job, std::uint64_t incarnation, PsLinkOptions options, PsCaller caller)
    : job_(job), incarnation_(incarnation), options_(std::move(options)), caller_(std::move(caller)) {}

void PsCalls::set_servers(const std::vector<std::string>& addresses) {
  links_.resize(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (links_[i].address != addresses[i]) links_[i] = {.address = addresses[i], .stream = nullptr, .thread = nullptr};
  }
}

rpc::ReliableStream& PsCalls::stream_to(int ps) {
  // A function that was registered later may have named fewer.
  if (ps < 0 || static_cast<std::size_t>(ps) >= links_.size()) {
    throw invalid_argument("Server", "a server of the job is expected", {{"server", ps}, {"servers", links_.size()}});
  }
  PsLink& link = links_[static_cast<std::size_t>(ps)];
  if (!link.stream) {
    const rpc::RetryBudget budget{
        .silence = options_.retry, .given_up = caller_.has_given_up, .repeats = &retries_.number()};
    link.stream =
        std::make_unique<rpc::ReliableStream>(rpc::Peer{task_name(kPs, ps), link.address}, options_.transport, budget);
  }
  return *link.stream;
}

bool PsCalls::has_stream_to(int ps) const {
  return ps >= 0 && static_cast<std::size_t>(ps) < links_.size() && links_[static_cast<std::size_t>(ps)].stream;
}

// What a ps does not answer becomes CutOffFromPs: whose fault that is the chief finds out. Of the error being handled.
void PsCalls::rethrow_as_cut_off(int ps) const {
  try {
    throw;
  } catch (const rpc::RpcError& error) {
    caller_.stop_if_cancelled();
    throw CutOffFromPs(ps, error.what());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unavailable) throw;
    throw CutOffFromPs(ps, error.what());
  }
}

template <class Call>
auto PsCalls::at_ps(int ps, const Call& call) {
  try {
    return call(stream_to(ps));
  } catch (const Error&) {
    rethrow_as_cut_off(ps);
  }
}

void PsCalls::reach_all() const {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const int ps = static_cast<int>(i);
    try {
      const auto connection = rpc::connect({task_name(kPs, ps), links_[i].address}, options_.transport);
      call<Method::Progress>(*connection->open(), {.job = job_, .incarnation = incarnation_});
    } catch (const Error& error) {
      throw CutOffFromPs(ps, error.what());
    }
  }
}

void PsCalls::describe(proto::TaskStatusProto& status) const {
  status.set_bytes_received(status.bytes_received() + bytes_received_.get());
  status.set_bytes_sent(status.bytes_sent() + bytes_sent_.get());
  status.set_retries(retries_.get());
}

void PsCalls::call_all(std::vector<WorkerFunction::Exchange>& calls) { make_calls(calls); }
void PsCalls::call_all(std::vector<WorkerFunction::Pull>& calls) { make_calls(calls); }

template <class Calls>
void PsCalls::make_calls(Calls& calls) {
  const auto due = [](const auto& call) { return call.due; };
  // To open a stream takes as long as a call.
  const auto slow = [this](const auto& call) {
    return call.due && (call.bytes() >= kLargeCall || !has_stream_to(call.ps));
  };
  if (std::count_if(calls.begin(), calls.end(), due) > 1 && std::any_of(calls.begin(), calls.end(), slow)) {
    call_on_threads(calls);
  } else {
    call_in_turn(calls);
  }
  for (const auto& call : calls) {
    if (!call.due) continue;
    check_values(call);
    bytes_sent_.add_alone(payload_bytes(call.request));
    bytes_received_.add_alone(payload_bytes(call.reply));
  }
}

template <class Calls>
void PsCalls::call_in_turn(Calls& calls) {
  std::size_t sent = 0, received = 0;
  try {
    for (; sent < calls.size(); ++sent) {
      auto& call = calls[sent];
      if (call.due) at_ps(call.ps, [&](rpc::ReliableStream& stream) { stream.send(call.request); });
    }
    while (received < calls.size()) {
      auto& call = calls[received++];
      if (call.due) at_ps(call.ps, [&](rpc::ReliableStream& stream) { stream.receive(call.reply); });
    }
  } catch (...) {
    // The others were asked too: their answers must not meet the next question.
    for (; received < sent; ++received) {
      try {
        if (calls[received].due) stream_to(calls[received].ps).receive(calls[received].reply);
      } catch (const Error&) {
      }
    }
    throw;
  }
}

// A stream moves bytes only while somebody sends or receives on it.
template <class Calls>
void PsCalls::call_on_threads(Calls& calls) {
  const auto link_of = [this](const auto& call) -> PsLink& { return links_[static_cast<std::size_t>(call.ps)]; };
  // All that may fail, before the first of them runs.
  for (auto& call : calls) {
    if (!call.due) continue;
    stream_to(call.ps);
    if (!link_of(call).thread) link_of(call).thread = std::make_unique<CallThread>();
  }
  for (auto& call : calls) {
    if (!call.due) continue;
    link_of(call).thread->start([&stream = *link_of(call).stream, &call] { stream.call(call.request, call.reply); });
  }
  std::exception_ptr first;
  int unanswered = 0;
  for (auto& call : calls) {
    if (!call.due) continue;
    const std::exception_ptr error = link_of(call).thread->finish();
    if (call.bytes() < kLargeCall) link_of(call).thread.reset();
    if (!error || first) continue;
    first = error;
    unanswered = call.ps;
  }
  if (!first) return;
  try {
    std::rethrow_exception(first);
  } catch (const Error&) {
    rethrow_as_cut_off(unanswered);
  }
}

}  // namespace cohort::distribute
