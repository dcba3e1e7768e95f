#include "cohort/distribute/coordinator/function_registration.h"

namespace cohort::distribute {

void register_on_ps(const PlacedFunction& function, TaskConnections& connections) {
  for (const PlacedFunction::PsPart& part : function.ps_parts()) {
    connections.call<Method::RegisterServer>(part.ps, {.function = function.handle()}, *part.metadata, part.constants);
  }
}

void register_on_worker(const PlacedFunction& function, rpc::RepeatingStream& worker, std::uint64_t job,
                        SentConstants& sent) {
  const PlacedFunction::WorkerPart& part = function.worker_part();
  call_with_constants<Method::RegisterWorker>(worker, {.job = job, .function = function.handle()}, *part.metadata,
                                              part.constants, sent);
}

}  // namespace cohort::distribute
