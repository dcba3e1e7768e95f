#include "cohort/ops/einsum.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/ops/array.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

// A label is a letter; the axes an ellipsis stands for get negative labels, -1 for the last of them.
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

struct Term {
  Tensor tensor;
  Labels labels;
};

class Parser {
 public:
  Parser(std::string_view equation, const Tensors& operands) : equation_(equation) {
    for (char c : equation) {
      if (c != ' ') text_ += c;
    }
    const std::size_t arrow = text_.find("->");
    const std::string inputs = text_.substr(0, arrow);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (begin > inputs.size()) fail("one term per operand is expected");
      const std::size_t end = std::min(inputs.find(',', begin), inputs.size());
      terms.push_back({operands[i], labels_of(inputs.substr(begin, end - begin), operands[i].rank())});
      begin = end + 1;
    }
    if (begin <= inputs.size()) fail("one term per operand is expected");
    output = arrow == std::string::npos ? labels_that_occur_once() : labels_of(text_.substr(arrow + 2), -1);
    for (int label : output) {
      if (std::none_of(terms.begin(), terms.end(), [=](const Term& term) { return has(term.labels, label); })) {
        fail("the output's labels must occur in an operand");
      }
    }
  }
  std::vector<Term> terms;
  Labels output;

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw invalid_argument("einsum", expected, {{"equation", equation_}});
  }

  // rank -1: the output, whose ellipsis stands for as many axes as the widest of the inputs'.
  Labels labels_of(const std::string& term, int rank) {
    Labels labels;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        const int named = static_cast<int>(term.size()) - 3;
        const int axes = rank < 0 ? ellipsis_axes_ : rank - named;
        if (axes < 0) fail("an operand needs an axis for each of its labels");
        ellipsis_axes_ = std::max(ellipsis_axes_, axes);
        for (int axis = axes; axis > 0; --axis) labels.push_back(-axis);
        i += 2;
      } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
        if (has(labels, term[i])) fail("a label must not occur twice in one term");
        labels.push_back(term[i]);
      } else {
        fail("labels are letters, with '...' for the other axes");
      }
    }
    if (rank >= 0 && static_cast<int>(labels.size()) != rank) fail("an operand needs a label for each of its axes");
    return labels;
  }

  Labels labels_that_occur_once() const {
    std::map<int, int> counts;
    for (const Term& term : terms) {
      for (int label : term.labels) ++counts[label];
    }
    Labels once;
    for (auto [label, count] : counts) {
      if (count == 1 || label < 0) once.push_back(label);
    }
    return once;
  }

  std::string_view equation_;
  std::string text_;
  int ellipsis_axes_ = 0;
};

Term sum_out(Term term, const Labels& keep) {
  std::vector<std::int64_t> axes;
  Labels left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (has(keep, term.labels[i])) {
      left.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return term;
  return {sum(term.tensor, axes), left};
}

Tensor reorder(const Term& term, const Labels& order) {
  std::vector<std::int64_t> perm;
  for (int label : order) {
    perm.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
  }
  return std::is_sorted(perm.begin(), perm.end()) ? term.tensor : transpose(term.tensor, perm);
}

Labels joined(const Labels& a, const Labels& b, const Labels& c) {
  Labels all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// A factor as a batch of matrices [batch..., rows, columns]; stored the other way round when that saves a transpose.
struct Factor {
  Tensor ordered;  // [batch..., rows..., columns...], or columns before rows
  Tensor matrix;
  bool transposed;
};
Factor as_matrices(const Term& term, const Labels& batch, const Labels& rows, const Labels& columns) {
  const bool transposed = term.labels == joined(batch, columns, rows) && !rows.empty() && !columns.empty();
  const Labels &first = transposed ? columns : rows, &second = transposed ? rows : columns;
  Factor factor{reorder(term, joined(batch, first, second)), {}, transposed};
  const int b = static_cast<int>(batch.size()), n = static_cast<int>(first.size());
  factor.matrix = merge_axes(merge_axes(factor.ordered, b + n, static_cast<int>(second.size())), b, n);
  return factor;
}

// Multiplies two terms and sums over the labels that nobody needs any more.
Term contract(Term a, Term b, const Labels& keep) {
  a = sum_out(a, joined(keep, b.labels, {}));
  b = sum_out(b, joined(keep, a.labels, {}));
  Labels batch, summed, rows, columns;
  for (int label : a.labels) (!has(b.labels, label) ? rows : has(keep, label) ? batch : summed).push_back(label);
  for (int label : b.labels) {
    if (!has(a.labels, label)) columns.push_back(label);
  }
  const Factor x = as_matrices(a, batch, rows, summed), y = as_matrices(b, batch, summed, columns);
  Tensor product = matmul(x.matrix, y.matrix, x.transposed, y.transposed);
  const auto size = [](const Labels& labels) { return static_cast<int>(labels.size()); };
  const int n = size(batch), depth = size(summed);
  product = unmerge_axis(product, y.ordered, n + 1, y.transposed ? n : n + depth, size(columns));
  product = unmerge_axis(product, x.ordered, n, x.transposed ? n + depth : n, size(rows));
  return {product, joined(batch, rows, columns)};
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensors& operands) {
  if (operands.empty()) throw invalid_argument("einsum", "at least one operand is expected", {{"equation", equation}});
  Parser parsed(equation, operands);
  Term result = parsed.terms[0];
  for (std::size_t i = 1; i < parsed.terms.size(); ++i) {
    Labels keep = parsed.output;
    for (std::size_t later = i + 1; later < parsed.terms.size(); ++later) {
      keep = joined(keep, parsed.terms[later].labels, {});
    }
    result = contract(result, parsed.terms[i], keep);
  }
  return reorder(sum_out(result, parsed.output), parsed.output);
}

}  // namespace cohort::ops
