#include "cohort/model/layer/remat_scope.h"

#include <algorithm>
#include <array>

#include "cohort/core/error.h"
#include "cohort/core/text.h"

namespace cohort {
namespace {

std::shared_ptr<const RematMode> checked(RematMode mode) {
  constexpr std::array<std::string_view, 3> kModes = {"full", "list_of_layers", "larger_than"};
  if (std::find(kModes.begin(), kModes.end(), mode.mode) == kModes.end()) {
    throw invalid_argument("RematScope", "mode must be 'full', 'list_of_layers' or 'larger_than'",
                           {{"mode", in_quotes(mode.mode)}});
  }
  return std::make_shared<const RematMode>(std::move(mode));
}

}  // namespace

RematScope::RematScope(RematMode mode) : innermost_(checked(std::move(mode))) {}
std::shared_ptr<const RematMode> RematScope::current() { return Innermost::current(); }

}  // namespace cohort
