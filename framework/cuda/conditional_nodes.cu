#include "cohort/cuda/check.h"
#include "cohort/cuda/conditional_nodes.h"

namespace cohort::cuda {
namespace {

__global__ void choose(cudaGraphConditionalHandle condition, const bool* predicate) {
  cudaGraphSetConditional(condition, *predicate ? 1u : 0u);
}

__global__ void limit_turns(LoopState* state, std::uint64_t limit) { state->go_on = state->turns < limit; }

__global__ void begin_turn(cudaGraphConditionalHandle condition, LoopState* state, const RandomState* loop) {
  const bool go_on = state->go_on;
  if (go_on) {
    if (loop) state->draws = turn_of(*loop, state->turns);
    ++state->turns;
  }
  cudaGraphSetConditional(condition, go_on ? 1u : 0u);
}

// Where a stream that is captured stands: what comes next depends on these nodes.
struct CapturePoint {
  explicit CapturePoint(cudaStream_t stream) {
    cudaStreamCaptureStatus status;
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &nodes, &edges, &count));
  }
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
};

}  // namespace

cudaGraphConditionalHandle make_condition(cudaStream_t stream) {
  cudaGraphConditionalHandle condition = 0;
  check(cudaGraphConditionalHandleCreate(&condition, CapturePoint(stream).graph, 0, 0));
  return condition;
}

cudaGraph_t* add_conditional(cudaStream_t stream, cudaGraphConditionalHandle condition,
                             cudaGraphConditionalNodeType type, unsigned int size) {
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = condition;
  parameters.conditional.type = type;
  parameters.conditional.size = size;
  const CapturePoint at(stream);
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddNode(&node, at.graph, at.nodes, at.edges, at.count, &parameters));
  check(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
  return parameters.conditional.phGraph_out;
}

void enqueue_choice(cudaGraphConditionalHandle condition, const bool* predicate, cudaStream_t stream) {
  choose<<<1, 1, 0, stream>>>(condition, predicate);
  check(cudaGetLastError());
}

void enqueue_limit(LoopState* state, std::uint64_t limit, cudaStream_t stream) {
  limit_turns<<<1, 1, 0, stream>>>(state, limit);
  check(cudaGetLastError());
}

void enqueue_next_turn(cudaGraphConditionalHandle condition, LoopState* state, const RandomState* loop,
                       cudaStream_t stream) {
  begin_turn<<<1, 1, 0, stream>>>(condition, state, loop);
  check(cudaGetLastError());
}

}  // namespace cohort::cuda
