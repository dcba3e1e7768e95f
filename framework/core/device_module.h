#pragma once

#include <string>

namespace cohort {

// Loads the library that brings devices of this type, once: the registrations in it make them and their kernels known.
// Empty when it is there now; else why not. To be called without a lock that those registrations take.
std::string load_device_module(const std::string& type);
// Why devices of this type cannot be had, as far as that shows before that library is loaded: it is not there, or the
// driver that it needs is not. Empty when it is worth while to load it.
std::string missing_for_devices(const std::string& type);

}  // namespace cohort
