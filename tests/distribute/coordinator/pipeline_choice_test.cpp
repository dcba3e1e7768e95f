// Which pipeline a worker takes from, and how it gets to a lease.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/data/dataset.h"
#include "cohort/distribute/coordinator/pipeline_book.h"

namespace cohort::distribute {
namespace {

using testing::ElementsAre;

std::vector<int> pipelines_taken(PipelineBook& book, int dataset, int worker, int closures) {
  std::vector<int> taken;
  for (int i = 0; i < closures; ++i) {
    Closure closure;
    closure.id = static_cast<std::uint64_t>(i);
    closure.datasets = {dataset};
    closure.steps = 2;
    book.lease(closure, worker);
    taken.push_back(closure.leases.at(0).pipeline);
  }
  return taken;
}

std::int64_t one_element(const Closure&, std::size_t) { return 1; }

TEST(PipelineChoice, OfMorePipelinesThanWorkersTakesTurns) {
  PipelineBook book(2, one_element);
  const int data = book.add(std::vector<std::int64_t>(5, kInfiniteCardinality));
  EXPECT_THAT(pipelines_taken(book, data, 0, 7), ElementsAre(0, 2, 4, 0, 2, 4, 0));
  EXPECT_THAT(pipelines_taken(book, data, 1, 3), ElementsAre(1, 3, 1));
}

TEST(PipelineChoice, OfFewerPipelinesThanWorkersIsShared) {
  PipelineBook book(3, one_element);
  const int data = book.add(std::vector<std::int64_t>(2, kInfiniteCardinality));
  EXPECT_THAT(pipelines_taken(book, data, 0, 2), ElementsAre(0, 0));
  EXPECT_THAT(pipelines_taken(book, data, 1, 2), ElementsAre(1, 1));
  EXPECT_THAT(pipelines_taken(book, data, 2, 2), ElementsAre(0, 0));
}

TEST(PipelineChoice, IsDividedAmongThoseThatAreThere) {
  PipelineBook book(1, one_element);
  const int data = book.add(std::vector<std::int64_t>(4, kInfiniteCardinality));
  book.set_present({0});
  EXPECT_THAT(pipelines_taken(book, data, 0, 4), ElementsAre(0, 1, 2, 3));
  book.set_present({0, 5});
  EXPECT_THAT(pipelines_taken(book, data, 5, 2), ElementsAre(1, 3));
  EXPECT_THAT(pipelines_taken(book, data, 0, 2), ElementsAre(0, 2));
  book.set_present({5});
  EXPECT_THAT(pipelines_taken(book, data, 5, 4), ElementsAre(0, 1, 2, 3));
  book.forget(7);
}

TEST(PipelineChoice, AWorkerThatComesContinuesWhereOthersWere) {
  PipelineBook book(1, one_element);
  const int data = book.add({kInfiniteCardinality});
  Closure closure;
  closure.datasets = {data};
  closure.steps = 3;
  book.lease(closure, 0);
  book.returned(closure, 0, {.steps = 3, .states = {"after three"}});
  Closure next;
  next.id = 1;
  next.datasets = {data};
  next.steps = 2;
  book.lease(next, 9);
  EXPECT_EQ(next.leases.at(0).first, 3u);
  EXPECT_EQ(next.leases.at(0).state, "after three");
}

TEST(PipelineChoice, GoesToAnothersOnceItsOwnAreUsedUp) {
  PipelineBook book(2, one_element);
  const int data = book.add({4, 20, 2});
  EXPECT_THAT(pipelines_taken(book, data, 0, 5), ElementsAre(0, 2, 0, 1, 1));
}

}  // namespace
}  // namespace cohort::distribute
