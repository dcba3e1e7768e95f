#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/config/config_value.h"
#include "cohort/config/field_codec.h"
#include "cohort/config/ref.h"
#include "cohort/config/registration.h"
#include "cohort/core/error.h"

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

// Walks the fields of a config, to write them or to read them.
class FieldVisitor {
 public:
  // `who` is the class whose config it is, for errors.
  explicit FieldVisitor(std::string who = "config") : who_(std::move(who)) {}
  virtual ~FieldVisitor() = default;
  // True for a visitor that assigns to what it is shown.
  virtual bool reads_config() const { return false; }

  // Shows a field of the config under Keras's name; FieldCodec<T> says how it is written.
  template <class T>
  void field(const char* name, T& value) {
    if (!reads_config()) return write(name, FieldCodec<T>::to(value));
    if (const std::optional<ConfigValue> given = read(name)) value = FieldCodec<T>::from({*given, who_, name});
  }
  // A field whose type the file decides: what a call's argument may be, or null.
  void field(const char* name, std::optional<AttributeValue>& value);

 protected:
  // Takes the value of a field; for writers.
  virtual void write(const char* /*name*/, const ConfigValue& /*value*/) {}
  // The value of a field; none when the config does not mention it. For readers.
  virtual std::optional<ConfigValue> read(const char* /*name*/) { return std::nullopt; }
  // The same, as null or an AttributeValue.
  virtual std::optional<ConfigValue> read_attribute(const char* name) { return read(name); }

  const std::string who_;
};

// Lists the fields of an options struct that its config holds, in the config's order:
//   COHORT_FIELDS(DenseOptions, activation, use_bias, ...)
// visit_options(options, visitor) then shows them, each under its own name.
#define COHORT_FIELDS(Type, ...)                                              \
  inline void visit_options(Type& options, ::cohort::FieldVisitor& visitor) { \
    COHORT_FOR_EACH(COHORT_SHOW_FIELD, __VA_ARGS__)                           \
  }
#define COHORT_SHOW_FIELD(name) visitor.field(#name, options.name);

// COHORT_FOR_EACH(m, a, b, c) is m(a) m(b) m(c), for up to 40: each scan of the text expands one more.
#define COHORT_FOR_EACH(m, ...) COHORT_SCAN_40(COHORT_FOR_EACH_STEP(m, __VA_ARGS__))
#define COHORT_FOR_EACH_STEP(m, a, ...) m(a) __VA_OPT__(COHORT_FOR_EACH_AGAIN COHORT_NO_ARGUMENTS(m, __VA_ARGS__))
#define COHORT_FOR_EACH_AGAIN() COHORT_FOR_EACH_STEP
#define COHORT_NO_ARGUMENTS ()
#define COHORT_SCAN_40(...) COHORT_SCAN_13(COHORT_SCAN_13(COHORT_SCAN_13(__VA_ARGS__)))
#define COHORT_SCAN_13(...) COHORT_SCAN_4(COHORT_SCAN_4(COHORT_SCAN_4(__VA_ARGS__)))
#define COHORT_SCAN_4(...) COHORT_SCAN_1(COHORT_SCAN_1(COHORT_SCAN_1(__VA_ARGS__)))
#define COHORT_SCAN_1(...) __VA_ARGS__

}  // namespace cohort
