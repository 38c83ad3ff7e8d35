#include "ranks/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 8, TEXT_BYTES = 4301 };

/* Bytes of the character at s that may be shown as they are; 0: none. */
static size_t shown_bytes(const unsigned char *s)
{
    static const unsigned least[] = { 0, 0x20, 0xa0, 0x800, 0x10000 }; /* of that many bytes */
    const size_t bytes = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    unsigned code = bytes == 1 ? s[0] : s[0] & (0x7fu >> bytes);
    if (s[0] > 0xf4 || (s[0] & 0xc0) == 0x80) return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code >= least[bytes] && code != 0x7f && code <= 0x10ffff && !surrogate ? bytes : 0;
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

const char *printable_host(void)
{
    char host[64] = "unknown host";
    (void)gethostname(host, sizeof host - 1);
    return printable_text(host);
}
