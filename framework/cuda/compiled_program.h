#pragma once

#include <string>

namespace cohort::cuda {

// The machine code of a program that may include program_headers(), for an architecture (90 for Hopper): from the
// folder of compiled programs where it is there, else compiled and put there. Thread-safe, between processes, too.
std::string compiled_program(const std::string& text, int architecture);

// The same with a folder of one's own; with none, nothing is kept.
std::string compiled_program(const std::string& text, int architecture, const std::string& folder);

// Where this user's compiled programs and other findings about GPUs are kept; empty where there is no such place.
std::string cache_folder();

}  // namespace cohort::cuda
