/* Whether the sanitizers look on. They see other mistakes than wrong answers, and see them in every case that
 * takes another way through the code; as all is ten times slower with them, loops over many cases of one kind
 * leave some out, which the release build runs: such a unit says `release: why` (tests/run). */
#pragma once

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
