#include "cohort/data/element.h"

#include <charconv>

namespace cohort {
namespace {

constexpr int kMaxDepth = 32;

[[noreturn]] void refuse_structure(std::string_view text) {
  throw invalid_argument("Element",
                         "a structure of '*', '(...)' and '{length:key...}' with one '*' per tensor is expected",
                         {{"structure", text}});
}

class StructureParser {
 public:
  StructureParser(std::string_view text, const std::vector<TensorSpec>& leaves)
      : text_(text), rest_(text), leaves_(leaves) {}

  ElementSpec parse() {
    ElementSpec spec = tree(0);
    if (!rest_.empty() || next_leaf_ != leaves_.size()) refuse_structure(text_);
    return spec;
  }

 private:
  ElementSpec tree(int depth) {
    if (rest_.empty() || depth > kMaxDepth) refuse_structure(text_);
    if (take('*')) {
      if (next_leaf_ == leaves_.size()) refuse_structure(text_);
      return leaves_[next_leaf_++];
    }
    if (take('(')) {
      std::vector<ElementSpec> members;
      while (!take(')')) members.push_back(tree(depth + 1));
      return ElementSpec::tuple(std::move(members));
    }
    if (!take('{')) refuse_structure(text_);
    std::vector<ElementSpec::Named> members;
    while (!take('}')) {
      std::string name = key();
      members.emplace_back(std::move(name), tree(depth + 1));
    }
    return ElementSpec::dict(std::move(members));
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string key() {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), length);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (error != std::errc() || !take(':') || length > rest_.size()) refuse_structure(text_);
    std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return name;
  }

  std::string_view text_, rest_;
  const std::vector<TensorSpec>& leaves_;
  std::size_t next_leaf_ = 0;
};

}  // namespace

ElementSpec spec_of(const Element& element) {
  return element.map([](const Tensor& leaf) { return leaf.spec(); });
}

ElementSpec with_unknown_batch(const ElementSpec& spec) {
  return spec.map([](const TensorSpec& leaf) {
    TensorSpec result = leaf;
    if (result.shape.rank() > 0) result.shape[0] = kUnknown;
    return result;
  });
}

std::string to_string(const ElementSpec& spec) {
  if (spec.is_leaf()) return spec.leaf().to_string();
  const bool dict = spec.kind() == ElementSpec::Kind::Dict;
  std::string text(dict ? "{" : "(");
  for (std::size_t i = 0; i < spec.size(); ++i) {
    if (i > 0) text += ", ";
    if (dict) text += spec.key(i) + ": ";
    text += to_string(spec[i]);
  }
  if (!dict && spec.size() == 1) text += ",";
  return text + (dict ? "}" : ")");
}

ElementSpec parse_structure(std::string_view text, const std::vector<TensorSpec>& leaves) {
  return StructureParser(text, leaves).parse();
}

}  // namespace cohort
