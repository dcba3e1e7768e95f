#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort {

// A field of an operation's config; those marked so may be null.
struct OperationField {
  // The type of its value.
  enum class Kind {
    Bool,
    OptionalBool,
    Integer,
    OptionalInteger,
    Number,
    Text,
    OptionalText,
    Integers,
    OptionalIntegers,
    Pairs,       // a list of lists of two integers; in attributes one after another
    SummedAxes,  // an integer, or two lists of as many axes; in attributes one after the other
    Any          // whatever Keras writes there, null included
  };
  // Keras's name.
  std::string name;
  // The type of its value.
  Kind kind;
};

// One of Keras's operations (keras.ops), which become layers when called on symbols.
struct OperationDef {
  std::string module;                  // "keras.src.ops.numpy"
  std::string name;                    // "Add"
  std::vector<std::string> arguments;  // of call, by Keras's names: {"x1", "x2"}
  std::vector<OperationField> fields;  // of the config
  // The arguments in order, an empty element where one is not given; the config's fields that are not null, and call
  // arguments that are not tensors.
  std::function<Element(const std::vector<Element>& arguments, const Attributes& config)> compute;

  // Whether files say null for a call's arguments that are not given: a few of Keras's operations ask for each.
  bool lists_all_arguments = false;

  // The name it is registered under: "keras.src.ops.numpy>Add".
  std::string registered_name() const { return module + ">" + name; }
};

// The layer an operation becomes: saved as Keras saves it, without weights, trainable or dtype.
class Operation : public Layer {
 public:
  explicit Operation(const OperationDef& def, Attributes config = {});
  std::string class_name() const override { return def_->registered_name(); }
  std::string module_name() const override { return def_->module; }
  void visit_fields(FieldVisitor& visitor) override;
  std::vector<std::string> argument_names() const override { return def_->arguments; }
  // Whether files say null for arguments that are not given.
  bool lists_all_arguments() const { return def_->lists_all_arguments; }
  void build_element(const ShapeTree&) override {}
  Element call_element(const Element& inputs, const CallContext& context) override;

 protected:
  bool casts_inputs() const override { return false; }

 private:
  const OperationDef* def_;
  Attributes config_;
};

// Makes an operation known to call_operation and to files.
bool register_operation(OperationDef def);
// The module of an operation's class, "keras.src.ops.numpy" of "Add"; empty where no operation is called so.
std::string operation_module(std::string_view class_name);

// What an operation is called with: a symbol, several, a number, or a tensor that becomes part of the model.
using OperationArgument =
    std::variant<std::monostate, SymbolicTensor, std::vector<SymbolicTensor>, double, std::int64_t, Tensor>;
// Calls "numpy>Add", say, on its arguments in order; monostate where one is not given. `others` are arguments of call
// that are no tensors.
Symbols call_operation(const std::string& name, const std::vector<OperationArgument>& arguments,
                       const Attributes& config = {}, const Attributes& others = {});

}  // namespace cohort
