/* CRC-32C (Castagnoli; RFC 3720, appendix B.4): the polynomial 0x1EDC6F41, bits reflected, register starts and ends inverted.
 *
 * The register is linear in the data: with raw(D) the register after D from 0, and times(a, zeros(n)) a register's value after
 * n further bytes of zeros,
 *     raw(A B) = times(raw(A), zeros(bytes of B)) ^ raw(B)
 * so that the checksum of a block is the exclusive or of its parts' shares, in any order, whoever computes them.
 * All functions may be called from any thread. On x86 with SSE4.2, found at run time, the processor's instruction is used. */
#ifndef CRC32C_H
#define CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` stands for followed by `data`; 0 stands for nothing. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);
/* The checksum of A B from those of A and of B. */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t b_bytes);

/* The register after `data` from `state`: nothing inverted. */
uint32_t crc32c_raw(uint32_t state, const void *data, size_t bytes);
/* x^(8 bytes) mod the polynomial, and the product of two polynomials mod it. */
uint32_t crc32c_zeros(uint64_t bytes);
uint32_t crc32c_times(uint32_t a, uint32_t b);

/* The two ways of crc32c_raw, for tests: by tables, and by the instruction (only where there is one). */
uint32_t crc32c_raw_portable(uint32_t state, const void *data, size_t bytes);
uint32_t crc32c_raw_instruction(uint32_t state, const void *data, size_t bytes);
bool crc32c_has_instruction(void);

#endif
