#include "tests/golden/case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace cohort::golden {

Case::Case(const Hdf5File& file, std::string name, std::filesystem::path folder)
    : file_(&file),
      name_(std::move(name)),
      folder_(std::move(folder)),
      rtol_(file.double_attribute(name_, "rtol")),
      atol_(file.double_attribute(name_, "atol")) {}

std::string Case::text(const std::string& attribute) const { return file_->string_attribute(name_, attribute); }
Json Case::json(const std::string& attribute) const { return parse_json(text(attribute), name_ + " " + attribute); }
std::int64_t Case::integer(const std::string& attribute, std::int64_t otherwise) const {
  return file_->has_attribute(name_, attribute) ? file_->int_attribute(name_, attribute) : otherwise;
}
Json Case::arguments() const { return json(file_->has_attribute(name_, "arguments") ? "arguments" : "config"); }

bool Case::has(const std::string& path) const { return file_->exists(at(path)); }
int Case::count(const std::string& group) const { return file_->numbered_members(at(group)); }

std::vector<std::string> Case::ordered_members(const std::string& group) const {
  std::vector<std::string> members = file_->members(at(group));
  const auto place = [&](const std::string& member) {
    const std::string path = group + "/" + member;
    const bool number = member.find_first_not_of("0123456789") == std::string::npos;
    return integer_of(path, "order", number ? std::stoll(member) : 0);
  };
  std::stable_sort(members.begin(), members.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
  return members;
}

std::string Case::text_of(const std::string& path, const std::string& attribute) const {
  return file_->string_attribute(at(path), attribute);
}
std::int64_t Case::integer_of(const std::string& path, const std::string& attribute, std::int64_t otherwise) const {
  return file_->has_attribute(at(path), attribute) ? file_->int_attribute(at(path), attribute) : otherwise;
}

Tensor Case::given(const std::string& path) {
  used_.insert(path);
  const Tensor value = file_->read(at(path));
  return is_plain(value.dtype()) ? value.to(default_device()) : value;
}

std::vector<Tensor> Case::given_all(const std::string& group) {
  std::vector<Tensor> values;
  for (int i = 0; i < count(group); ++i) values.push_back(given(group + "/" + std::to_string(i)));
  return values;
}

void Case::expect(const std::string& path, const Tensor& seen) {
  if (!seen.defined()) {
    compared_.insert(path);
    return fail(path + ": nothing was computed");
  }
  if (seen.dtype() == DType::String) {
    compared_.insert(path);
    const Tensor stored = file_->read(at(path));
    require(stored.shape() == seen.shape() && stored.to_strings() == seen.to_strings(), path + ": other strings");
    return;
  }
  expect(path, seen.to_vector<double>(), seen.shape());
}

void Case::expect(const std::string& path, const std::vector<double>& seen, const Shape& shape) {
  compared_.insert(path);
  if (!has(path)) return fail(path + ": the case expects no such result");
  const Tensor stored = file_->read(at(path));
  if (stored.shape() != shape) {
    return fail(path + ": shape " + shape.to_string() + ", expected " + stored.shape().to_string());
  }
  expect_close(path, seen, stored.to_vector<double>());
}

void Case::expect_close(const std::string& what, const std::vector<double>& seen, const std::vector<double>& expected) {
  seen_[what] = seen;
  if (seen.size() != expected.size()) {
    return fail(what + ": " + std::to_string(seen.size()) + " numbers, expected " + std::to_string(expected.size()));
  }
  double largest = 0.0;
  std::size_t where = 0, outside = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (seen[i] == expected[i] || (std::isnan(seen[i]) && std::isnan(expected[i]))) continue;
    const double allowed = atol_ + rtol_ * std::abs(expected[i]);
    double ratio = std::abs(seen[i] - expected[i]) / allowed;
    if (std::isnan(ratio)) ratio = std::numeric_limits<double>::infinity();
    if (ratio > largest) largest = ratio, where = i;
    if (ratio > 1.0) ++outside;
  }
  worst_ = std::max(worst_, largest);
  if (largest > 1.0) {
    std::ostringstream line;
    line.precision(9);
    line << what << ": " << outside << " of " << expected.size() << " elements differ, most number " << where << ": "
         << seen[where] << ", expected " << expected[where] << " (" << largest << " times the tolerance)";
    fail(line.str());
  }
}

void Case::expect_all(const std::string& group, const std::vector<Tensor>& seen) {
  const int expected = count(group);
  require(static_cast<int>(seen.size()) == expected,
          group + ": " + std::to_string(seen.size()) + " results, expected " + std::to_string(expected));
  for (int i = 0; i < std::min(expected, static_cast<int>(seen.size())); ++i) {
    expect(group + "/" + std::to_string(i), seen[static_cast<std::size_t>(i)]);
  }
}

void Case::collect_unused(const std::string& path, std::vector<std::string>& unused) const {
  const std::string full = path.empty() ? name_ : at(path);
  if (file_->is_group(full)) {
    for (const std::string& member : file_->members(full)) {
      collect_unused(path.empty() ? member : path + "/" + member, unused);
    }
    return;
  }
  // What Keras computed in two precisions is a result: reading it does not count.
  const bool result = file_->has_attribute(full, "f64_diff");
  if (!compared_.contains(path) && (result || !used_.contains(path))) unused.push_back(path);
}

void Case::check_complete() {
  std::vector<std::string> unused;
  collect_unused("", unused);
  for (const std::string& path : unused) fail(path + ": was not compared");
}

void Case::expect_same_bits(const Case& other, const std::string& how) {
  require(seen_.size() == other.seen_.size(), "other results " + how);
  for (const auto& [what, seen] : seen_) {
    const auto found = other.seen_.find(what);
    const bool same = found != other.seen_.end() && found->second.size() == seen.size() &&
                      std::memcmp(found->second.data(), seen.data(), seen.size() * sizeof(double)) == 0;
    require(same, what + ": other bits " + how);
  }
}

Element given_tree(Case& checked, const std::string& name, const std::string& like) {
  const Json structure = checked.json("structure");
  const std::string kind = structure.value(like.empty() ? name : like, "");
  if (kind.empty()) return {};
  if (kind == "array") return checked.given(name + "/0");
  std::vector<Element> list;
  std::vector<Element::Named> dict;
  for (const std::string& member : checked.ordered_members(name)) {
    list.emplace_back(checked.given(name + "/" + member));
    dict.emplace_back(member, list.back());
  }
  return kind == "dict" ? Element::dict(std::move(dict)) : Element::tuple(std::move(list));
}

}  // namespace cohort::golden
