#include "cohort/model/layer/remat_scope.h"

#include <algorithm>
#include <array>

#include "cohort/core/error.h"

namespace cohort {
namespace {

thread_local std::shared_ptr<const RematMode> current_mode;

}  // namespace

RematScope::RematScope(RematMode mode) : before_(current_mode) {
  constexpr std::array<std::string_view, 3> kModes = {"full", "list_of_layers", "larger_than"};
  if (std::find(kModes.begin(), kModes.end(), mode.mode) == kModes.end()) {
    throw invalid_argument("RematScope", "mode must be 'full', 'list_of_layers' or 'larger_than'",
                           {{"mode", "'" + mode.mode + "'"}});
  }
  current_mode = std::make_shared<const RematMode>(std::move(mode));
}
RematScope::~RematScope() { current_mode = before_; }
std::shared_ptr<const RematMode> RematScope::current() { return current_mode; }

}  // namespace cohort
