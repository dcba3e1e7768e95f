#pragma once

#include <cuda_runtime_api.h>

#include "cohort/core/device.h"

namespace cohort::cuda {

// Decisions that a CUDA graph makes by itself: nodes whose graphs are done or not as a kernel before them has said. All
// of this is for a stream that is captured.

// What a kernel tells one conditional node, which must come later in the stream.
cudaGraphConditionalHandle make_condition(cudaStream_t stream);
// Puts such a node there; gives its `size` graphs, which are empty.
cudaGraph_t* add_conditional(cudaStream_t stream, cudaGraphConditionalHandle condition,
                             cudaGraphConditionalNodeType type, unsigned int size);

// The condition is what the bool at `predicate` says.
void enqueue_choice(cudaGraphConditionalHandle condition, const bool* predicate, cudaStream_t stream);
// Writes state->go_on: whether fewer than `limit` turns have begun.
void enqueue_limit(LoopState* state, std::uint64_t limit, cudaStream_t stream);
// The condition is what state->go_on says; if there is another turn, it is counted, and draws random numbers of its own
// unless `loop` is nullptr.
void enqueue_next_turn(cudaGraphConditionalHandle condition, LoopState* state, const RandomState* loop,
                       cudaStream_t stream);

}  // namespace cohort::cuda
