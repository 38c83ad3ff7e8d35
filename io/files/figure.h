/* Figures as a person reads them, three digits whatever the size; a struct, so that a call stands among the
 * arguments of printf: figure_bytes(n).text. */
#pragma once

typedef struct figure {
    char text[32];
} figure;

/* 1.23 GB, 45.6 KB, 7 B: powers of 1000. */
figure figure_bytes(double bytes);
/* 1.23 ms, 45.6 us; "-" of NaN, as below. */
figure figure_seconds(double s);
/* 4.28 TB/s, of 4.28e12 and "B/s". */
figure figure_rate(double rate, const char *unit);
