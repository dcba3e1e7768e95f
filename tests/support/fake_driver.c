// A driver of NVIDIA's that serves no GPU, for programs that are to find one: libcuda.so.1 in a folder of its own. What
// FAKE_DRIVER_CUDA says is the version of CUDA that it serves (13000 for 13.0), FAKE_DRIVER_INIT what cuInit answers
// (100: there is no GPU).
#include <stdlib.h>
#include <string.h>

enum { kNoDevice = 100, kNotSupported = 801 };

static int number_of(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text ? atoi(text) : otherwise;
}

int cuInit(unsigned int flags) {
  (void)flags;
  return number_of("FAKE_DRIVER_INIT", kNoDevice);
}

int cuDriverGetVersion(int* version) {
  *version = number_of("FAKE_DRIVER_CUDA", 13000);
  return 0;
}

// Every other function of a driver.
static int refuse(void) { return kNotSupported; }

static void* function_named(const char* name);

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* found) {
  (void)version;
  (void)flags;
  *function = function_named(name);
  if (found) *found = 0;
  return 0;
}

int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

static void* function_named(const char* name) {
  if (strcmp(name, "cuInit") == 0) return (void*)cuInit;
  if (strcmp(name, "cuDriverGetVersion") == 0) return (void*)cuDriverGetVersion;
  if (strcmp(name, "cuGetProcAddress") == 0) return (void*)cuGetProcAddress_v2;
  return (void*)refuse;
}
