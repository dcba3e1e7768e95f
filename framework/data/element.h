#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort {

// A tree of tuples and dicts with leaves of one type. One structure serves datasets, map functions, named inputs and
// outputs, and train_step.
template <class T>
class Tree {
 public:
  enum class Kind { Leaf, Tuple, Dict };
  // A member of a dict.
  using Named = std::pair<std::string, Tree>;

  // An empty tuple: "nothing", as a dataset without labels.
  Tree() = default;
  // A single leaf.
  Tree(T leaf) : kind_(Kind::Leaf), leaf_(std::move(leaf)) {}
  // A tuple of trees.
  static Tree tuple(std::vector<Tree> members) {
    Tree tree;
    for (Tree& member : members) tree.members_.emplace_back(std::string(), std::move(member));
    return tree;
  }
  // A dict of trees by name, in this order.
  static Tree dict(std::vector<Named> members) {
    Tree tree;
    tree.kind_ = Kind::Dict;
    tree.members_ = std::move(members);
    return tree;
  }

  // Leaf, tuple or dict.
  Kind kind() const { return kind_; }
  // True for a single leaf.
  bool is_leaf() const { return kind_ == Kind::Leaf; }
  // True for a tuple or dict without members.
  bool empty() const { return kind_ != Kind::Leaf && members_.empty(); }
  // The leaf.
  const T& leaf() const { return leaf_; }
  // Number of members; 0 for a leaf.
  std::size_t size() const { return members_.size(); }
  // Member number i of a tuple or dict.
  const Tree& operator[](std::size_t i) const { return members_[i].second; }
  // Name of member number i of a dict.
  const std::string& key(std::size_t i) const { return members_[i].first; }
  // Member of a dict, nullptr when there is none.
  const Tree* find(std::string_view key) const {
    for (const Named& member : members_) {
      if (kind_ == Kind::Dict && member.first == key) return &member.second;
    }
    return nullptr;
  }

  // Appends all leaves, from left to right.
  void flatten_into(std::vector<T>& leaves) const {
    if (is_leaf()) leaves.push_back(leaf_);
    for (const Named& member : members_) member.second.flatten_into(leaves);
  }
  // All leaves, from left to right.
  std::vector<T> flatten() const {
    std::vector<T> leaves;
    flatten_into(leaves);
    return leaves;
  }
  // The same structure with other leaves, taken in order.
  template <class Other>
  Tree<Other> with_leaves(const std::vector<Other>& leaves) const {
    std::size_t next = 0;
    return rebuild<Other>(leaves, next);
  }
  // The same structure with f(leaf) for each leaf.
  template <class F>
  auto map(F f) const -> Tree<std::decay_t<decltype(f(std::declval<const T&>()))>> {
    std::vector<std::decay_t<decltype(f(std::declval<const T&>()))>> leaves;
    for (const T& leaf : flatten()) leaves.push_back(f(leaf));
    return with_leaves(leaves);
  }
  // Whether another tree has the same tuples and dicts, whatever its leaves.
  template <class Other>
  bool same_structure(const Tree<Other>& other) const {
    if (static_cast<int>(kind_) != static_cast<int>(other.kind()) || size() != other.size()) return false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (key(i) != other.key(i) || !(*this)[i].same_structure(other[i])) return false;
    }
    return true;
  }

 private:
  template <class Other>
  friend class Tree;
  template <class Other>
  Tree<Other> rebuild(const std::vector<Other>& leaves, std::size_t& next) const {
    if (is_leaf()) return Tree<Other>(leaves.at(next++));
    Tree<Other> result;
    result.kind_ = static_cast<typename Tree<Other>::Kind>(static_cast<int>(kind_));
    for (const Named& member : members_) {
      result.members_.emplace_back(member.first, member.second.template rebuild<Other>(leaves, next));
    }
    return result;
  }

  Kind kind_ = Kind::Tuple;
  T leaf_{};
  std::vector<Named> members_;
};

// One element of a dataset: tensors in a structure.
using Element = Tree<Tensor>;
// Types and shapes in the structure of an element.
using ElementSpec = Tree<TensorSpec>;

// Shapes and types of an element's leaves.
ElementSpec spec_of(const Element& element);
// The same with axis 0 of every leaf unknown: one trace serves a smaller last batch too.
ElementSpec with_unknown_batch(const ElementSpec& spec);

// "(float32(None, 784), int32(None,))"
std::string to_string(const ElementSpec& spec);

// The structure without its leaves, as text that travels: "*" is a leaf, "(**)" a tuple, "{1:a*1:b*}" a dict with its
// keys and their lengths.
template <class T>
std::string structure_of(const Tree<T>& tree) {
  if (tree.is_leaf()) return "*";
  const bool dict = tree.kind() == Tree<T>::Kind::Dict;
  std::string text(dict ? "{" : "(");
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (dict) text.append(std::to_string(tree.key(i).size())).append(":").append(tree.key(i));
    text += structure_of(tree[i]);
  }
  return text + (dict ? "}" : ")");
}
// The reverse, with leaves taken in order; throws when the text is malformed or the number of leaves differs.
ElementSpec parse_structure(std::string_view text, const std::vector<TensorSpec>& leaves);

}  // namespace cohort
