#pragma once

#include <string>
#include <vector>

namespace cohort::interop {

// What the tests of images ask for; false for arguments that are none of these:
//   decode REQUESTS OUT: decodes files and, where the request names a size, resizes them. REQUESTS is a JSON list, OUT
//     gets a dataset for each by its number; of what is refused, number and reason are printed.
//   folder DIRECTORY OPTIONS OUT: image_dataset_from_directory with options in JSON. OUT gets the elements as
//     <part>/<leaf>/<number>, and the names of the classes are printed.
bool images(const std::vector<std::string>& arguments);

}  // namespace cohort::interop
