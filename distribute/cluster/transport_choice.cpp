#include "cohort/distribute/cluster/transport_choice.h"

#include "cohort/core/error.h"

namespace cohort::distribute {

void check_transport(std::string_view who, const std::string& transport) {
  if (transport == "auto" || transport == "shm" || transport == "tcp" || transport == "grpc") return;
  throw invalid_argument(std::string(who), "the transport 'auto', 'shm', 'tcp' or 'grpc' is expected",
                         {{"transport", transport}});
}

}  // namespace cohort::distribute
