/* SPDX-License-Identifier: BSD-3-Clause */
#include "h5_file.h"

static hid_t text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  if (type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0) return type;
  if (type >= 0) H5Tclose(type);
  return H5I_INVALID_HID;
}

/* A number's type, which HDF5 owns. */
static hid_t number_type(lsc_type type, int in_file) {
  switch (type) {
    case LSC_I8: return in_file ? H5T_STD_I8LE : H5T_NATIVE_INT8;
    case LSC_U8: return in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8;
    case LSC_U32: return in_file ? H5T_STD_U32LE : H5T_NATIVE_UINT32;
    case LSC_I64: return in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    case LSC_U64: return in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64;
    case LSC_F64: return in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE;
    default: return H5I_INVALID_HID;
  }
}

/* The members of lsc_stats in the order of the file; each is 8 bytes wide. */
static const struct {
  const char *name;
  size_t offset;
  lsc_type type;
} stats_members[] = {
    {"total", offsetof(lsc_stats, total), LSC_I64},
    {"minimum", offsetof(lsc_stats, minimum), LSC_I64},
    {"maximum", offsetof(lsc_stats, maximum), LSC_I64},
    {"first", offsetof(lsc_stats, first), LSC_I64},
    {"last", offsetof(lsc_stats, last), LSC_I64},
    {"start_minimum", offsetof(lsc_stats, start_minimum), LSC_I64},
    {"end_maximum", offsetof(lsc_stats, end_maximum), LSC_I64},
    {"gpu_count", offsetof(lsc_stats, gpu_count), LSC_U64},
    {"gpu_total", offsetof(lsc_stats, gpu_total), LSC_I64},
    {"mean", offsetof(lsc_stats, mean), LSC_F64},
    {"m2", offsetof(lsc_stats, m2), LSC_F64},
};
#define STATS_MEMBERS (sizeof stats_members / sizeof *stats_members)

static hid_t stats_type(int in_file) {
  hid_t type = H5Tcreate(H5T_COMPOUND, in_file ? STATS_MEMBERS * 8 : sizeof(lsc_stats));
  for (size_t i = 0; type >= 0 && i < STATS_MEMBERS; i++) {
    hid_t member = number_type(stats_members[i].type, in_file);
    if (H5Tinsert(type, stats_members[i].name, in_file ? i * 8 : stats_members[i].offset, member) < 0) {
      H5Tclose(type);
      return H5I_INVALID_HID;
    }
  }
  return type;
}

hid_t lsc_h5_make_type(lsc_type type, int in_file) {
  if (type == LSC_STR) return text_type();
  if (type == LSC_STATS) return stats_type(in_file);
  return H5Tcopy(number_type(type, in_file));
}
