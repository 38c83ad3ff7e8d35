/* Lines go to libinih through a reader of our own, because libinih drops what it cannot hold without a word:
 * the end of a line of INI_MAX_LINE bytes, and the end of a section's name or of a continued key beyond 49.
 * The reader also counts lines, which the library's handler is not told. Invariant: entry[0..count) has no
 * key twice; every string is owned. */
#include "deck/deck.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DECK_LINE_BYTES = 200,          /* libinih's own limit, and the documented one */
    DECK_NAME_BYTES = 50,           /* libinih's MAX_SECTION and MAX_NAME, both with the final zero */
    DECK_FILE_BYTES_MAX = 1 << 20,  /* weights of radius 8 take 8 KB; more than this is some other file */
    DECK_QUOTE_CHARS = 40           /* of a line quoted in a sentence */
};

/* What an allocation returned: not NULL, or the process ends. */
static void *had(void *p)
{
    if (p) return p;
    fputs("weft: out of memory while reading a deck\n", stderr);
    abort();
}

static char *copy_trimmed(const char *from, size_t bytes)
{
    while (bytes && isspace((unsigned char)*from)) from++, bytes--;
    while (bytes && isspace((unsigned char)from[bytes - 1])) bytes--;
    return had(strndup(from, bytes));
}

/* ---- entries ---- */

static deck_entry *find(const deck *d, const char *key)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->entry[i].key, key) == 0) return &d->entry[i];
    return NULL;
}

const deck_entry *deck_find(const deck *d, const char *key) { return find(d, key); }

/* Takes the three strings. */
static void append(deck *d, char *key, char *value, char *where)
{
    d->entry = had(realloc(d->entry, (d->count + 1) * sizeof *d->entry));
    d->entry[d->count++] = (deck_entry){ key, value, where };
}

static void free_entry(deck_entry *e)
{
    free(e->key);
    free(e->value);
    free(e->where);
}

void deck_free(deck *d)
{
    for (size_t i = 0; i < d->count; i++) free_entry(&d->entry[i]);
    free(d->entry);
    *d = (deck){ NULL, 0 };
}

/* ---- a file or a text ---- */

typedef struct reading {
    deck *to;
    const char *name, *text, *at, *end;
    int line;        /* number of the line that libinih is looking at */
    bool indented;   /* it starts with white space: a continuation where a key came before */
    size_t open;     /* entry that a continuation would extend */
    bool failed;
    sentence *why;
} reading;

/* What follows a section's bracket, which libinih drops; NULL: nothing, or a comment. */
static const char *after_section(const reading *r, const char *line, const char *stop)
{
    while (r->open == SIZE_MAX && line < stop && isspace((unsigned char)*line)) line++;
    const char *end = line < stop && *line == '[' ? memchr(line, ']', (size_t)(stop - line)) : NULL;
    if (!end) return NULL;
    for (end++; end < stop && isspace((unsigned char)*end); end++) continue;
    return end < stop && *end != ';' ? end : NULL;
}

static char *read_line(char *buffer, int buffer_bytes, void *stream)
{
    reading *r = stream;
    if (r->failed || r->at == r->end) return NULL;
    const char *start = r->at, *stop = memchr(start, '\n', (size_t)(r->end - start));
    r->at = stop ? stop + 1 : r->end;
    if (!stop) stop = r->end;
    if (stop > start && stop[-1] == '\r') stop--;
    r->line++;

    const size_t bytes = (size_t)(stop - start);
    const size_t limit = buffer_bytes < DECK_LINE_BYTES ? (size_t)buffer_bytes : DECK_LINE_BYTES;
    if (bytes >= limit) {
        r->failed = true;
        sentence_set(r->why,
                     "%s:%d: the line has %zu bytes, and at most %zu are allowed: continue the value on "
                     "indented lines",
                     r->name, r->line, bytes, limit - 1);
        return NULL;
    }
    const char *junk = after_section(r, start, stop);
    if (junk) {
        r->failed = true;
        sentence_set(
            r->why,
            "%s:%d: \"%.*s\" follows the [section] on its line, where only a comment after \" ;\" is allowed",
            r->name, r->line, stop - junk < DECK_QUOTE_CHARS ? (int)(stop - junk) : DECK_QUOTE_CHARS, junk);
        return NULL;
    }
    r->indented = bytes && isspace((unsigned char)*start);
    if (bytes && *start == '[') r->open = SIZE_MAX; /* a new section ends the value before it */
    memcpy(buffer, start, bytes);
    buffer[bytes] = '\0';
    return buffer;
}

bool deck_like_assignment(const char *text)
{
    const size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    return word > 0 && text[word + strspn(text + word, " \t")] == '=';
}

static bool continue_value(reading *r, const char *text)
{
    deck_entry *e = &r->to->entry[r->open];
    /* libinih 55 takes a comment off a key's own line only. */
    const char *comment = *text == ';' ? text : strstr(text, " ;");
    char *const value = copy_trimmed(text, comment ? (size_t)(comment - text) : strlen(text));
    if (deck_like_assignment(value)) {
        sentence_set(r->why,
                     "%s:%d: an indented line continues the value of %s, but \"%.*s\" looks like a new key: "
                     "start a key in the first column",
                     r->name, r->line, e->key, DECK_QUOTE_CHARS, value);
        free(value);
        return false;
    }
    const size_t old = strlen(e->value), more = strlen(value);
    e->value = had(realloc(e->value, old + more + 2));
    if (old && more) strcat(e->value, " ");
    strcat(e->value, value);
    free(value);
    return true;
}

static bool take(reading *r, const char *section, const char *name, const char *value)
{
    if (!*section)
        return sentence_refuse(r->why, "%s:%d: %.*s comes before the first [section]", r->name, r->line,
                               DECK_QUOTE_CHARS, name);
    if (!*name) return sentence_refuse(r->why, "%s:%d: no key before the =", r->name, r->line);
    /* A name that fills libinih's buffer may already be a cut one. */
    if (strlen(section) >= DECK_NAME_BYTES - 1 || strlen(name) >= DECK_NAME_BYTES - 1)
        return sentence_refuse(r->why, "%s:%d: the name of a section or key may have at most %d characters",
                               r->name, r->line, DECK_NAME_BYTES - 2);

    const size_t key_bytes = strlen(section) + strlen(name) + 2;
    char *key = had(malloc(key_bytes));
    snprintf(key, key_bytes, "%s.%s", section, name);
    const deck_entry *old = find(r->to, key);
    if (old) {
        sentence_set(r->why, "%s:%d: %s was already given at %s", r->name, r->line, key, old->where);
        free(key);
        return false;
    }
    const size_t where_bytes = strlen(r->name) + 16;
    char *where = had(malloc(where_bytes));
    snprintf(where, where_bytes, "%s:%d", r->name, r->line);
    append(r->to, key, copy_trimmed(value, strlen(value)), where);
    r->open = r->to->count - 1;
    return true;
}

/* libinih calls this for a key and again, with the same key, for each indented line after it. */
static int on_value(void *user, const char *section, const char *name, const char *value)
{
    reading *r = user;
    if (r->failed) return 0;
    const deck_entry *open = r->open < r->to->count ? &r->to->entry[r->open] : NULL;
    const size_t section_length = strlen(section);
    const bool same = open && strncmp(open->key, section, section_length) == 0 &&
                      open->key[section_length] == '.' && strcmp(open->key + section_length + 1, name) == 0;
    r->failed = !(r->indented && same ? continue_value(r, value) : take(r, section, name, value));
    return !r->failed;
}

static bool refuse_line(const reading *r, int line)
{
    const char *start = r->text;
    for (int i = 1; i < line; i++) start = (const char *)memchr(start, '\n', (size_t)(r->end - start)) + 1;
    while (start < r->end && isspace((unsigned char)*start)) start++;
    const char *stop = memchr(start, '\n', (size_t)(r->end - start));
    size_t bytes = (size_t)((stop ? stop : r->end) - start);
    if (bytes && start[bytes - 1] == '\r') bytes--;
    return sentence_refuse(r->why, "%s:%d: \"%.*s\" is neither a [section], a key = value nor a comment",
                           r->name, line, bytes > DECK_QUOTE_CHARS ? DECK_QUOTE_CHARS : (int)bytes, start);
}

bool deck_read_text(deck *d, const char *text, const char *name, sentence *why)
{
    reading r = { .to = d,
                  .name = name,
                  .text = text,
                  .at = text,
                  .end = text + strlen(text),
                  .open = SIZE_MAX,
                  .why = why };
    const int status = ini_parse_stream(read_line, &r, on_value, &r);
    /* libinih goes on after a line it cannot read: the first thing wrong is the one to name. */
    if (status > 0 && (!r.failed || status < r.line)) return refuse_line(&r, status);
    if (status < 0) return sentence_refuse(why, "%s: libinih is out of memory", name);
    return !r.failed;
}

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
    char *text = had(malloc(DECK_FILE_BYTES_MAX + 1));
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const ssize_t bytes = fd < 0 || fstat(fd, &info) != 0 ? -1 : read_all(fd, text, DECK_FILE_BYTES_MAX + 1);
    bool ok = true;
    /* a directory, say */
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
    char *value = copy_trimmed(equals + 1, strlen(equals + 1));
    char *where = had(strdup("command line"));
    deck_entry *old = find(d, key);
    if (old) {
        free_entry(old);
        *old = (deck_entry){ key, value, where };
    } else {
        append(d, key, value, where);
    }
    return true;
}

void deck_remove(deck *d, const char *key)
{
    deck_entry *e = find(d, key);
    if (!e) return;
    free_entry(e);
    *e = d->entry[--d->count]; /* the order of entries means nothing */
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

/* ---- the nearest known key ---- */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Damerau-Levenshtein distance, optimal string alignment: insert, delete, replace, swap neighbours, each 1.
 * */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b), width = m + 1;
    size_t *row = had(malloc(3 * width * sizeof *row));
    size_t *before = row, *last = row + width, *now = row + 2 * width;
    for (size_t j = 0; j <= m; j++) last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = least(least(last[j] + 1, now[j - 1] + 1), last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *const free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    const size_t result = last[m];
    free(row);
    return result;
}

static const char *after_dot(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot ? dot + 1 : key;
}

/* The right name in a wrong section, or in none, counts as two edits: a likelier slip than many letters. */
static size_t edits(const char *key, const char *known)
{
    return least(distance(key, known), 2 + distance(after_dot(key), after_dot(known)));
}

const char *deck_nearest(const char *key, const char *const *known, size_t known_count)
{
    const char *nearest = NULL;
    for (size_t i = 0; i < known_count; i++)
        if (!nearest || edits(key, known[i]) < edits(key, nearest)) nearest = known[i];
    return nearest;
}

const char *deck_near(const char *key, const char *const *known, size_t known_count)
{
    const char *nearest = deck_nearest(key, known, known_count);
    return nearest && edits(key, nearest) <= (strlen(key) + 2) / 3 ? nearest : NULL;
}
