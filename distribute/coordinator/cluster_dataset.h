#pragma once

#include <memory>

#include "cohort/distribute/coordinator/pending_releases.h"
#include "cohort/distribute/coordinator/pipeline_book.h"
#include "cohort/distribute/coordinator/pipeline_datasets.h"

namespace cohort::distribute {

// A dataset that closures take elements from. It is kept by whoever schedules such closures and by the closures
// themselves; with the last of them it goes from the chief's books and from the workers.
class ClusterDataset {
 public:
  ClusterDataset(int number, std::shared_ptr<PipelineBook> book, std::shared_ptr<PipelineDatasets> datasets,
                 std::shared_ptr<PendingReleases> releases)
      : number_(number), book_(std::move(book)), datasets_(std::move(datasets)), releases_(std::move(releases)) {}
  ~ClusterDataset() {
    book_->remove(number_);
    datasets_->remove(number_);
    releases_->dataset(number_);
  }
  ClusterDataset(const ClusterDataset&) = delete;

  // What closures and leases call it by.
  int number() const { return number_; }

 private:
  const int number_;
  const std::shared_ptr<PipelineBook> book_;
  const std::shared_ptr<PipelineDatasets> datasets_;
  const std::shared_ptr<PendingReleases> releases_;
};

}  // namespace cohort::distribute
