/* CRC-32C (Castagnoli; RFC 3720, appendix B.4): the polynomial 0x1EDC6F41, bits reflected, register starts
 * and ends inverted.
 *
 * The register is linear in the data: with raw(D) the register after D from 0, and times(a, zeros(n)) a
 * register's value after n further bytes of zeros,
 *     raw(A B) = times(raw(A), zeros(bytes of B)) ^ raw(B)
 * so that the checksum of a block is the exclusive or of its parts' shares, in any order, whoever computes
 * them. All functions may be called from any thread. What the processor can do is found out at run time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` stands for followed by `data`; 0 stands for nothing. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);

/* The register after `data` from `state`: nothing inverted. */
uint32_t crc32c_raw(uint32_t state, const void *data, size_t bytes);
/* x^(8 bytes) mod the polynomial, and the product of two polynomials mod it: the checksum of A B is
 * times(crc(A), zeros(bytes of B)) xor crc(B). */
uint32_t crc32c_zeros(uint64_t bytes);
uint32_t crc32c_times(uint32_t a, uint32_t b);

/* The ways of crc32c_raw, of which it takes the last that this processor knows; for tests. */
typedef enum crc32c_way {
    CRC32C_TABLES,
    CRC32C_INSTRUCTION, /* x86 with SSE4.2 */
    CRC32C_FOLDING,     /* and AVX-512F with VPCLMULQDQ */
    CRC32C_WAYS,
} crc32c_way;
bool crc32c_has(crc32c_way way);
/* Only where the processor has it. */
uint32_t crc32c_raw_by(crc32c_way way, uint32_t state, const void *data, size_t bytes);
