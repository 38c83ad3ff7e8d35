#include "files/figure.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

figure figure_bytes(double bytes)
{
    static const char *const unit[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB" };
    figure f;
    size_t i = 0;
    while (bytes >= 999.5 && i + 1 < sizeof unit / sizeof *unit) {
        bytes /= 1000;
        i++;
    }
    snprintf(f.text, sizeof f.text, i ? "%.3g %s" : "%.0f %s", bytes, unit[i]);
    return f;
}

figure figure_seconds(double s)
{
    figure f = { "-" };
    if (s < 0.9995e-3) snprintf(f.text, sizeof f.text, "%.3g us", s * 1e6);
    else if (s < 0.9995) snprintf(f.text, sizeof f.text, "%.3g ms", s * 1e3);
    else if (!isnan(s)) snprintf(f.text, sizeof f.text, "%.4g s", s);
    return f;
}

figure figure_rate(double rate, const char *unit)
{
    const double scale = rate < 1e3 ? 1 : rate < 1e6 ? 1e3 : rate < 1e9 ? 1e6 : rate < 1e12 ? 1e9 : 1e12;
    const char *prefix = rate < 1e3 ? "" : rate < 1e6 ? "k" : rate < 1e9 ? "M" : rate < 1e12 ? "G" : "T";
    const double x = rate / scale;
    figure f = { "-" };
    if (!isnan(rate))
        snprintf(f.text, sizeof f.text, "%.*f %s%s", x < 10 ? 2 : x < 100 ? 1 : 0, x, prefix, unit);
    return f;
}
