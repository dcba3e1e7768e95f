#include "cohort/autodiff/scan_gradient.h"
#include "cohort/autodiff/subgraphs.h"
#include "cohort/graph/specialize.h"

namespace cohort {

Specs turn_specs(const OpCall& call, const ScanLayout& layout) {
  Specs specs;
  for (std::size_t i = 0; i < layout.total; ++i) {
    TensorSpec spec = call.spec(static_cast<int>(i));
    if (i >= layout.carries && i < layout.first_capture()) {
      call.check(spec.shape.rank() > 0, "a sequence has time as axis 0", {{"sequence", spec}});
      spec.shape = spec.shape.slice(1);
    }
    specs.push_back(spec);
  }
  return specs;
}

namespace {

Specs infer_scan(const OpCall& call) {
  call.check(call.attr<int>("num_carries") >= 0 && call.attr<int>("num_sequences") >= 0 &&
                 call.attr<std::int64_t>("num_carries") + call.attr<std::int64_t>("num_sequences") <= call.num_inputs(),
             "carries and sequences are inputs",
             {{"num_carries", call.attr<int>("num_carries")}, {"num_sequences", call.attr<int>("num_sequences")}});
  const ScanLayout layout(call);
  call.check(layout.sequences > 0 || call.attr<std::int64_t>("length") >= 0,
             "the number of turns comes from a sequence or from length",
             {{"length", call.attr<std::int64_t>("length")}});
  const Specs specs = turn_specs(call, layout);
  for (std::size_t i = layout.carries; i < layout.first_capture(); ++i) {
    const std::int64_t first = call.shape(static_cast<int>(layout.carries))[0],
                       own = call.shape(static_cast<int>(i))[0];
    call.check(first == own || first == kUnknown || own == kUnknown, "all sequences have the same length",
               {{"first", first}, {"other", own}});
  }
  const Graph body = specialize(*call.attr<GraphPtr>("body"), specs);
  call.check(body.outputs.size() >= layout.carries, "a turn returns the next carries, then its results",
             {{"returned", body.outputs.size()}, {"carries", layout.carries}});
  const std::int64_t steps =
      layout.sequences > 0 ? call.shape(static_cast<int>(layout.carries))[0] : call.attr<std::int64_t>("length");
  Specs outputs;
  for (std::size_t i = 0; i < body.outputs.size(); ++i) {
    TensorSpec spec = body.spec(body.outputs[i]);
    if (i < layout.carries) {
      call.check(spec.dtype == specs[i].dtype && spec.shape.compatible(specs[i].shape),
                 "a carry keeps its type and shape", {{"before", specs[i]}, {"after", spec}});
      outputs.push_back(specs[i]);
    } else {
      Shape stacked{steps};
      for (std::int64_t size : spec.shape) stacked.push_back(size);
      outputs.push_back({spec.dtype, stacked});
    }
  }
  return outputs;
}

COHORT_OP("Scan")
    .inputs(0, -1)
    .attr("num_sequences", 0)
    .attr("reverse", false)
    .attr("length", -1)
    .stateful()
    .writes()
    .infer(infer_scan)
    .gradient(scan_gradient);

}  // namespace
}  // namespace cohort
