// A graph whose ops are pinned to tasks of a cluster: variables spread over two parameter servers, the rest on workers.
//
// Usage: device_pinning
#include <cohort/cohort.h>

#include <iostream>

namespace ch = cohort;
namespace dist = cohort::distribute;

int main() {
  const dist::LocalCluster cluster({{"ps", 2}, {"worker", 2}});
  const dist::SessionGraph graph;
  auto building = graph.as_default();

  ch::Tensor a, b;
  {
    auto scope = ch::device("/job:ps/task:0/cpu:0");
    a = graph.constant(1.0);
  }
  {
    auto scope = ch::device("/job:worker/task:0/gpu:1");  // the CPU, where there is none
    b = a + 2.0f;
  }
  const ch::Tensor c = a + b;  // on the session's own server

  auto scope = ch::device(dist::replica_device_setter({.cluster = cluster.spec()}));
  const ch::Variable v1(ch::Tensor::scalar(1.0f)), v2(ch::Tensor::scalar(2.0f)), v3(ch::Tensor::scalar(3.0f));
  const ch::Tensor s = v1 + v2 + v3;
  ch::Tensor p;
  {
    auto other = ch::device("/task:1");
    p = s * 3.0f;
  }

  dist::Session session("grpc://" + cluster.spec().task_address("worker", 1), graph,
                        {.soft_placement = true, .log_device_placement = true});
  const ch::Tensors values = session.run({c, p});
  for (const std::string& line : session.placement()) std::cout << line << "\n";
  std::cout << "c = " << values[0].item<float>() << ", p = " << values[1].item<float>() << "\n";
}
