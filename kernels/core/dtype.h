/* The two cell types, chosen at run time. */
#pragma once

#include <stddef.h>

typedef enum dtype { DTYPE_F32, DTYPE_F64 } dtype;

static inline size_t dtype_bytes(dtype t) { return t == DTYPE_F32 ? 4 : 8; }
static inline const char *dtype_name(dtype t) { return t == DTYPE_F32 ? "f32" : "f64"; }
