/* By the instruction of x86-64 (SSE4.2) or arm64 (8.1 and later), which is faster than a disk takes. */
#include "files/crc32c.h"

#include <string.h>

#ifdef __aarch64__
#define CRC_OF_WORD ".arch_extension crc\n\tcrc32cx %w0, %w0, %1"
#define CRC_OF_BYTE ".arch_extension crc\n\tcrc32cb %w0, %w0, %w1"
#else
#define CRC_OF_WORD "crc32q %1, %0"
#define CRC_OF_BYTE "crc32b %b1, %k0"
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t state = ~crc, word;
    for (; bytes >= sizeof word; bytes -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        __asm__(CRC_OF_WORD : "+r"(state) : "r"(word));
    }
    for (; bytes; bytes--, p++) __asm__(CRC_OF_BYTE : "+r"(state) : "r"((uint64_t)*p));
    return ~(uint32_t)state;
}
