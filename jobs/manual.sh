#!/usr/bin/env bash
# jobs/manual.sh WEFT > weft.1: the manual page, from what `WEFT help` prints. roff takes a backslash for an
# escape, a bare - for a hyphen, and a leading dot or quote for a request.
set -e
roff() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\\&&/"; }
cat <<END
.TH WEFT 1 "" "$("$1" --version | sed 's/ (.*//;q')" "User Commands"
.SH NAME
weft \- MPI multi-GPU stencil and transpose mini-app and benchmark
.SH SYNOPSIS
[mpirun \-n RANKS]
.B weft
COMMAND ...
.SH COMMANDS
END
for command in $("$1" help | awk '/^  [a-z]/ { print $1 }'); do
    printf '.SS "weft %s"\n.nf\n' "$command"
    "$1" help "$command" | roff
    echo .fi
done
cat <<END
.SH ENVIRONMENT
.TP
.B OMP_NUM_THREADS
threads per rank, if run.threads is 0
.TP
.B SLURM_JOB_END_TIME
when a run stops, with a checkpoint, if run.wall_limit is 0
.SH SEE ALSO
.BR mpirun (1),
.BR sbatch (1)
END
