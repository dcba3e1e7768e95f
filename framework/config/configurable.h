#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cohort/config/ref.h"
#include "cohort/config/registration.h"
#include "cohort/core/dtype.h"
#include "cohort/core/error.h"
#include "cohort/core/shape.h"

namespace cohort {

class FieldVisitor;

// An object that Keras would rebuild from its class name and config: a layer, loss, metric, optimizer, initializer, ...
class Configurable {
 public:
  virtual ~Configurable() = default;
  // Keras's class name, "Dense", or a user's "package>Name": what COHORT_REGISTER says; C++'s name of a class that is
  // not registered.
  virtual std::string class_name() const;
  // Keras's module, "keras.layers"; empty for a user's class.
  virtual std::string module_name() const;
  // Shows every field of the config once: the same list writes and reads JSON.
  virtual void visit_fields(FieldVisitor&) {}
  // Called after fields were read, to derive what depends on them and to check them.
  virtual void fields_changed() {}
  // What Keras writes in place of the whole object ("relu"); empty when it writes the object.
  virtual std::string short_name() const { return {}; }
  // Keys that Keras writes into this class's config and that mean nothing here.
  virtual std::vector<std::string> ignored_fields() const { return {}; }
  // Keras's layers write their dtype as a policy object, everything else as its name.
  virtual bool writes_dtype_policy() const { return false; }
};

// A Ref<T> seen through its family's base, for visitors that know no concrete type.
class RefField {
 public:
  virtual ~RefField() = default;
  virtual Configurable* get() = 0;  // nullptr for None
  // Makes it None.
  virtual void reset() = 0;
  // An object with default arguments, whose fields are then visited.
  virtual Configurable* make(std::string_view class_name_or_alias) = 0;
  // Takes over an object that exists; false, and nothing changes, for one of another family.
  virtual bool set(const std::shared_ptr<Configurable>& object) = 0;
};

// A std::vector<Ref<T>> seen the same way.
class RefListField {
 public:
  virtual ~RefListField() = default;
  // Number of objects.
  virtual std::size_t size() const = 0;
  // Object number i; nullptr for None.
  virtual Configurable* get(std::size_t i) = 0;
  // Removes all.
  virtual void clear() = 0;
  virtual void append() = 0;  // a None at the end, to be filled through back()
  // The last one.
  virtual RefField& back() = 0;
};

// Walks the fields of a config. A writer reads the references, a reader assigns them.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  // True for a visitor that assigns to what it is shown.
  virtual bool reads_config() const { return false; }
  // Shows a field of the config under Keras's name.
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
  virtual void field(const char* name, std::optional<Shape>& value) = 0;
  virtual void field(const char* name, std::optional<std::vector<std::int64_t>>& value) = 0;
  virtual void field(const char* name, std::optional<std::vector<double>>& value) = 0;
  virtual void field(const char* name, RefField& value) = 0;
  virtual void field(const char* name, RefListField& values) = 0;
  // A number, or the object in its place: a learning rate and its schedule. The object counts when there is one.
  virtual void field(const char* name, double& number, RefField& object) = 0;

  // The same for types that are shown as one of those above.
  void field(const char* name, int& value);
  template <class T>
  void field(const char* name, Ref<T>& value);
  template <class T>
  void field(const char* name, std::vector<Ref<T>>& values);
  template <class T>
  void field(const char* name, double& number, Ref<T>& object);
};

inline void FieldVisitor::field(const char* name, int& value) {
  std::int64_t wide = value;
  field(name, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    throw invalid_argument("config", "an integer of 32 bits is expected", {{name, wide}});
  }
  value = static_cast<int>(wide);
}

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
  bool set(const std::shared_ptr<Configurable>& object) override {
    std::shared_ptr<T> body = std::dynamic_pointer_cast<T>(object);
    if (!body) return false;
    *ref_ = Ref<T>(std::move(body));
    return true;
  }

 private:
  Ref<T>* ref_;
};

template <class T>
class RefListFieldOf : public RefListField {
 public:
  explicit RefListFieldOf(std::vector<Ref<T>>& refs) : refs_(&refs) {}
  std::size_t size() const override { return refs_->size(); }
  Configurable* get(std::size_t i) override { return (*refs_)[i].get(); }
  void clear() override { refs_->clear(); }
  void append() override {
    refs_->emplace_back();
    back_.emplace(refs_->back());
  }
  RefField& back() override { return *back_; }

 private:
  std::vector<Ref<T>>* refs_;
  std::optional<RefFieldOf<T>> back_;
};

}  // namespace detail

template <class T>
void FieldVisitor::field(const char* name, Ref<T>& value) {
  detail::RefFieldOf<T> erased(value);
  field(name, static_cast<RefField&>(erased));
}

template <class T>
void FieldVisitor::field(const char* name, std::vector<Ref<T>>& values) {
  detail::RefListFieldOf<T> erased(values);
  field(name, static_cast<RefListField&>(erased));
}

template <class T>
void FieldVisitor::field(const char* name, double& number, Ref<T>& object) {
  detail::RefFieldOf<T> erased(object);
  field(name, number, static_cast<RefField&>(erased));
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
#define COHORT_FOR_EACH(m, ...)                                                                                        \
  COHORT_EXPAND(COHORT_PICK_20(                                                                                        \
      __VA_ARGS__, COHORT_FOR_EACH_20, COHORT_FOR_EACH_19, COHORT_FOR_EACH_18, COHORT_FOR_EACH_17, COHORT_FOR_EACH_16, \
      COHORT_FOR_EACH_15, COHORT_FOR_EACH_14, COHORT_FOR_EACH_13, COHORT_FOR_EACH_12, COHORT_FOR_EACH_11,              \
      COHORT_FOR_EACH_10, COHORT_FOR_EACH_9, COHORT_FOR_EACH_8, COHORT_FOR_EACH_7, COHORT_FOR_EACH_6,                  \
      COHORT_FOR_EACH_5, COHORT_FOR_EACH_4, COHORT_FOR_EACH_3, COHORT_FOR_EACH_2, COHORT_FOR_EACH_1)(m, __VA_ARGS__))
#define COHORT_FIELDS(Type, ...)                                              \
  inline void visit_options(Type& options, ::cohort::FieldVisitor& visitor) { \
    COHORT_FOR_EACH(COHORT_FIELD_1, __VA_ARGS__)                              \
  }

}  // namespace cohort
