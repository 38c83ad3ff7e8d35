/* Numbers of bytes as a person reads them. */
#pragma once

#include <stddef.h>

/* 1.23 GB, 45.6 KB, 7 B: three digits, powers of 1000. Returns out. */
const char *bytes_text(char *out, size_t out_bytes, double bytes);
