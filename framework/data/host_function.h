#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "cohort/core/concat.h"
#include "cohort/data/element.h"
#include "cohort/data/indexed_elements.h"

namespace cohort {

// Plain C++ that map runs on the tensors of an element, on the host and not traced; it travels as the name that it is
// registered under. Several threads call it at once. What it draws at random it draws by the element's key, so that
// elements do not depend on who computes them.
class HostFunction {
 public:
  // What it is called as. `results` hold the tensors of an earlier element, whose memory can be used again with
  // Tensor::renew.
  using Call = std::function<void(const Tensors& arguments, Tensors& results, const ElementKey& key)>;

  // The one that COHORT_HOST_FUNCTION made known under this name; throws where there is none.
  //   result_spec: structure, types and shapes of what it gives; its results are checked.
  static HostFunction registered(const std::string& name, ElementSpec result_spec);

  // The name that it is registered under.
  const std::string& name() const { return name_; }
  // Structure, types and shapes of its results.
  const ElementSpec& result_spec() const { return spec_; }
  // Fills `results` with its results for an element's leaves; throws unless they are as declared.
  void run(const Tensors& arguments, Tensors& results, const ElementKey& key) const;

  // Makes a function known by name; true, so that it can initialize a static variable.
  //   f: Tensors(const Tensors&) or void(const Tensors&, Tensors&), either with a const ElementKey& behind.
  template <class F>
  static bool make_known(const std::string& name, F f) {
    if constexpr (std::is_invocable_v<F, const Tensors&, Tensors&, const ElementKey&>) {
      return make_call_known(name, std::move(f));
    } else if constexpr (std::is_invocable_v<F, const Tensors&, Tensors&>) {
      return make_call_known(name, [f = std::move(f)](const Tensors& arguments, Tensors& results, const ElementKey&) {
        f(arguments, results);
      });
    } else if constexpr (std::is_invocable_v<F, const Tensors&, const ElementKey&>) {
      return make_call_known(name, [f = std::move(f)](const Tensors& arguments, Tensors& results,
                                                      const ElementKey& key) { results = f(arguments, key); });
    } else {
      return make_call_known(name, [f = std::move(f)](const Tensors& arguments, Tensors& results, const ElementKey&) {
        results = f(arguments);
      });
    }
  }

 private:
  HostFunction(std::string name, ElementSpec spec, std::shared_ptr<const Call> call);
  static bool make_call_known(const std::string& name, Call call);

  std::string name_;
  ElementSpec spec_;
  Specs leaves_;
  std::shared_ptr<const Call> call_;
};

// Registers a function of elements, where the program starts: then chains with it can be sent to workers that run the
// same program.
#define COHORT_HOST_FUNCTION(name, ...)                                                  \
  [[maybe_unused]] static const bool COHORT_CONCAT(cohort_host_function_, __COUNTER__) = \
      ::cohort::HostFunction::make_known(name, __VA_ARGS__)

}  // namespace cohort
