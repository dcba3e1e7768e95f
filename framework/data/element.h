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
  using Named = std::pair<std::string, Tree>;

  Tree() = default;  // an empty tuple: "nothing", as a dataset without labels
  Tree(T leaf) : kind_(Kind::Leaf), leaf_(std::move(leaf)) {}
  static Tree tuple(std::vector<Tree> members) {
    Tree tree;
    for (Tree& member : members) tree.members_.emplace_back(std::string(), std::move(member));
    return tree;
  }
  static Tree dict(std::vector<Named> members) {
    Tree tree;
    tree.kind_ = Kind::Dict;
    tree.members_ = std::move(members);
    return tree;
  }

  Kind kind() const { return kind_; }
  bool is_leaf() const { return kind_ == Kind::Leaf; }
  bool empty() const { return kind_ != Kind::Leaf && members_.empty(); }
  const T& leaf() const { return leaf_; }
  std::size_t size() const { return members_.size(); }
  const Tree& operator[](std::size_t i) const { return members_[i].second; }
  const std::string& key(std::size_t i) const { return members_[i].first; }
  // Member of a dict, nullptr when there is none.
  const Tree* find(std::string_view key) const {
    for (const Named& member : members_) {
      if (kind_ == Kind::Dict && member.first == key) return &member.second;
    }
    return nullptr;
  }

  void flatten_into(std::vector<T>& leaves) const {
    if (is_leaf()) leaves.push_back(leaf_);
    for (const Named& member : members_) member.second.flatten_into(leaves);
  }
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
  template <class F>
  auto map(F f) const -> Tree<std::decay_t<decltype(f(std::declval<const T&>()))>> {
    std::vector<std::decay_t<decltype(f(std::declval<const T&>()))>> leaves;
    for (const T& leaf : flatten()) leaves.push_back(f(leaf));
    return with_leaves(leaves);
  }
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

using Element = Tree<Tensor>;
using ElementSpec = Tree<TensorSpec>;

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
