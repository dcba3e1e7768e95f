#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cohort/core/dtype.h"
#include "cohort/core/ref.h"
#include "cohort/core/shape.h"

namespace cohort {

class FieldVisitor;

// An object that Keras would rebuild from its class name and config: a layer, loss, metric, optimizer, initializer, ...
class Configurable {
 public:
  virtual ~Configurable() = default;
  // Keras's class name, "Dense"; a user's class says "package>Name".
  virtual std::string class_name() const = 0;
  // Keras's module, "keras.layers"; empty for a user's class.
  virtual std::string module_name() const { return {}; }
  // Shows every field of the config once: the same list writes and reads JSON.
  virtual void visit_fields(FieldVisitor&) {}
  // Called after fields were read, to derive what depends on them and to check them.
  virtual void fields_changed() {}
};

// A Ref<T> seen through its family's base, for visitors that know no concrete type.
class RefField {
 public:
  virtual ~RefField() = default;
  virtual Configurable* get() = 0;  // nullptr for None
  virtual void reset() = 0;
  virtual Configurable* make(std::string_view class_name_or_alias) = 0;  // default arguments; then its fields are visited
};

// Walks the fields of a config. A writer reads the references, a reader assigns them.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, std::int64_t& value) = 0;
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char* name, DType& value) = 0;
  virtual void field(const char* name, Shape& value) = 0;  // a list, None for unknown axes
  virtual void field(const char* name, std::vector<std::int64_t>& value) = 0;
  virtual void field(const char* name, std::vector<double>& value) = 0;
  virtual void field(const char* name, std::vector<std::string>& value) = 0;
  virtual void field(const char* name, std::optional<bool>& value) = 0;  // empty: null
  virtual void field(const char* name, std::optional<std::int64_t>& value) = 0;
  virtual void field(const char* name, std::optional<double>& value) = 0;
  virtual void field(const char* name, std::optional<std::string>& value) = 0;
  virtual void field(const char* name, RefField& value) = 0;
  virtual void field(const char* name, std::vector<std::unique_ptr<RefField>>& values) = 0;

  void field(const char* name, int& value) {
    std::int64_t wide = value;
    field(name, wide);
    value = static_cast<int>(wide);
  }
  template <class T>
  void field(const char* name, Ref<T>& value);
};

namespace detail {

template <class T>
class RefFieldOf : public RefField {
 public:
  explicit RefFieldOf(Ref<T>& ref) : ref_(&ref) {}
  Configurable* get() override { return ref_->get(); }
  void reset() override { *ref_ = nullptr; }
  Configurable* make(std::string_view name) override {
    *ref_ = Ref<T>(name);
    return ref_->get();
  }

 private:
  Ref<T>* ref_;
};

}  // namespace detail

template <class T>
void FieldVisitor::field(const char* name, Ref<T>& value) {
  detail::RefFieldOf<T> erased(value);
  field(name, static_cast<RefField&>(erased));
}

// Lists the fields of an options struct, in Keras's order:
//   COHORT_FIELDS(DenseOptions, activation, use_bias, ...)
#define COHORT_FIELD_1(f) visitor.field(#f, options.f);
#define COHORT_EXPAND(x) x
#define COHORT_FOR_EACH_1(m, a) m(a)
#define COHORT_FOR_EACH_2(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_1(m, __VA_ARGS__))
#define COHORT_FOR_EACH_3(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_2(m, __VA_ARGS__))
#define COHORT_FOR_EACH_4(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_3(m, __VA_ARGS__))
#define COHORT_FOR_EACH_5(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_4(m, __VA_ARGS__))
#define COHORT_FOR_EACH_6(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_5(m, __VA_ARGS__))
#define COHORT_FOR_EACH_7(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_6(m, __VA_ARGS__))
#define COHORT_FOR_EACH_8(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_7(m, __VA_ARGS__))
#define COHORT_FOR_EACH_9(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_8(m, __VA_ARGS__))
#define COHORT_FOR_EACH_10(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_9(m, __VA_ARGS__))
#define COHORT_FOR_EACH_11(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_10(m, __VA_ARGS__))
#define COHORT_FOR_EACH_12(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_11(m, __VA_ARGS__))
#define COHORT_FOR_EACH_13(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_12(m, __VA_ARGS__))
#define COHORT_FOR_EACH_14(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_13(m, __VA_ARGS__))
#define COHORT_FOR_EACH_15(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_14(m, __VA_ARGS__))
#define COHORT_FOR_EACH_16(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_15(m, __VA_ARGS__))
#define COHORT_FOR_EACH_17(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_16(m, __VA_ARGS__))
#define COHORT_FOR_EACH_18(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_17(m, __VA_ARGS__))
#define COHORT_FOR_EACH_19(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_18(m, __VA_ARGS__))
#define COHORT_FOR_EACH_20(m, a, ...) m(a) COHORT_EXPAND(COHORT_FOR_EACH_19(m, __VA_ARGS__))
#define COHORT_PICK_20(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, \
                       name, ...)                                                                                 \
  name
#define COHORT_FOR_EACH(m, ...)                                                                                     \
  COHORT_EXPAND(COHORT_PICK_20(                                                                                     \
      __VA_ARGS__, COHORT_FOR_EACH_20, COHORT_FOR_EACH_19, COHORT_FOR_EACH_18, COHORT_FOR_EACH_17,                  \
      COHORT_FOR_EACH_16, COHORT_FOR_EACH_15, COHORT_FOR_EACH_14, COHORT_FOR_EACH_13, COHORT_FOR_EACH_12,           \
      COHORT_FOR_EACH_11, COHORT_FOR_EACH_10, COHORT_FOR_EACH_9, COHORT_FOR_EACH_8, COHORT_FOR_EACH_7,              \
      COHORT_FOR_EACH_6, COHORT_FOR_EACH_5, COHORT_FOR_EACH_4, COHORT_FOR_EACH_3, COHORT_FOR_EACH_2,                \
      COHORT_FOR_EACH_1)(m, __VA_ARGS__))
#define COHORT_FIELDS(Type, ...)                                                   \
  inline void visit_options(Type& options, ::cohort::FieldVisitor& visitor) {      \
    COHORT_FOR_EACH(COHORT_FIELD_1, __VA_ARGS__)                                   \
  }

}  // namespace cohort
