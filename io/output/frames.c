#include "output/frames.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FRAME_DIGITS = 10 };

/* Bytes in front of the ending; 0: another ending, or nothing but it. */
static size_t stem_bytes(const char *picture)
{
    const char *const name = strrchr(picture, '/') ? strrchr(picture, '/') + 1 : picture;
    const char *const dot = strrchr(name, '.');
    const bool png = dot && dot > name && (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".apng") == 0);
    return png ? (size_t)(dot - picture) : 0;
}

bool frames_png(const char *picture) { return stem_bytes(picture) > 0; }

bool frames_folder(char *out, size_t out_bytes, const char *picture)
{
    const size_t stem = stem_bytes(picture);
    return snprintf(out, out_bytes, "%.*s.frames", (int)(stem ? stem : strlen(picture)), picture) <
           (int)out_bytes;
}

void frames_path(char *out, size_t out_bytes, const char *folder, int64_t step)
{
    snprintf(out, out_bytes, "%s/%010lld.png", folder, (long long)step);
}

/* NNNNNNNNNN.png, or what a dead run called it while it wrote it. -1: no frame. */
static int64_t step_of(const char *name)
{
    if (strspn(name, "0123456789") != FRAME_DIGITS || strncmp(name + FRAME_DIGITS, ".png", 4) != 0) return -1;
    const char *const behind = name + FRAME_DIGITS + 4;
    return *behind == '\0' ? strtoll(name, NULL, 10) : strncmp(behind, ".tmp", 4) == 0 ? INT64_MAX : -1;
}

int frames_clear(const char *folder, int64_t last)
{
    DIR *const all = opendir(folder);
    int code = all ? 0 : errno;
    for (const struct dirent *e; all && (e = readdir(all));)
        if (step_of(e->d_name) > last && unlinkat(dirfd(all), e->d_name, 0) != 0 && !code) code = errno;
    if (all) closedir(all);
    return code;
}
