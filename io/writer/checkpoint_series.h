/* A time series: state files of one folder and their description. */
#pragma once

#include "state/checkpoint_state.h"
#include "state/checkpoint_status.h"

#define CHECKPOINT_SERIES_NAME "series.xmf"
/* Writes DIR/step_NNNNNNNNNN.h5 and makes DIR/series.xmf anew, a collection over time of the files of steps up to this one that are
 * multiples of `every`. dir exists and is this run's alone. Status as checkpoint_write. */
checkpoint_status checkpoint_add_to_series(MPI_Comm comm, const char *dir, int64_t every, const checkpoint_state *s, sentence *why);
