#include "cohort/distribute/collective/greeting.h"

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/protocol/cluster_message.h"
#include "cohort/distribute/protocol/typed_call.h"

namespace cohort::distribute::collective {
namespace {

constexpr char kGreeter[] = "Communicator";

std::string listed_addresses(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses) text += (text.empty() ? "" : ",") + address;
  return text;
}

[[noreturn]] void refuse_greeting(const std::string& from, const char* what, const std::string& theirs,
                                  const std::string& ours) {
  throw invalid_argument(kGreeter, std::string("all workers are started with the same ") + what,
                         {{from, theirs}, {"here", ours}}, "Start all workers of the job alike.");
}

std::string from_task(const proto::HelloProto& hello) { return hello.from().empty() ? "somebody" : hello.from(); }

}  // namespace

void write_greeting(const Greeting& greeting, Message& message) {
  proto::HelloProto hello;
  hello.set_protocol(kProtocolVersion);
  hello.set_job_name(greeting.job);
  hello.set_task_index(greeting.to);
  hello.set_from(greeting.name);
  proto::JobProto& job = *hello.add_cluster();
  job.set_name(greeting.job);
  for (const std::string& address : greeting.addresses) {
    proto::TaskProto& task = *job.add_tasks();
    task.set_index(job.tasks_size() - 1);
    task.set_address(address);
  }
  write_request<Method::Hello>(message.head, hello, message);
  message.head.closure = static_cast<std::uint64_t>(greeting.from);
  message.parts.clear();
  if (!greeting.segment.empty()) message.parts.push_back(Tensor::of_strings({greeting.segment}, {}));
}

Greeting read_greeting(const Message& message, const Greeting& here) {
  proto::HelloProto hello;
  read_metadata(kGreeter, message, hello);
  const std::string from = from_task(hello);
  if (hello.protocol() != kProtocolVersion) {
    refuse_greeting(from, "version of the protocol", std::to_string(hello.protocol()),
                    std::to_string(kProtocolVersion));
  }
  if (hello.job_name() != here.job) refuse_greeting(from, "job", hello.job_name(), here.job);
  Greeting greeting;
  greeting.job = hello.job_name();
  greeting.to = static_cast<int>(hello.task_index());
  if (hello.cluster_size() == 1) {
    for (const proto::TaskProto& task : hello.cluster(0).tasks()) greeting.addresses.push_back(task.address());
  }
  if (greeting.addresses.size() != here.addresses.size()) {
    refuse_greeting(from, "number of workers", std::to_string(greeting.addresses.size()),
                    std::to_string(here.addresses.size()));
  }
  if (greeting.addresses != here.addresses) {
    refuse_greeting(from, "addresses", listed_addresses(greeting.addresses), listed_addresses(here.addresses));
  }
  const std::uint64_t rank = message.head.closure;
  if (hello.task_index() != here.to || rank >= here.addresses.size() || static_cast<int>(rank) == here.to) {
    refuse_greeting(from, "rank for each", task_name(here.job, hello.task_index()), task_name(here.job, here.to));
  }
  greeting.from = static_cast<int>(rank);
  if (message.parts.size() == 1 && message.parts[0].defined() && message.parts[0].dtype() == DType::String &&
      message.parts[0].num_elements() == 1) {
    greeting.segment = message.parts[0].to_strings().front();
  }
  return greeting;
}

void write_nonce(std::uint64_t nonce, Message& reply) { reply.head.function = nonce; }
std::uint64_t read_nonce(const Message& reply) { return reply.head.function; }

}  // namespace cohort::distribute::collective
