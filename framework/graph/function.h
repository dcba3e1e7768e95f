#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"

namespace cohort {

// What a function returned; a single result converts to a tensor.
class Results : public Tensors {
 public:
  Results() = default;
  Results(Tensors tensors) : Tensors(std::move(tensors)) {}
  // The only result; throws when there are several.
  operator Tensor() const;
};

// How an argument type crosses into a trace as one tensor; specialised for iterators and other handles.
template <class T>
struct FunctionArgument {
  // The tensor an argument becomes.
  static const Tensor& to_tensor(const T& value) requires std::is_same_v<T, Tensor> { return value; }
  // The argument a tensor stands for.
  static const Tensor& from_tensor(const Tensor& tensor) { return tensor; }
};

// What a Function is made with.
struct FunctionOptions {
  // Fixed argument specs (unknown axes allowed); empty: traced for the shapes met, axes that vary become unknown.
  Specs input_signature = {};
  // Which passes rewrite its graphs.
  PassOptions passes = {};
  std::string name = {};
};

// C++ code that becomes a graph: the first call with a signature runs the code once on symbols, later calls run the
// graph. Copies share traces. Thread-safe.
class Function {
 public:
  // The code, on a list of tensors.
  using Body = std::function<Tensors(const Tensors&)>;

  // An undefined function.
  Function() = default;
  // From code that takes `arity` tensors (-1: any number); function() is shorter.
  Function(Body body, int arity, FunctionOptions options, std::source_location where);

  // Calls it on tensors, traced for their types and shapes if need be.
  Results call(const Tensors& arguments) const;
  // The same for arguments one by one: tensors, iterators.
  template <class... Args>
  Results operator()(const Args&... arguments) const {
    return call({FunctionArgument<std::decay_t<Args>>::to_tensor(arguments)...});
  }

  // The trace for these arguments, made if need be.
  TracedGraph concrete(const Specs& arguments) const;
  // The same for arguments like these, resources among them.
  TracedGraph concrete(const Tensors& examples) const;
  // The newest trace's graph.
  const Graph& graph() const;
  // How often its code was traced.
  int trace_count() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace detail {

inline Tensors to_tensors(Tensor value) { return {std::move(value)}; }
inline Tensors to_tensors(Tensors values) { return values; }
template <class... T>
Tensors to_tensors(const std::tuple<T...>& values) {
  return std::apply([](const auto&... each) { return Tensors{Tensor(each)...}; }, values);
}

template <class F, class R, class... Args>
Function make_function(F body, R (F::*)(Args...) const, FunctionOptions options, std::source_location where) {
  auto run = [body = std::move(body)]<std::size_t... I>(const Tensors& arguments, std::index_sequence<I...>)->Tensors {
    auto call = [&]() -> decltype(auto) {
      return body(FunctionArgument<std::decay_t<Args>>::from_tensor(arguments[I])...);
    };
    if constexpr (std::is_void_v<R>) {
      call();
      return {};
    } else {
      return to_tensors(call());
    }
  };
  return Function([run](const Tensors& arguments) { return run(arguments, std::index_sequence_for<Args...>{}); },
                  static_cast<int>(sizeof...(Args)), std::move(options), where);
}

}  // namespace detail

// Makes a Function of a lambda that takes tensors (or iterators) and returns a tensor, tensors, a tuple or nothing.
template <class F>
Function function(F body, FunctionOptions options = {}, std::source_location where = std::source_location::current()) {
  if constexpr (std::is_invocable_v<F, const Tensors&> && !std::is_invocable_v<F, const Tensor&>) {
    return Function([body](const Tensors& arguments) { return detail::to_tensors(body(arguments)); }, -1,
                    std::move(options), where);
  } else {
    return detail::make_function(std::move(body), &F::operator(), std::move(options), where);
  }
}

}  // namespace cohort
