/* What all ranks must decide alike: did it go well everywhere? Collective over comm; the same answer on every rank. */
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "core/sentence.h"

bool agree_all(bool ok, MPI_Comm comm);
/* If it did not, the first rank where it did not tells everybody its sentence. */
bool agree_or_say(bool ok, sentence *why, MPI_Comm comm);
