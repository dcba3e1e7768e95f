#include "cohort/distribute/coordinator/function_registration.h"

namespace cohort::distribute {

void register_on_servers(const PlacedFunction& function, TaskConnections& connections) {
  for (const PlacedFunction::ServerPart& part : function.server_parts()) {
    connections.call<Method::RegisterServer>(part.server, {.function = function.handle()}, *part.metadata,
                                             part.constants);
  }
}

void register_on_worker(const PlacedFunction& function, rpc::RepeatingStream& worker, std::uint64_t job,
                        SentConstants& sent) {
  const PlacedFunction::WorkerPart& part = function.worker_part();
  call_with_constants<Method::RegisterWorker>(worker, {.job = job, .function = function.handle()}, *part.metadata,
                                              part.constants, sent);
}

}  // namespace cohort::distribute
