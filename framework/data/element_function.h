#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cohort/data/element.h"

namespace cohort {

// A function of one element, as map takes it: of the Element itself, or of its tensors, one argument each:
// [](Tensor x, Tensor y) { return std::tuple(x / 255.0, y); }. It returns an Element, a tensor or a tuple of them. A
// layer is one of a single tensor.
class ElementFunction {
 public:
  // From a lambda, a function, a std::function or a layer.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ElementFunction>) ElementFunction(F f) {
    if constexpr (std::is_convertible_v<F, std::function<Element(const Element&)>>) {
      call_ = std::move(f);
    } else if constexpr (requires { std::function(std::move(f)); }) {
      take_tensors(std::function(std::move(f)));
    } else {
      take_tensors(std::function<Tensor(const Tensor&)>(std::move(f)));
    }
  }
  // The result for one element, in a trace for its symbols.
  //   who: the transform that calls, for errors.
  Element operator()(const Element& element, const char* who) const;

 private:
  template <class R, class... Args>
  void take_tensors(std::function<R(Args...)> f) {
    arguments_ = sizeof...(Args);
    call_ = [f = std::move(f)](const Element& element) {
      return of_result(call_with(f, element.flatten(), std::index_sequence_for<Args...>{}));
    };
  }
  template <class F, std::size_t... I>
  static auto call_with(const F& f, const Tensors& leaves, std::index_sequence<I...>) {
    return f(leaves[I]...);
  }
  template <class R>
  static Element of_result(const R& result) {
    if constexpr (std::is_convertible_v<R, Element>) {
      return Element(result);
    } else {
      return std::apply([](const auto&... each) { return Element::tuple({Element(each)...}); }, result);
    }
  }

  std::function<Element(const Element&)> call_;
  std::optional<std::size_t> arguments_;  // tensors it takes; none where it takes the element
};

}  // namespace cohort
