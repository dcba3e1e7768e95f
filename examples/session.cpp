// Two clients of one cluster, each with a session at another server, add to a variable that they share by its name.
//
// Usage: session [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

// Each client builds a graph of its own.
struct Client {
  explicit Client(const std::string& target) : session(target, build(*this)) {}

  static dist::SessionGraph build(Client& client) {
    auto building = client.graph.as_default();
    auto scope = ch::device("/job:ps/task:0");
    ch::Variable total(ch::Tensor::scalar(0.0f), {.name = "total"});
    client.x = client.graph.placeholder(ch::float32, {});
    client.add = client.graph.operation([&] { total.assign_add(client.x); });
    client.total = total;
    return client.graph;
  }

  dist::SessionGraph graph;
  ch::Tensor x, total;
  dist::Operation add;
  dist::Session session;
};

}  // namespace

int main(int count, char** values) {
  const int times = example::is_smoke(count, values) ? 10 : 1000;
  const dist::LocalCluster cluster({{"ps", 1}, {"worker", 2}});
  Client first("grpc://" + cluster.spec().task_address("worker", 0));
  Client second("grpc://" + cluster.spec().task_address("worker", 1));
  for (int i = 1; i <= times; ++i) {
    first.session.run(first.add, {{first.x, ch::Tensor::scalar(1.0f)}});
    second.session.run(second.add, {{second.x, ch::Tensor::scalar(2.0f)}});
  }
  std::cout << "total " << first.session.run(first.total).item<float>() << " after " << times << " steps of each\n";
}
