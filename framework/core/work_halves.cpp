#include "cohort/core/work_halves.h"

namespace cohort {
namespace {

constexpr const char *kBegins = "begins_work", *kEnds = "ends_work";

}  // namespace

void WorkHalves::make_first(OpDef& op) { op.writes().attr(kBegins, true); }
void WorkHalves::make_second(OpDef& op) { op.writes().attr(kEnds, true); }

bool WorkHalves::begins(const OpDef& op) { return op.writes_resources() && op.defaults().has(kBegins); }
bool WorkHalves::ends(const OpDef& op) { return op.writes_resources() && op.defaults().has(kEnds); }

}  // namespace cohort
