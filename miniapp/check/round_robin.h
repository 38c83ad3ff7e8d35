/* Who meets whom as in a tournament (the circle method, a 1-factorisation of the complete graph): in each of
 * n - 1 rounds, n where n is odd, everybody has another partner, so that all pairs meet in that many rounds.
 * */
#pragma once

static inline int round_robin_rounds(int n) { return n < 2 ? 0 : n % 2 ? n : n - 1; }
/* The partner of `one` of n in that round; -1: it has none, as one has in each round where n is odd. */
int round_robin_partner(int n, int round, int one);
