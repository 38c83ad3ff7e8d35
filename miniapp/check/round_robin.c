#include "check/round_robin.h"

int round_robin_partner(int n, int round, int one)
{
    const int last = n + n % 2 - 1; /* its seat stays, and is empty where n is odd; the others go round a
                                     * circle of as many */
    int other;
    if (one == last) other = round;
    else if (one == round) other = last;
    else other = (2 * round - one + 2 * last) % last;
    return other < n ? other : -1;
}
