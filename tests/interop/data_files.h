#pragma once

#include <string>
#include <vector>

// What the tests of data files ask for; false for arguments that are none of these:
//   npy FILE, npz FILE, csv FILE, web_dataset FILE, lmdb PATH, examples FILE COMPRESSION: prints the elements, a line
//   of JSON each. write_examples FILE COMPRESSION: writes a TFRecord file.
bool data_files(const std::vector<std::string>& arguments);
