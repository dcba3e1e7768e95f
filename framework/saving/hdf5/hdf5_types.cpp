#include "cohort/saving/hdf5/hdf5_types.h"

namespace cohort {

hid_t hdf5_memory_type(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return H5T_NATIVE_FLOAT;
    case DType::Float64:
      return H5T_NATIVE_DOUBLE;
    case DType::Int8:
      return H5T_NATIVE_INT8;
    case DType::Int32:
      return H5T_NATIVE_INT32;
    case DType::Int64:
      return H5T_NATIVE_INT64;
    default:
      return H5T_NATIVE_UINT8;
  }
}

hid_t hdf5_file_type(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return H5T_IEEE_F32LE;
    case DType::Float64:
      return H5T_IEEE_F64LE;
    case DType::Int8:
      return H5T_STD_I8LE;
    case DType::Int32:
      return H5T_STD_I32LE;
    case DType::Int64:
      return H5T_STD_I64LE;
    default:
      return H5T_STD_U8LE;
  }
}

Hdf5Handle hdf5_string_type() {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

}  // namespace cohort
