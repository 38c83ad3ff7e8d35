#include "files/bytes.h"

#include <stdio.h>

const char *bytes_text(char *out, size_t out_bytes, double bytes)
{
    static const char *const unit[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
    size_t i = 0;
    while (bytes >= 999.5 && i + 1 < sizeof unit / sizeof *unit) {
        bytes /= 1000;
        i++;
    }
    snprintf(out, out_bytes, i ? "%.3g %s" : "%.0f %s", bytes, unit[i]);
    return out;
}
