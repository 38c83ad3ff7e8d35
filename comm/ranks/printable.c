#include "ranks/printable.h"

#include <stdio.h>
#include <string.h>

enum { TEXTS = 8, TEXT_BYTES = 4301 };

static int is_continued(unsigned char c) { return (c & 0xc0) == 0x80; }

/* Bytes of the character at s that may be shown as they are; 0: none. */
static size_t shown_bytes(const unsigned char *s)
{
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
    const size_t bytes = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < bytes; i++)
        if (!is_continued(s[i])) return 0;
    const int control = s[0] == 0xc2 && s[1] < 0xa0,
              longer = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    /* surrogates, and above U+10FFFF */
    const int beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return control || longer || beyond ? 0 : bytes;
}

char *printable(char *out, size_t out_bytes, const char *text)
{
    size_t used = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const size_t shown = shown_bytes(s);
        if (used + (shown ? shown : 4) >= out_bytes) break;
        if (shown) memcpy(out + used, s, shown);
        else snprintf(out + used, 5, "\\x%02x", *s);
        used += shown ? shown : 4;
        s += shown ? shown : 1;
    }
    out[used] = '\0';
    return out;
}

const char *printable_text(const char *text)
{
    static _Thread_local char kept[TEXTS][TEXT_BYTES];
    static _Thread_local unsigned next;
    return printable(kept[next++ % TEXTS], TEXT_BYTES, text);
}
