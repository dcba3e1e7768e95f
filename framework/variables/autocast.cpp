#include "cohort/variables/autocast.h"

#include <utility>

namespace cohort {
namespace {

thread_local std::optional<DType> autocast;

}  // namespace

AutocastScope::AutocastScope(std::optional<DType> dtype) : before_(std::exchange(autocast, dtype)) {}
AutocastScope::~AutocastScope() { autocast = before_; }
std::optional<DType> current_autocast() { return autocast; }

}  // namespace cohort
