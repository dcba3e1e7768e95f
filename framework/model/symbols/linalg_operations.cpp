#include "cohort/ops/linalg.h"

#include "cohort/model/symbols/operation_table.h"
#include "cohort/model/symbols/symbolic_linalg.h"

// Keras's operations of linear algebra.
namespace cohort::operations {
namespace {

using Kind = OperationField::Kind;

void add_flagged(const char* name, const char* flag, Tensor (*function)(const Tensor&, bool)) {
  add_typed_operation("linalg", name, {"x"}, {{flag, Kind::Bool}},
                      [function, flag](const Arguments& a, const Attributes& config) {
                        return Element(function(a[0].leaf(), bool_of(config, flag)));
                      });
}

void add_bounded(const char* name, const char* bound, Tensor (*function)(const Tensor&, std::optional<double>)) {
  add_operation("linalg", name, {"x"}, {bound}, [function, bound](const Arguments& a, const Attributes& config) {
    return Element(function(a[0].leaf(), optional_number(config, bound)));
  });
}

Element decomposed_by_svd(const Arguments& a, const Attributes& config) {
  const ops::linalg::Svd svd =
      ops::linalg::svd(a[0].leaf(), bool_of(config, "full_matrices", true), bool_of(config, "compute_uv", true));
  return svd.u.defined() ? tuple_of({svd.u, svd.s, svd.vh}) : Element(svd.s);
}

[[maybe_unused]] const bool linalg_registered = [] {
  add_flagged("Cholesky", "upper", ops::linalg::cholesky);
  add_flagged("CholeskyInverse", "upper", ops::linalg::cholesky_inverse);
  add_of_one("linalg", "Det", ops::linalg::det);
  add_of_one("linalg", "Inv", ops::linalg::inv);
  add_of_one("math", "Logdet", ops::logdet);
  add_bounded("Pinv", "rcond", ops::linalg::pinv);
  add_bounded("MatrixRank", "tol", ops::linalg::matrix_rank);
  add_operation("linalg", "Eigh", {"x"}, {}, [](const Arguments& a, const Attributes&) {
    const ops::linalg::Eigh eigh = ops::linalg::eigh(a[0].leaf());
    return tuple_of({eigh.w, eigh.v});
  });
  add_operation("linalg", "LuFactor", {"x"}, {}, [](const Arguments& a, const Attributes&) {
    const ops::linalg::LuFactor factor = ops::linalg::lu_factor(a[0].leaf());
    return tuple_of({factor.lu, factor.pivots});
  });
  add_operation("numpy", "Slogdet", {"x"}, {}, [](const Arguments& a, const Attributes&) {
    const ops::Slogdet slogdet = ops::slogdet(a[0].leaf());
    return tuple_of({slogdet.sign, slogdet.logabsdet});
  });
  add_typed_operation("linalg", "Qr", {"x"}, {{"mode", Kind::Text}}, [](const Arguments& a, const Attributes& config) {
    const ops::linalg::Qr qr = ops::linalg::qr(a[0].leaf(), text_of(config, "mode", "reduced"));
    return tuple_of({qr.q, qr.r});
  });
  add_typed_operation("linalg", "SVD", {"x"}, {{"full_matrices", Kind::Bool}, {"compute_uv", Kind::Bool}},
                      decomposed_by_svd);
  add_operation("linalg", "Solve", {"a", "b"}, {}, [](const Arguments& a, const Attributes&) {
    return Element(ops::linalg::solve(a[0].leaf(), a[1].leaf()));
  });
  add_typed_operation("linalg", "SolveTriangular", {"a", "b"}, {{"lower", Kind::Bool}},
                      [](const Arguments& a, const Attributes& config) {
                        const bool lower = bool_of(config, "lower");
                        return Element(ops::linalg::solve_triangular(a[0].leaf(), a[1].leaf(), lower));
                      });
  add_operation("linalg", "Lstsq", {"a", "b"}, {"rcond"}, [](const Arguments& a, const Attributes& config) {
    return Element(ops::linalg::lstsq(a[0].leaf(), a[1].leaf(), optional_number(config, "rcond")));
  });
  return true;
}();

}  // namespace
}  // namespace cohort::operations

namespace cohort::ops {

using operations::call_one;
using operations::call_several;

namespace linalg {
namespace {

Attributes bounded(const char* name, std::optional<double> bound) {
  return bound ? Attributes{{name, *bound}} : Attributes{};
}

template <class A, class B>
SymbolicTensor call_solve(const A& a, const B& b) {
  return call_one("linalg>Solve", {a, b});
}
template <class A, class B>
SymbolicTensor call_solve_triangular(const A& a, const B& b, bool lower) {
  return call_one("linalg>SolveTriangular", {a, b}, {{"lower", lower}});
}
template <class A, class B>
SymbolicTensor call_lstsq(const A& a, const B& b, std::optional<double> rcond) {
  return call_one("linalg>Lstsq", {a, b}, bounded("rcond", rcond));
}

}  // namespace

SymbolicTensor cholesky(const SymbolicTensor& x, bool upper) {
  return call_one("linalg>Cholesky", {x}, {{"upper", upper}});
}
SymbolicTensor cholesky_inverse(const SymbolicTensor& x, bool upper) {
  return call_one("linalg>CholeskyInverse", {x}, {{"upper", upper}});
}
SymbolicTensor det(const SymbolicTensor& x) { return call_one("linalg>Det", {x}); }
SymbolicTensor inv(const SymbolicTensor& x) { return call_one("linalg>Inv", {x}); }

SymbolicEigh eigh(const SymbolicTensor& x) {
  const auto results = call_several("linalg>Eigh", {x});
  return {results[0], results[1]};
}
SymbolicLuFactor lu_factor(const SymbolicTensor& x) {
  const auto results = call_several("linalg>LuFactor", {x});
  return {results[0], results[1]};
}
SymbolicQr qr(const SymbolicTensor& x, const std::string& mode) {
  const auto results = call_several("linalg>Qr", {x}, {{"mode", mode}});
  return {results[0], results[1]};
}
SymbolicSvd svd(const SymbolicTensor& x, bool full_matrices, bool compute_uv) {
  const auto results = call_several("linalg>SVD", {x}, {{"full_matrices", full_matrices}, {"compute_uv", compute_uv}});
  return compute_uv ? SymbolicSvd{results[0], results[1], results[2]} : SymbolicSvd{{}, results[0], {}};
}

SymbolicTensor solve(const SymbolicTensor& a, const SymbolicTensor& b) { return call_solve(a, b); }
SymbolicTensor solve(const SymbolicTensor& a, const Tensor& b) { return call_solve(a, b); }
SymbolicTensor solve(const Tensor& a, const SymbolicTensor& b) { return call_solve(a, b); }
SymbolicTensor solve_triangular(const SymbolicTensor& a, const SymbolicTensor& b, bool lower) {
  return call_solve_triangular(a, b, lower);
}
SymbolicTensor solve_triangular(const SymbolicTensor& a, const Tensor& b, bool lower) {
  return call_solve_triangular(a, b, lower);
}
SymbolicTensor solve_triangular(const Tensor& a, const SymbolicTensor& b, bool lower) {
  return call_solve_triangular(a, b, lower);
}
SymbolicTensor lstsq(const SymbolicTensor& a, const SymbolicTensor& b, std::optional<double> rcond) {
  return call_lstsq(a, b, rcond);
}
SymbolicTensor lstsq(const SymbolicTensor& a, const Tensor& b, std::optional<double> rcond) {
  return call_lstsq(a, b, rcond);
}
SymbolicTensor lstsq(const Tensor& a, const SymbolicTensor& b, std::optional<double> rcond) {
  return call_lstsq(a, b, rcond);
}
SymbolicTensor pinv(const SymbolicTensor& x, std::optional<double> rcond) {
  return call_one("linalg>Pinv", {x}, bounded("rcond", rcond));
}
SymbolicTensor matrix_rank(const SymbolicTensor& x, std::optional<double> tol) {
  return call_one("linalg>MatrixRank", {x}, bounded("tol", tol));
}

SymbolicTensor norm(const SymbolicTensor& x, const NormOrder& ord, const Axes& axes, bool keep) {
  Attributes config{{"keepdims", keep}};
  if (const auto* order = std::get_if<double>(&ord.value)) config.set("ord", *order);
  if (const auto* name = std::get_if<std::string>(&ord.value)) config.set("ord", *name);
  if (!axes.values.empty()) config.set("axis", axes.values);
  return call_one("linalg>Norm", {x}, config);
}

}  // namespace linalg

SymbolicSlogdet slogdet(const SymbolicTensor& x) {
  const auto results = call_several("numpy>Slogdet", {x});
  return {results[0], results[1]};
}
SymbolicTensor logdet(const SymbolicTensor& x) { return call_one("math>Logdet", {x}); }

}  // namespace cohort::ops
