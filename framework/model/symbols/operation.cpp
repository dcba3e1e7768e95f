#include "cohort/model/symbols/operation.h"

#include <map>
#include <optional>

#include "cohort/core/text.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"

namespace cohort {
namespace {

// How many axes a product sums over, or which: those of the one operand, then those of the other.
struct SummedAxes {
  AttributeValue value;
};

}  // namespace

template <>
struct FieldCodec<SummedAxes> {
  static ConfigValue to(const SummedAxes& axes) {
    if (const auto* number = std::get_if<std::int64_t>(&axes.value)) return *number;
    const auto& both = std::get<std::vector<std::int64_t>>(axes.value);
    const auto middle = both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2);
    return FieldCodec<NestedLists>::to({{both.begin(), middle}, {middle, both.end()}});
  }
  static SummedAxes from(const GivenField& given) {
    if (const auto* number = given.value.get<std::int64_t>()) return {*number};
    NestedLists lists = FieldCodec<NestedLists>::from(given);
    if (lists.size() != 2 || lists[0].size() != lists[1].size())
      given.refuse("an integer or two lists of as many axes");
    lists[0].insert(lists[0].end(), lists[1].begin(), lists[1].end());
    return {std::move(lists[0])};
  }
};

namespace {

std::map<std::string, OperationDef>& definitions() {
  static auto* definitions = new std::map<std::string, OperationDef>;
  return *definitions;
}

template <class T>
void visit_value(FieldVisitor& visitor, const char* name, Attributes& config) {
  T value = config.get<T>(name, T());
  visitor.field(name, value);
  config.set(name, AttributeValue(std::move(value)));
}

template <class T>
void visit_optional(FieldVisitor& visitor, const char* name, Attributes& config) {
  std::optional<T> value;
  if (config.has(name)) value = config.get<T>(name);
  visitor.field(name, value);
  if (value) {
    config.set(name, AttributeValue(std::move(*value)));
  } else {
    config.erase(name);
  }
}

void visit_pairs(FieldVisitor& visitor, const char* name, Attributes& config) {
  const auto flat = config.get<std::vector<std::int64_t>>(name, {});
  NestedLists pairs;
  for (std::size_t i = 0; i + 1 < flat.size(); i += 2) pairs.push_back({flat[i], flat[i + 1]});
  visitor.field(name, pairs);
  std::vector<std::int64_t> read;
  for (const std::vector<std::int64_t>& pair : pairs) {
    if (pair.size() != 2) throw invalid_argument("operation", "lists of two integers are expected", {{"field", name}});
    read.insert(read.end(), pair.begin(), pair.end());
  }
  config.set(name, std::move(read));
}

void visit_summed_axes(FieldVisitor& visitor, const char* name, Attributes& config) {
  const AttributeValue* held = config.find(name);
  SummedAxes axes{held ? *held : AttributeValue(std::int64_t{2})};
  visitor.field(name, axes);
  config.set(name, std::move(axes.value));
}

void visit_anything(FieldVisitor& visitor, const char* name, Attributes& config) {
  const AttributeValue* held = config.find(name);
  std::optional<AttributeValue> value = held ? std::optional(*held) : std::nullopt;
  visitor.field(name, value);
  if (value) {
    config.set(name, std::move(*value));
  } else {
    config.erase(name);
  }
}

// The tensor an argument stands for: a number takes the type of the tensor beside it.
Element as_element(const AttributeValue& value, const Tensor& beside) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
  if (const auto* number = std::get_if<double>(&value)) return ops::scalar_like(beside, *number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return ops::scalar_like(beside, static_cast<double>(*integer));
  }
  if (const auto* truth = std::get_if<bool>(&value)) return ops::scalar_like(beside, *truth ? 1.0 : 0.0);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    return ops::cast(Tensor::of(*list, {static_cast<std::int64_t>(list->size())}), DType::Int32);
  }
  return {};
}

}  // namespace

Operation::Operation(const OperationDef& def, Attributes config) : def_(&def), config_(std::move(config)) {
  supports_masking_ = false;
}

void Operation::visit_fields(FieldVisitor& visitor) {
  std::string name = visitor.reads_config() ? std::string() : this->name();
  visitor.field("name", name);
  if (!name.empty()) set_name(std::move(name));
  using Kind = OperationField::Kind;
  for (const OperationField& field : def_->fields) {
    const char* key = field.name.c_str();
    switch (field.kind) {
      case Kind::Bool:
        visit_value<bool>(visitor, key, config_);
        break;
      case Kind::OptionalBool:
        visit_optional<bool>(visitor, key, config_);
        break;
      case Kind::Integer:
        visit_value<std::int64_t>(visitor, key, config_);
        break;
      case Kind::OptionalInteger:
        visit_optional<std::int64_t>(visitor, key, config_);
        break;
      case Kind::Number:
        visit_value<double>(visitor, key, config_);
        break;
      case Kind::Text:
        visit_value<std::string>(visitor, key, config_);
        break;
      case Kind::OptionalText:
        visit_optional<std::string>(visitor, key, config_);
        break;
      case Kind::Integers:
        visit_value<std::vector<std::int64_t>>(visitor, key, config_);
        break;
      case Kind::OptionalIntegers:
        visit_optional<std::vector<std::int64_t>>(visitor, key, config_);
        break;
      case Kind::Pairs:
        visit_pairs(visitor, key, config_);
        break;
      case Kind::SummedAxes:
        visit_summed_axes(visitor, key, config_);
        break;
      case Kind::Any:
        visit_anything(visitor, key, config_);
        break;
    }
  }
}

Element Operation::call_element(const Element& inputs, const CallContext& context) {
  const bool named = inputs.kind() == Element::Kind::Dict;
  const Tensors tensors = inputs.flatten();
  if (tensors.empty()) throw invalid_argument(title(), "a tensor is expected among the arguments");
  const Tensor& first = tensors[0];
  std::vector<Element> arguments;
  Attributes config = config_;
  for (const Attributes::Entry& entry : context.arguments) config.set(entry.name, entry.value);
  for (std::size_t i = 0; i < def_->arguments.size(); ++i) {
    const std::string& name = def_->arguments[i];
    const Element* given = named ? inputs.find(name) : nullptr;
    if (!named && i == 0) given = &inputs;
    const AttributeValue* constant = context.arguments.find(name);
    arguments.push_back(given ? *given : constant ? as_element(*constant, first) : Element());
  }
  return def_->compute(arguments, config);
}

bool register_operation(OperationDef def) {
  const std::string name = def.registered_name();
  const OperationDef& kept = definitions().emplace(name, std::move(def)).first->second;
  return Layer::registry().add(name, [&kept] { return std::make_shared<Operation>(kept); });
}

std::string operation_module(std::string_view class_name) {
  for (const auto& [name, def] : definitions()) {
    if (def.name == class_name) return def.module;
  }
  return {};
}

Symbols call_operation(const std::string& name, const std::vector<OperationArgument>& arguments,
                       const Attributes& config, const Attributes& others) {
  const auto found = definitions().find(name.starts_with("keras.src.") ? name : "keras.src.ops." + name);
  if (found == definitions().end()) {
    throw not_found("call_operation", "the name of an operation is expected", {{"name", in_quotes(name)}});
  }
  const OperationDef& def = found->second;
  if (arguments.size() > def.arguments.size()) {
    throw invalid_argument(def.name, "fewer arguments are expected",
                           {{"arguments", arguments.size()}, {"expected", def.arguments.size()}});
  }
  std::vector<Tree<SymbolicTensor>::Named> symbols;
  Attributes constants = others;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& key = def.arguments[i];
    if (const auto* symbol = std::get_if<SymbolicTensor>(&arguments[i])) symbols.emplace_back(key, *symbol);
    if (const auto* list = std::get_if<std::vector<SymbolicTensor>>(&arguments[i])) {
      symbols.emplace_back(key, Symbols(*list));
    }
    if (const auto* number = std::get_if<double>(&arguments[i])) constants.set(key, *number);
    if (const auto* integer = std::get_if<std::int64_t>(&arguments[i])) constants.set(key, *integer);
    if (const auto* tensor = std::get_if<Tensor>(&arguments[i])) constants.set(key, *tensor);
  }
  const bool bare = symbols.size() == 1 && symbols[0].first == def.arguments[0];
  const Symbols inputs(bare ? symbols[0].second : Tree<SymbolicTensor>::dict(std::move(symbols)));
  return std::make_shared<Operation>(def, config)->apply_symbols(inputs, constants);
}

}  // namespace cohort
