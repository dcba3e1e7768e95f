#include "cohort/distribute/collective/batch_rows.h"

#include <string_view>

#include "cohort/core/device_spec.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/joining.h"

namespace cohort::distribute {

Tensor joined_rows(const Tensors& parts) {
  if (parts.size() == 1 || parts[0].rank() == 0) return parts[0].to_host();
  const EagerScope eager;
  const DeviceScope host(DeviceSpec::from_string("CPU:0"));
  Tensors on_host;
  for (const Tensor& part : parts) on_host.push_back(part.to_host());
  return ops::concatenate(on_host, 0);
}

std::optional<std::int64_t> batch_size_of(const Dataset& dataset) {
  const std::string_view kind = dataset.kind();
  if (kind == "batch" || kind == "padded_batch") return dataset.attributes().get<std::int64_t>("batch_size");
  const bool keeps_batches = kind == "prefetch" || kind == "map" || kind == "with_options";
  return keeps_batches ? batch_size_of(dataset.inputs()[0]) : std::nullopt;
}

}  // namespace cohort::distribute
