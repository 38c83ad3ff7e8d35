/* An MPI that only claims to take device buffers, for tests of the aware probe.
 *   cc -shared -fPIC -o shim_claims_cuda.so tests/support/shim_claims_cuda.c
 *   LD_PRELOAD=$PWD/shim_claims_cuda.so OMPI_MCA_opal_cuda_support=0 mpirun -n 2 weft run DECK
 *   run.transport=aware
 * MPI's CUDA support is switched off, yet its word is yes. weft must give one sentence, use staged, and end
 * well. */
int MPIX_Query_cuda_support(void);

int MPIX_Query_cuda_support(void) { return 1; }
