#include "cohort/core/joined_steps.h"

namespace cohort {
namespace {

// Small ops in a row: a GPU does them in one launch. Only passes make it.
COHORT_OP("JoinedSteps")
    .inputs(0, -1)
    .checks()
    .writes()
    .infer([](const OpCall& call) { return JoinedSteps(call).outputs(); })
    .claims([](const OpCall& call) { return JoinedSteps(call).claims(); })
    .not_differentiable();

}  // namespace
}  // namespace cohort
