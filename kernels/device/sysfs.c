#include "device/sysfs.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sysfs_root(void)
{
#ifdef WEFT_DEBUG
    const char *asked = getenv("WEFT_PRETEND_SYSFS");
    if (asked) return asked;
#endif
    return "/sys";
}

bool sysfs_value(char *out, size_t bytes, const char *path, const char *key)
{
    char line[1024];
    const size_t length = strlen(key);
    FILE *const file = fopen(path, "r");
    const char *value = NULL;
    while (file && !value && fgets(line, sizeof line, file))
        if (strncmp(line, key, length) == 0) value = line + length + strspn(line + length, " \t:");
    if (file) (void)fclose(file);
    (void)snprintf(out, bytes, "%.*s", value ? (int)strcspn(value, "\n") : 0, value ? value : "");
    return value != NULL;
}

bool sysfs_read(char *out, size_t bytes, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    return sysfs_value(out, bytes, path, "");
}

cpu_set_t sysfs_cpus(const char *list)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    while (isdigit((unsigned char)*list)) {
        char *end;
        long cpu = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : cpu;
        for (; cpu <= last && cpu < CPU_SETSIZE; cpu++) CPU_SET((size_t)cpu, &set);
        list = end + (*end == ',');
    }
    return set;
}
