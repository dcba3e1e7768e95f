#pragma once

#include <utility>
#include <vector>

namespace cohort {
namespace detail {

// A scope as a link of its thread's stack of scopes of one kind.
class ScopeLink {
 public:
  ScopeLink(const ScopeLink&) = delete;
  ScopeLink& operator=(const ScopeLink&) = delete;

 protected:
  explicit ScopeLink(ScopeLink*& innermost) : outer_(std::exchange(innermost, this)) {}
  ~ScopeLink() = default;
  // Without effect on a link that is not on the stack.
  void unlink(ScopeLink*& innermost) {
    for (ScopeLink** link = &innermost; *link; link = &(*link)->outer_) {
      if (*link == this) {
        *link = outer_;
        return;
      }
    }
  }
  ScopeLink* outer_;
};

// A kind of scope, by the function that gives this thread's innermost one. All kinds are listed.
struct ScopeKind {
  using Innermost = ScopeLink*& (*)();
  explicit ScopeKind(Innermost innermost);
  const Innermost innermost;
  const ScopeKind* next = nullptr;
};

}  // namespace detail

// A value that holds on this thread while the scope lives; scopes of one kind nest and may end in any order. `Tag` is
// any type, and tells the kinds apart. Looking up the innermost value is one load of a thread-local pointer.
template <class Tag, class T>
class ThreadScope : private detail::ScopeLink {
 public:
  // Begins the scope.
  explicit ThreadScope(T value) : ScopeLink(innermost_link), value_(std::move(value)) { static_cast<void>(&kKind); }
  ~ThreadScope() { end(); }
  // Ends the scope before its lifetime does.
  void end() { unlink(innermost_link); }

  // The innermost one of this thread; nullptr outside of any.
  static const ThreadScope* innermost() { return static_cast<ThreadScope*>(innermost_link); }
  // The innermost one's value; T{} outside of any.
  static T current() { return innermost_link ? innermost()->value_ : T{}; }

  // What holds while it is the innermost one.
  const T& value() const { return value_; }
  // The one around it; nullptr for none.
  const ThreadScope* outer() const { return static_cast<ThreadScope*>(outer_); }

 private:
  static detail::ScopeLink*& link_of_thread() { return innermost_link; }

  static inline thread_local constinit detail::ScopeLink* innermost_link = nullptr;
  static inline const detail::ScopeKind kKind{&link_of_thread};
  T value_;
};

// While it lives, its thread is as if it were new: outside of every scope of every kind.
class FreshThread {
 public:
  // Puts the scopes of this thread aside.
  FreshThread();
  ~FreshThread();
  FreshThread(const FreshThread&) = delete;
  FreshThread& operator=(const FreshThread&) = delete;

 private:
  std::vector<std::pair<detail::ScopeLink**, detail::ScopeLink*>> set_aside_;
};

}  // namespace cohort
