/* What all ranks must decide alike: did it go well everywhere? Collective over comm; the same answer on every
 * rank. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "core/sentence.h"

bool agree_all(bool ok, MPI_Comm comm);
bool agree_any(bool one, MPI_Comm comm);
/* The largest number of all ranks; 0 says that it went well. Else the lowest rank that has it tells everybody
 * its sentence. */
int agree_worst(int mine, sentence *why, MPI_Comm comm);
/* If it did not, the first rank where it did not tells everybody its sentence. */
bool agree_or_say(bool ok, sentence *why, MPI_Comm comm);
