#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cohort/config/registry.h"

namespace cohort {

// A shared handle to an object of a polymorphic family (layers, losses, ...). Copies share the object; a string makes
// one by its registered Keras name with default arguments. An empty Ref stands for Python's None.
template <class T>
class Ref {
 public:
  // The class of the object.
  using Body = T;

  // None.
  Ref() = default;
  Ref(std::nullptr_t) {}
  // A handle of an object.
  Ref(std::shared_ptr<T> body) : body_(std::move(body)) {}
  // A new object by its registered name, with default arguments; throws NotFound for an unknown one.
  Ref(const char* name) : Ref(std::string_view(name)) {}
  Ref(const std::string& name) : Ref(std::string_view(name)) {}
  Ref(std::string_view name) : body_(T::from_name(name)) {}
  template <class U>
  requires(std::derived_from<U, T> && !std::same_as<U, T>) Ref(const Ref<U>& other) : body_(other.shared()) {}

  // The object; nullptr for None.
  T* get() const { return body_.get(); }
  // A member of the object.
  T* operator->() const { return body_.get(); }
  // The object itself.
  T& operator*() const { return *body_; }
  // False for None.
  explicit operator bool() const { return body_ != nullptr; }
  // The shared pointer to the object.
  const std::shared_ptr<T>& shared() const { return body_; }
  // The same object as one of a derived class; None when it is no such object.
  template <class U>
  Ref<U> as() const {
    return Ref<U>(std::dynamic_pointer_cast<U>(body_));
  }
  friend bool operator==(const Ref& a, const Ref& b) { return a.body_ == b.body_; }

 private:
  std::shared_ptr<T> body_;
};

// Makes a user's own object and returns its handle: ch::make<Scale>(). A family may name a richer handle
// (`template <class U> using Handle`), as layers do to be callable.
template <class T, class... Args>
auto make(Args&&... args) {
  auto body = std::make_shared<T>(std::forward<Args>(args)...);
  if constexpr (requires { typename T::template Handle<T>; }) {
    return typename T::template Handle<T>(std::move(body));
  } else {
    return Ref<T>(std::move(body));
  }
}

}  // namespace cohort
