#include "cohort/distribute/coordinator/function_registration.h"

namespace cohort::distribute {

void register_on_ps(const PlacedFunction& function, TaskConnections& connections) {
  for (const PlacedFunction::PsPart& part : function.ps_parts()) {
    connections.call<Method::RegisterServer>(part.ps, {.function = function.handle()}, *part.metadata, part.constants);
  }
}

void register_on_worker(const PlacedFunction& function, rpc::RepeatingStream& worker, Head head, SentConstants& sent) {
  const PlacedFunction::WorkerPart& part = function.worker_part();
  proto::RegisterWorkerProto metadata = *part.metadata;
  head.function = function.handle();
  call_with_constants<Method::RegisterWorker>(worker, head, metadata, part.constants, sent);
  sent.note_function(function.handle(), metadata.constants());
}

}  // namespace cohort::distribute
