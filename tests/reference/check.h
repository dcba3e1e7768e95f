// What the programs of this folder share: a check that ends the program when it fails.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

// Says what was expected and ends the program with an error unless it holds.
inline void check(bool holds, const std::string& expected) {
  if (holds) return;
  std::cerr << "FAILED: " << expected << '\n';
  std::exit(1);
}
