#pragma once

#include <string_view>
#include <vector>

#include "cohort/graph/executable.h"
#include "cohort/graph/graph.h"

// Passes rewrite a specialised graph (concrete shapes) in place; each keeps what the graph computes, on the CPU bit for
// bit. A GPU's products may keep more precision than what they stand for.
namespace cohort::passes {

// An input of a graph that is the copy of a variable in a half type; positions among the graph's inputs.
struct RoundedInput {
  int variable, copy;
  TensorSpec spec;
};

// Evaluates nodes whose inputs are constants, removes ops that do nothing (same-shape sum_to_like, casts to the own
// type, identities).
void fold(Graph& graph);
// Merges nodes that compute the same and drops what nobody uses.
void eliminate_common_subexpressions(Graph& graph);
// Folds transposes into the matmuls that use them.
void layout(Graph& graph);
// Takes the gradient of a relu over pooled elements where a max pooling follows it.
void mask_before_unpool(Graph& graph);
// Puts bias and activation into the matmul or convolution before them.
void fuse_epilogues(Graph& graph);
// Writes the half of a batch norm and of its gradient that is arithmetic on single elements as ops of their own, so
// that they are fused with casts, activations and sums around them. For GPUs, where a pass over memory is what counts.
void split_batch_norms(Graph& graph);
// Where variables are read rounded to a half type and written by nothing but updates that can write rounded copies too:
// reads those copies, which whoever runs the graph keeps beside the variables. They become its last inputs.
std::vector<RoundedInput> keep_rounded_copies(Graph& graph);
// Lets kernels of this type of device that can read and write other types than they compute in do so where casts stand
// before and after them.
void take_in_casts(Graph& graph, std::string_view kernel_type);
// Lets the gradient of a sparse cross-entropy compute the softmax again, from the logits and a number for each row, in
// place of reading what else is kept for it. For GPUs, where a pass over memory is what counts.
void keep_row_statistics(Graph& graph);
// Computes a cross-entropy and its gradient in one node where what flows to the loss does not wait for it, so that the
// logits are read once. For GPUs, after keep_row_statistics.
void join_loss_gradients(Graph& graph);
// Lets a product that ends in a relu note what was positive, and the product that makes what flows back to it keep what
// was noted: the relu's gradient need not read both once more. For half types on GPUs.
void keep_relu_masks(Graph& graph);
// Lets the product, or convolution, that makes the gradient of a weight add up the gradient of its bias as well: both
// read what flows back.
void fuse_bias_gradients(Graph& graph);
// Computes a convolution of few channels, its relu and the pooling that follows in one node, and what flows back
// through all three in another: what the convolution gives is never in memory. After fuse_bias_gradients. Gradients are
// added up in another order than by the nodes it replaces.
void pool_convolutions(Graph& graph);
// Lets Adam take the rows that move a table as they come, where its gradient would be laid out for it alone: two
// more tables need not be written and read. For CPUs.
void update_by_slices(Graph& graph);
// Groups elementwise ops of one shape into single nodes: one walk over memory instead of one per op. Casts that only
// widen what others read are done by each group that needs them.
void fuse_elementwise(Graph& graph);
// Merges additions to small variables (the counters of a step) into one node, and takes the factors, sums and means
// before them into it.
void join_additions(Graph& graph);
// Merges the updates of single variables into one node per kind of update.
void schedule(Graph& graph);
// Puts nodes that begin work which goes on beside others where their inputs are there, with what little must be
// computed for them before, and nodes that wait for it behind all that can be done meanwhile.
void overlap_work(Graph& graph);
// Lets small nodes that follow each other run as one. For GPUs, where a launch takes longer than what they do. Comes
// last: none of the other passes looks into such a node.
void join_small_steps(Graph& graph);

// A variable read whose value is still needed after a write to it becomes a copy. Comes after the passes that move the
// use of a read (fold, layout, fuse_epilogues, keep_rounded_copies, take_in_casts, keep_row_statistics,
// join_loss_gradients, keep_relu_masks, fuse_bias_gradients, pool_convolutions, update_by_slices) and before those that
// reorder.
void copy_reads_that_outlive_writes(Graph& graph);
// Drops nodes that reach no output and have no effect.
void remove_dead_nodes(Graph& graph);

}  // namespace cohort::passes
