/* Small files below /sys and /proc, in which Linux describes the machine. Where one is missing, the answer is
 * "" and false: unknown. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* "/sys". Debug builds: the folder that WEFT_PRETEND_SYSFS names, for tests on one machine. */
const char *sysfs_root(void);

/* The first line of the file of that name, without blanks before it. */
__attribute__((format(printf, 3, 4))) bool sysfs_read(char *out, size_t bytes, const char *format, ...);
/* The text behind a key and its colon, in the first line that begins with it. */
bool sysfs_value(char *out, size_t bytes, const char *path, const char *key);
/* The CPUs of a list "0-15,32", without those beyond the CPU_SETSIZE of a set. */
cpu_set_t sysfs_cpus(const char *list);
