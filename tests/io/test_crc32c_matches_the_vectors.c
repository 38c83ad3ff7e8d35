/* CRC-32C gives RFC 3720's vectors, what its definition says, and the same of a whole as of its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/cell.h"
#include "files/crc32c.h"

enum { LONGEST = 36925, EVERY_LENGTH = 300, ALIGNMENTS = 16 };
static unsigned char text[LONGEST + ALIGNMENTS];

static void vectors(void **state)
{
    unsigned char zeros[32] = { 0 }, ones[32], up[32], down[32];
    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xff;
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c(0, up, 32), 0x46dd794e);
    assert_int_equal(crc32c(0, down, 32), 0x113fdb5c);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
}

/* By definition, a bit at a time. */
static uint32_t add_byte(uint32_t crc, unsigned char byte)
{
    crc = ~crc ^ byte;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    return ~crc;
}

static void lengths_and_alignments(void **state)
{
    for (size_t at = 0; at < ALIGNMENTS; at++) {
        uint32_t wanted = 0x1234567;
        for (size_t bytes = 0; bytes <= EVERY_LENGTH; bytes++) {
            assert_int_equal(crc32c(0x1234567, text + at, bytes), wanted);
            wanted = add_byte(wanted, text[at + bytes]);
        }
    }
}

static void parts(void **state)
{
    const uint32_t whole = crc32c(0, text, LONGEST);
    for (size_t cut = 0; cut <= LONGEST; cut += 1543)
        assert_int_equal(crc32c(crc32c(0, text, cut), text + cut, LONGEST - cut), whole);
}

int main(void)
{
    for (size_t i = 0; i < sizeof text; i++) text[i] = (unsigned char)(cell_random(1, i) * 256.0);
    const struct CMUnitTest tests[] = { cmocka_unit_test(vectors), cmocka_unit_test(lengths_and_alignments),
                                        cmocka_unit_test(parts) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
