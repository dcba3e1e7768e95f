#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/layers/core/einsum_dense.h"
#include "cohort/layers/seeded_layer.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// The options that both have.
struct ProjectedAttentionFields {
  double dropout = 0.0;
  bool use_bias = true;
  std::optional<std::int64_t> sliding_window = std::nullopt;
  std::optional<bool> flash_attention = std::nullopt;
  Ref<Initializer> kernel_initializer, bias_initializer;
  Ref<Regularizer> kernel_regularizer, bias_regularizer, activity_regularizer;
  Ref<Constraint> kernel_constraint, bias_constraint;
  bool use_gate = false;
};
COHORT_FIELDS(ProjectedAttentionFields, dropout, use_bias, use_gate, sliding_window, kernel_initializer,
              bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
              bias_constraint)

// What MultiHeadAttention and GroupQueryAttention share: query, key and value are projected, each step takes the mean
// of the values weighted by softmax(query . key / sqrt(size)), and the result is projected.
class ProjectedAttentionLayer : public SeededLayer {
 public:
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  std::vector<std::string> argument_names() const override;
  void build_element(const ShapeTree& inputs) override;
  Element call_element(const Element& inputs, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

 protected:
  struct Projected {
    Tensor query, key, value;
  };
  struct Weighing {
    Tensor mask;  // undefined: every key counts
    bool causal, training;
  };

  template <class Options>
  explicit ProjectedAttentionLayer(const Options& options)
      : SeededLayer(options.seed),
        fields_{options.dropout,
                options.use_bias,
                options.sliding_window,
                options.flash_attention,
                options.kernel_initializer,
                options.bias_initializer,
                options.kernel_regularizer,
                options.bias_regularizer,
                options.activity_regularizer,
                options.kernel_constraint,
                options.bias_constraint,
                options.use_gate} {
    supports_masking_ = true;
    take_options(options);
  }

  // Makes the projections from the shapes of query, value and key.
  virtual void build_projections(const Shape& query, const Shape& value, const Shape& key) = 0;
  // Scores of (..., heads, steps, keys) before masks and softmax, and the values weighted by what became of them.
  virtual Tensor scores_of(const Projected& projected) const = 0;
  virtual Tensor combine(const Tensor& weights, const Projected& projected) const = 0;
  // How many of the scores' last axes are keys, and the size of a head of the query.
  virtual int key_axes() const { return 1; }
  virtual std::int64_t query_size() const = 0;
  // Whether a query_mask that is passed by name counts beside the one the query carries.
  virtual bool takes_query_mask() const { return true; }
  // Whether query, key and value are (batch, steps, heads, size), with steps to weigh.
  virtual bool is_plain(const Projected& projected) const { return projected.query.rank() == 4; }

  // Makes a projection of inputs of this shape by `equation`: the output's last axes have the sizes, and the bias
  // varies along them.
  Ref<EinsumDenseLayer> projection(const char* name, const char* attribute, const std::string& equation,
                                   const Shape& input, const std::vector<std::int64_t>& sizes,
                                   const std::string& bias_axes, const char* activation = "linear");

  ProjectedAttentionFields fields_;
  Ref<EinsumDenseLayer> query_dense_, key_dense_, value_dense_, gate_dense_, output_dense_;

 private:
  Tensor fused(const Projected& projected, const Weighing& weighing);
  Tensor spelled_out(const Projected& projected, const Weighing& weighing, Tensor& scores);
};

}  // namespace cohort::layers
