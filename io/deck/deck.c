/* A deck is read line by line, from a text that one rank has read for all. Blank lines and comments mean
 * nothing wherever they stand, so a value may go on behind them. Invariant: entry[0..count) has no key twice;
 * every string is owned. */
#include "deck/deck.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ranks/check.h"

enum { DECK_FILE_BYTES_MAX = 1 << 20 }; /* weights of radius 8 take 8 KB; more than this is some other file */

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    return CHECK_ALLOC(text);
}

static char *copy_trimmed(const char *from, size_t bytes)
{
    while (bytes && isspace((unsigned char)*from)) from++, bytes--;
    while (bytes && isspace((unsigned char)from[bytes - 1])) bytes--;
    return CHECK_ALLOC(strndup(from, bytes));
}

/* ---- entries ---- */

const deck_entry *deck_find(const deck *d, const char *key)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->entry[i].key, key) == 0) return &d->entry[i];
    return NULL;
}

/* Takes the three strings. */
static void append(deck *d, char *key, char *text, char *where)
{
    d->entry = CHECK_ALLOC(realloc(d->entry, (d->count + 1) * sizeof *d->entry));
    d->entry[d->count++] = (deck_entry){ key, text, where };
}

void deck_remove(deck *d, const char *key)
{
    const deck_entry *const found = deck_find(d, key);
    if (!found) return;
    deck_entry *const e = &d->entry[found - d->entry];
    free(e->key);
    free(e->value);
    free(e->where);
    *e = d->entry[--d->count]; /* the order of entries means nothing */
}

void deck_free(deck *d)
{
    while (d->count > 0) deck_remove(d, d->entry[0].key);
    free(d->entry);
    d->entry = NULL;
}

/* ---- a text ---- */

typedef struct reading {
    deck *to;
    const char *name;
    int line;
    const char *section; /* "" before the first */
    bool open;           /* an indented line goes on with the value of the last entry */
    sentence *why;
} reading;

/* Cuts off a comment, and white space at both ends. */
static char *content(char *line)
{
    char *end = line;
    while (*end && !(*end == ';' && (end == line || isspace((unsigned char)end[-1])))) end++;
    while (end > line && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    while (isspace((unsigned char)*line)) line++;
    return *line == '#' ? end : line;
}

static bool refuse_line(const reading *r, const char *text)
{
    return sentence_refuse(r->why, "%s:%d: \"%.40s\" is neither a [section], a key = value nor a comment",
                           r->name, r->line, text);
}

static bool begin_section(reading *r, char *text)
{
    char *const end = strchr(text, ']');
    if (!end || end[1]) return refuse_line(r, text);
    *end = '\0';
    r->section = text + 1;
    r->open = false;
    return true;
}

static bool take(reading *r, const char *text)
{
    const char *const equals = strpbrk(text, "=:");
    if (!equals) return refuse_line(r, text);
    if (!*r->section)
        return sentence_refuse(r->why, "%s:%d: %.*s comes before the first [section]", r->name, r->line,
                               (int)strcspn(text, " \t=:"), text);
    if (equals == text) return sentence_refuse(r->why, "%s:%d: no key before the =", r->name, r->line);

    char *const name = copy_trimmed(text, (size_t)(equals - text)), *key = text_of("%s.%s", r->section, name);
    free(name);
    const deck_entry *old = deck_find(r->to, key);
    if (old) {
        sentence_set(r->why, "%s:%d: %.200s was already given at %s", r->name, r->line, key, old->where);
        free(key);
        return false;
    }
    append(r->to, key, copy_trimmed(equals + 1, strlen(equals + 1)), text_of("%s:%d", r->name, r->line));
    r->open = true;
    return true;
}

/* Whether it begins as "word =". */
static bool like_assignment(const char *text)
{
    const size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    return word > 0 && text[word + strspn(text + word, " \t")] == '=';
}

static bool continue_value(const reading *r, const char *text)
{
    deck_entry *const e = &r->to->entry[r->to->count - 1];
    if (like_assignment(text))
        return sentence_refuse(r->why,
                               "%s:%d: an indented line continues the value of %.200s, but \"%.40s\" looks "
                               "like a new key: start a key in the first column",
                               r->name, r->line, e->key, text);
    char *const begun = e->value;
    e->value = text_of("%s%s%s", begun, *begun ? " " : "", text);
    free(begun);
    return true;
}

static bool read_line(reading *r, char *line)
{
    const bool indented = isspace((unsigned char)*line);
    char *const text = content(line);
    if (!*text) return true;
    if (indented && r->open) return continue_value(r, text);
    return *text == '[' ? begin_section(r, text) : take(r, text);
}

bool deck_read_text(deck *d, const char *text, const char *name, sentence *why)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    const bool marked = strncmp(text, byte_order_mark, strlen(byte_order_mark)) == 0;
    char *const copy = CHECK_ALLOC(strdup(text)), *next = copy + (marked ? strlen(byte_order_mark) : 0);
    reading r = { .to = d, .name = name, .section = "", .why = why };
    bool ok = true;
    while (ok && next) {
        r.line++;
        ok = read_line(&r, strsep(&next, "\n"));
    }
    free(copy);
    return ok;
}

/* ---- a file ---- */

/* Reads up to `room` bytes; -1: errno. The descriptor does not block, so that a pipe without a writer ends at
 * once and a signal ends the wait for one that has nothing to say yet. */
static ssize_t read_all(int fd, char *to, size_t room)
{
    size_t bytes = 0;
    while (bytes < room) {
        const ssize_t more = read(fd, to + bytes, room - bytes);
        if (more == 0) break;
        if (more > 0) bytes += (size_t)more;
        else if (errno != EAGAIN || poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1) < 0)
            return -1;
    }
    return (ssize_t)bytes;
}

char *deck_file_text(const char *path, sentence *why)
{
    char *text = CHECK_ALLOC(malloc(DECK_FILE_BYTES_MAX + 1));
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const ssize_t bytes = fd < 0 || fstat(fd, &info) != 0 ? -1 : read_all(fd, text, DECK_FILE_BYTES_MAX + 1);
    bool ok = true;
    if (bytes < 0) ok = sentence_refuse(why, "cannot read the deck %s: %s", path, strerror(errno));
    else if (bytes == 0 && S_ISFIFO(info.st_mode))
        ok = sentence_refuse(why, "cannot read the deck %s: it is a pipe without a writer", path);
    else if (bytes > DECK_FILE_BYTES_MAX)
        ok = sentence_refuse(why, "%s is larger than %d bytes, the most that a deck may have", path,
                             DECK_FILE_BYTES_MAX);
    else if (memchr(text, '\0', (size_t)bytes))
        ok = sentence_refuse(why, "%s contains NUL bytes: it is not a text file", path);
    if (fd >= 0) close(fd);
    if (ok) {
        text[bytes] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* ---- the command line ---- */

bool deck_set(deck *d, const char *assignment, sentence *why)
{
    const char *equals = strchr(assignment, '=');
    if (!equals) return sentence_refuse(why, "%s: expected section.key=value", assignment);
    char *key = copy_trimmed(assignment, (size_t)(equals - assignment));
    const char *dot = strchr(key, '.');
    if (!dot || dot == key || !dot[1]) {
        free(key);
        return sentence_refuse(why, "%s: the key needs its section, as in section.key=value", assignment);
    }
    deck_remove(d, key);
    append(d, key, copy_trimmed(equals + 1, strlen(equals + 1)), text_of("command line"));
    return true;
}

/* ---- numbers ---- */

/* *to *= factor^times; false: beyond 64 bits. */
static bool scale(int64_t *to, int64_t factor, long times)
{
    for (long i = 0; i < times && *to != 0; i++)
        if (__builtin_mul_overflow(*to, factor, to)) return false;
    return true;
}

bool deck_whole(const char *text, int64_t *to)
{
    static const char units[] = "kKmMgG"; /* two of each power of 1024 */
    char *end;
    if (!strchr("+-0123456789", *text) || !*text) return false; /* no white space in front */
    errno = 0;
    const long long n = strtoll(text, &end, 10);
    if (errno == ERANGE || end == text) return false;
    *to = n;
    if (*end == '\0') return true;
    const char *unit = strchr(units, *end);
    if (unit) return end[1] == '\0' && scale(to, 1024, (unit - units) / 2 + 1);
    const char *exponent = end + 1;
    if ((*end != 'e' && *end != 'E') || strspn(exponent, "0123456789") != strlen(exponent) ||
        strlen(exponent) > 2)
        return false;
    return *exponent && scale(to, 10, strtol(exponent, NULL, 10));
}
