/* One line, one write, under a lock: runs that end at the same time never mix, and a run that died in the
 * middle of its line costs that line only. */
#include "output/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/replace.h"

json_t *record_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *record_text(const char *text)
{
    json_t *whole = json_string(text);
    if (whole) return whole;
    char *ascii = strdup(text);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    whole = json_string(ascii);
    free(ascii);
    return whole;
}

json_t *record_text_or_null(const char *text) { return text && text[0] ? record_text(text) : json_null(); }

json_t *record_percentiles(const timer_percentiles *t)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "min", record_number(t->min), "p50",
                     record_number(t->p50), "p90", record_number(t->p90), "p99", record_number(t->p99), "max",
                     record_number(t->max), "mean", record_number(t->mean));
}

json_t *record_add(json_t *o, const record_member *member, size_t members)
{
    for (size_t i = 0; i < members; i++) json_object_set_new(o, member[i].key, member[i].value);
    return o;
}

json_t *record_straggler(const timer_straggler *t)
{
    if (!t->stands_out) return json_null();
    return json_pack("{s:i, s:o, s:o}", "rank", t->rank, "host", record_text(t->host), "over_median",
                     record_number(t->over_median));
}

json_t *record_now(void)
{
    const time_t now = time(NULL);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&now, &utc)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* 0 or errno. `line` ends with a newline and starts with one, which is left out where the file's last line is
 * whole. */
static int append_line(int fd, const char *line)
{
    struct stat info;
    /* A file system without locks (ENOLCK, EOPNOTSUPP) still has O_APPEND: go on. */
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {}
    if (fstat(fd, &info) != 0) return errno;
    if (S_ISREG(info.st_mode)) {
        char last = '\n';
        if (info.st_size > 0 && pread(fd, &last, 1, info.st_size - 1) < 0) return errno;
        if (last == '\n') line++;
    } else {
        line++; /* a pipe or a terminal has no last line to look at */
    }
    const size_t bytes = strlen(line);
    ssize_t written;
    while ((written = write(fd, line, bytes)) < 0 && errno == EINTR) {}
    if (written == (ssize_t)bytes) return 0;
    const int code = written < 0 ? errno : ENOSPC;
    /* Half a line would spoil the file for every reader. */
    if (S_ISREG(info.st_mode) && ftruncate(fd, info.st_size) != 0) return errno;
    return code;
}

bool record_append(const char *path, const json_t *object, sentence *why)
{
    char *text = json_dumps(object, JSON_COMPACT), *line = NULL;
    int code = ENOMEM;
    if (text && asprintf(&line, "\n%s\n", text) >= 0) {
        const int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666); /* read: its last byte */
        code = fd < 0 ? errno : append_line(fd, line);
        if (fd >= 0 && close(fd) != 0 && !code) code = errno;
        free(line);
    }
    free(text);
    if (code) sentence_set(why, "cannot append the record to %s: %s", path, strerror(code));
    return code == 0;
}

bool record_may_write(const char *key, const char *path, sentence *why)
{
    struct stat there;
    char folder[PATH_MAX];
    int code;
    if (stat(path, &there) == 0) {
        code = S_ISDIR(there.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    } else if (errno == ENAMETOOLONG) {
        code = errno;
    } else {
        replace_directory_of(folder, sizeof folder, path);
        code = access(folder, W_OK | X_OK) != 0 ? errno : 0;
    }
    return !code || sentence_refuse(why, "%s = %.900s: %s", key, path, strerror(code));
}
