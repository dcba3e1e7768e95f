#pragma once

#include "cohort/core/device.h"

namespace cohort::test {

// STREAM:i works as a GPU does: each kernel is called by whoever runs it and puts its work (the CPU's kernel) into a
// stream, that of TEST:i, and the graphs of branches and loops run on the device itself. Known once this was called;
// the device's name for set_default_device, device() and device_named().
void register_stream_device();

}  // namespace cohort::test
