#include "cohort/core/thread_scope.h"

#include <atomic>

namespace cohort {
namespace {

constinit std::atomic<const detail::ScopeKind*> scope_kinds = nullptr;

}  // namespace

// A program's own kinds are listed when it, or a library it opens, is loaded: perhaps while threads run.
detail::ScopeKind::ScopeKind(Innermost innermost) : innermost(innermost), next(scope_kinds.load()) {
  while (!scope_kinds.compare_exchange_weak(next, this)) {
  }
}

FreshThread::FreshThread() {
  for (const detail::ScopeKind* kind = scope_kinds.load(); kind; kind = kind->next) {
    detail::ScopeLink*& innermost = kind->innermost();
    if (innermost) set_aside_.emplace_back(&innermost, std::exchange(innermost, nullptr));
  }
}

FreshThread::~FreshThread() {
  for (const auto& [innermost, link] : set_aside_) *innermost = link;
}

}  // namespace cohort
