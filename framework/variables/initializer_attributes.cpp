#include "cohort/variables/initializer_attributes.h"

#include "cohort/config/rare_fields.h"
#include "cohort/core/random.h"

namespace cohort {
namespace {

std::string key_of(const char* name) { return std::string("field.") + name; }

class Writer : public FieldVisitor, public RareFieldVisitor {
 public:
  explicit Writer(Attributes& attributes) : attributes_(attributes) {}
  bool complete() const { return complete_; }

  void field(const char* name, bool& value) override { set(name, value); }
  void field(const char* name, std::int64_t& value) override { set(name, value); }
  void field(const char* name, double& value) override { set(name, value); }
  void field(const char* name, std::string& value) override { set(name, value); }
  void field(const char* name, DType& value) override { set(name, value); }
  void field(const char* name, Shape& value) override { set(name, value); }
  void field(const char* name, std::vector<std::int64_t>& value) override { set(name, value); }
  void field(const char* name, std::vector<double>& value) override { set(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { set(name, value); }
  void field(const char* name, std::optional<bool>& value) override { set_given(name, value); }
  void field(const char* name, std::optional<std::int64_t>& value) override {
    if (!value && std::string_view(name) == "seed") {
      set(name, static_cast<std::int64_t>(next_op_seed()));
    } else {
      set_given(name, value);
    }
  }
  void field(const char* name, std::optional<double>& value) override { set_given(name, value); }
  void field(const char* name, std::optional<std::string>& value) override { set_given(name, value); }
  void field(const char* name, std::optional<Shape>& value) override { set_given(name, value); }
  void field(const char* name, std::optional<std::vector<std::int64_t>>& value) override { set_given(name, value); }
  void field(const char* name, std::optional<std::vector<double>>& value) override { set_given(name, value); }
  void field(const char*, RefField&) override { complete_ = false; }
  void field(const char*, RefListField&) override { complete_ = false; }
  void field(const char*, double&, RefField&) override { complete_ = false; }
  void rare_field(const char*, NestedLists&) override { complete_ = false; }
  void rare_field(const char*, NestedNumbers&) override { complete_ = false; }
  void rare_field(const char*, std::optional<NestedNumbers>&) override { complete_ = false; }
  void rare_field(const char*, std::optional<NumberDict>&) override { complete_ = false; }
  void rare_field(const char*, std::optional<AttributeValue>&) override { complete_ = false; }

 private:
  template <class T>
  void set(const char* name, const T& value) {
    attributes_.set(key_of(name), AttributeValue(value));
  }
  template <class T>
  void set_given(const char* name, const std::optional<T>& value) {
    if (value) set(name, *value);
  }

  Attributes& attributes_;
  bool complete_ = true;
};

class Reader : public FieldVisitor {
 public:
  explicit Reader(const Attributes& attributes) : attributes_(attributes) {}
  bool reads_config() const override { return true; }

  void field(const char* name, bool& value) override { get(name, value); }
  void field(const char* name, std::int64_t& value) override { get(name, value); }
  void field(const char* name, double& value) override { get(name, value); }
  void field(const char* name, std::string& value) override { get(name, value); }
  void field(const char* name, DType& value) override { get(name, value); }
  void field(const char* name, Shape& value) override { get(name, value); }
  void field(const char* name, std::vector<std::int64_t>& value) override { get(name, value); }
  void field(const char* name, std::vector<double>& value) override { get(name, value); }
  void field(const char* name, std::vector<std::string>& value) override { get(name, value); }
  void field(const char* name, std::optional<bool>& value) override { get_given(name, value); }
  void field(const char* name, std::optional<std::int64_t>& value) override { get_given(name, value); }
  void field(const char* name, std::optional<double>& value) override { get_given(name, value); }
  void field(const char* name, std::optional<std::string>& value) override { get_given(name, value); }
  void field(const char* name, std::optional<Shape>& value) override { get_given(name, value); }
  void field(const char* name, std::optional<std::vector<std::int64_t>>& value) override { get_given(name, value); }
  void field(const char* name, std::optional<std::vector<double>>& value) override { get_given(name, value); }
  void field(const char* name, RefField&) override { refuse(name); }
  void field(const char* name, RefListField&) override { refuse(name); }
  void field(const char* name, double&, RefField&) override { refuse(name); }

 private:
  // A field that was not written has what the class gives it.
  template <class T>
  void get(const char* name, T& value) {
    if (attributes_.has(key_of(name))) value = attributes_.get<T>(key_of(name));
  }
  template <class T>
  void get_given(const char* name, std::optional<T>& value) {
    value.reset();
    if (attributes_.has(key_of(name))) value = attributes_.get<T>(key_of(name));
  }
  [[noreturn]] static void refuse(const char* name) {
    throw invalid_argument("InitialValue", "an initializer made of plain fields is expected", {{"field", name}});
  }

  const Attributes& attributes_;
};

}  // namespace

std::optional<Attributes> write_initializer(const Initializer& initializer) {
  Attributes attributes{{"class", initializer.class_name()}};
  Writer writer(attributes);
  const_cast<Initializer&>(initializer).visit_fields(writer);  // a writer only reads what it is shown
  if (!writer.complete()) return std::nullopt;
  return attributes;
}

std::shared_ptr<Initializer> read_initializer(const Attributes& attributes) {
  std::shared_ptr<Initializer> initializer = Initializer::from_name(attributes.get<std::string>("class"));
  Reader reader(attributes);
  initializer->visit_fields(reader);
  initializer->fields_changed();
  return initializer;
}

Tensor compute_initial_value(const Attributes& attributes) {
  const auto shape = attributes.get<Shape>("shape");
  const Tensor whole = (*read_initializer(attributes))(shape, attributes.get<DType>("dtype"));
  if (shape.rank() == 0 || attributes.get<std::int64_t>("rows") == shape[0]) return whole;
  return whole.rows(attributes.get<std::int64_t>("first_row"), attributes.get<std::int64_t>("rows")).clone();
}

}  // namespace cohort
