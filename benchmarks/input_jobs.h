#pragma once

#include <cohort/cohort.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cohort::bench {

// Batches of the job mlp, of all 60,000 images of Fashion-MNIST in a new random order in every epoch: 784 floats in
// 0..1 and a label. Where the data set is not installed they are made up.
//   name: "tensors": the floats lie in memory; otherwise they are made of bytes, and half of the images, drawn anew in
//         every epoch, are mirrored, by a function of batches ("map_batches") or of single images ("map_elements").
//   batch: images of a batch; what is left at the end is dropped.
Dataset image_input(const std::string& name, std::int64_t batch);
// The names that it knows.
std::vector<std::string> image_input_names();

}  // namespace cohort::bench
