/* One line under a lock: runs that end at the same time never mix, and a run that died in the middle of its
 * line costs that line only. Others (a lock's holder, a pipe's reader) are waited for by seconds. */
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
#include "ranks/check.h"

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

enum { WAIT_S = 5 }; /* for others */

/* A descriptor, or -1 and errno. A pipe that nothing reads is opened for writing alone, which fails: what is
 * written to it would be lost. */
static int open_to_append(const char *path)
{
    struct stat info;
    const bool pipe = stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
    const int way = pipe ? O_WRONLY : O_RDWR | O_CREAT; /* read: the last byte */
    int fd, tries = 0;
    do fd = open(path, way | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
    while (fd < 0 && (errno == EINTR || (pipe && errno == ENXIO)) && timer_try_again(&tries, WAIT_S));
    return fd;
}

/* 0 or errno. */
static int write_all(int fd, const char *text)
{
    int tries = 0;
    for (size_t left = strlen(text); left > 0;) {
        const ssize_t written = write(fd, text, left);
        if (written < 0 && errno != EINTR && !(errno == EAGAIN && timer_try_again(&tries, WAIT_S)))
            return errno;
        if (written <= 0) continue;
        text += written;
        left -= (size_t)written;
    }
    return 0;
}

/* 0 or errno. `line` ends with a newline and starts with one, which is left out where the file's last line is
 * whole. */
static int append_line(int fd, const char *line)
{
    struct stat info;
    int tries = 0;
    /* A file system without locks (ENOLCK, EOPNOTSUPP) and a lock that is held for long leave O_APPEND. */
    bool locked;
    do locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    while (!locked && (errno == EINTR || errno == EWOULDBLOCK) && timer_try_again(&tries, WAIT_S));
    if (fstat(fd, &info) != 0) return errno;
    const bool is_file = S_ISREG(info.st_mode);
    char last = '\n'; /* a pipe or a terminal has no last line to look at */
    if (is_file && info.st_size > 0 && pread(fd, &last, 1, info.st_size - 1) < 0) return errno;
    if (last == '\n') line++;
    const int code = write_all(fd, line);
    /* Half a line would spoil the file for every reader. */
    if (code && locked && is_file && ftruncate(fd, info.st_size) != 0) return errno;
    return code;
}

bool record_append(const char *path, const json_t *object, sentence *why)
{
    char *text = json_dumps(object, JSON_COMPACT), *line = NULL;
    if (text && asprintf(&line, "\n%s\n", text) < 0) line = NULL;
    const int fd = line ? open_to_append(path) : -1;
    int code = !line ? ENOMEM : fd < 0 ? errno : append_line(fd, line);
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    if (code)
        sentence_set(why, "cannot append the record to %s: %s; it is printed instead", path, strerror(code));
    if (code && line) fputs(line + 1, stdout); /* minutes of measuring are not lost */
    free(line);
    free(text);
    return code == 0;
}

int record_may_write(const char *key, const char *path, sentence *why)
{
    struct stat there, out;
    char folder[PATH_MAX], first = '{';
    int code = 0, fd = -1;
    replace_directory_of(folder, sizeof folder, path);
    if (stat(path, &there) != 0) code = replace_try_folder(folder);
    else if (S_ISFIFO(there.st_mode)) code = access(path, W_OK) != 0 ? errno : 0;
    else if ((fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0) code = errno;
    const bool is_output = fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == there.st_dev &&
                           out.st_ino == there.st_ino;
    if (fd >= 0 && S_ISREG(there.st_mode) && !is_output) (void)!pread(fd, &first, 1, 0);
    if (fd >= 0) close(fd);
    if (code) sentence_set(why, "%s = %.900s: %s", key, path, strerror(code));
    if (code || first == '{' || first == '\n') return code ? CHECK_EXIT_ENVIRONMENT : 0;
    sentence_set(why, "%s = %.900s is no file of records; allowed is a new name or that of one", key, path);
    return CHECK_EXIT_USAGE;
}
