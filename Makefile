# weft: MPI multi-GPU stencil and transpose mini-app.  `make help` lists targets and knobs.
#
# Builds live side by side: build (release), build/sanitize (SANITIZE=1) and, on demand, build/debug (DEBUG=1),
# build/sim (SIM=1) and build/coverage (COVERAGE=1). A change of flags within one of them rebuilds what it affects:
# every object depends on a stamp that holds its flags.

VERSION   := 1.0.0
# Ranks that SimGrid's SMPI simulates (jobs/simulate): no threads, for which there is no simulated clock, so no OpenMP. Each rank has
# its own copy of the program, so no symbols. What it allocates is counted (kernels/device/device_sim.c).
ifdef SIM
BUILD ?= build/sim
override MPICC := smpicc
override CC    := smpicc
override CUDA  := 0
SIMULATED := -DSMPI_NO_OVERRIDE_MALLOC -Wno-unknown-pragmas -Wno-unused-variable -D_OPENMP=0
comma     := ,
COUNTED   := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc aligned_alloc strdup strndup)
endif
MPICC     ?= mpicc
# The launcher of that MPI; where MPICC has another name (mpiicx, Cray's cc), what is on PATH.
MPI_CC    := $(lastword $(MPICC))
MPIRUN    ?= $(or $(filter-out $(MPI_CC),$(subst mpicc,mpirun,$(MPI_CC))),\
                  $(notdir $(shell command -v mpirun || command -v mpiexec || command -v srun)),mpirun)
# CC compiles kernels, MPICC the rest and links: one compiler beneath both, so that there is one OpenMP.
ifneq ($(and $(filter environment command,$(origin CC)),$(if $(findstring mpi,$(CC)),,yes)),)
export OMPI_CC ?= $(CC)
export MPICH_CC ?= $(CC)
export I_MPI_CC ?= $(CC)
endif
PREFIX    ?= /usr/local
# The toolkit of the nvcc on PATH or in /usr/local/cuda: the first that has headers, which are in targets/*/include with conda, in another
# folder where nvcc is a link, and in ../cuda with NVHPC. Of CUDA's libraries, too, there are several places.
cuda_headers = $(wildcard $(1)/include/cuda_runtime_api.h $(1)/targets/*/include/cuda_runtime_api.h)
NVCCS     := $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
CUDAS     := $(patsubst %/bin/nvcc,%,$(wildcard $(foreach n,$(NVCCS) $(realpath $(NVCCS)),$(n) \
               $(abspath $(n:%/bin/nvcc=%/../cuda))/bin/nvcc)))
CUDA_HOME ?= $(firstword $(foreach h,$(CUDAS),$(if $(call cuda_headers,$(h)),$(h))) $(CUDAS))
NVCC      := $(wildcard $(CUDA_HOME:%=%/bin/nvcc))
CUDA_HEADERS := $(patsubst %/,%,$(dir $(firstword $(call cuda_headers,$(CUDA_HOME)))))
CUDA_LIB  := $(patsubst %/,%,$(dir $(firstword $(wildcard \
               $(patsubst %,$(CUDA_HOME)/%/libcudart_static.a,lib64 lib targets/*/lib lib/*-linux-gnu)))))
CUDA      ?= $(if $(NVCC),1,0)
NCCL_HOME ?= $(patsubst %/include/nccl.h,%,$(firstword $(wildcard $(patsubst %,%/include/nccl.h,$(CUDA_HOME) /usr /usr/local))))
NCCL      ?= $(if $(and $(filter 1,$(CUDA)),$(wildcard $(NCCL_HOME:%=%/include/nccl.h))),1,0)
GPUS      := $(shell nvidia-smi -L 2>/dev/null | grep -c '^GPU')
RANKS     ?= $(or $(filter-out 0,$(GPUS)),2)

# Debian's and Ubuntu's packages are built so, and Ubuntu's gcc does it by itself.
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
ifdef SANITIZE
BUILD ?= build/sanitize
OPT   := -O1 -g1 -DWEFT_DEBUG -U_FORTIFY_SOURCE -fsanitize=address,undefined -fno-sanitize-recover=undefined \
         -fno-omit-frame-pointer -fPIC
else ifdef COVERAGE
BUILD ?= build/coverage
OPT   := -O1 -g -DWEFT_DEBUG -DWEFT_COVERAGE $(FORTIFY) --coverage -fprofile-update=atomic -fPIC
else ifdef DEBUG
BUILD ?= build/debug
OPT   := -O1 -g -DWEFT_DEBUG $(FORTIFY)
else
BUILD ?= build
OPT   := -O3 $(if $(SIM),-s,-g) -DNDEBUG $(FORTIFY)
endif

# MPICH and what is made of it, Intel's and Cray's. weft makes no parallel HDF5 call, so that any HDF5 will do, but for one that brings
# another MPI: .ci/install-deps --check refuses that.
hash         := \#
MPI_IS_MPICH := $(shell echo '$(hash)include <mpi.h>' | $(MPICC) -E -dM -x c - 2>/dev/null | grep -o MPICH_NUMVERSION)
ifneq ($(HDF5_DIR),)
HDF5_LIB    := $(or $(patsubst %/,%,$(dir $(firstword $(wildcard $(HDF5_DIR)/lib/libhdf5.* $(HDF5_DIR)/lib64/libhdf5.*)))),$(HDF5_DIR)/lib)
HDF5_CFLAGS := -I$(HDF5_DIR)/include
HDF5_LIBS   := -L$(HDF5_LIB) -Wl,-rpath,$(HDF5_LIB) -lhdf5
else
HDF5_PCS    := hdf5-serial $(if $(MPI_IS_MPICH),hdf5-mpich,hdf5-openmpi) hdf5
HDF5_PC     := $(shell for p in $(HDF5_PCS); do pkg-config --exists $$p 2>/dev/null && echo $$p && break; done)
HDF5_CFLAGS := $(if $(HDF5_PC),$(shell pkg-config --cflags $(HDF5_PC)))
HDF5_LIBS   := $(if $(HDF5_PC),$(shell pkg-config --libs $(HDF5_PC)),-lhdf5)
endif
LIBS_CFLAGS := $(shell pkg-config --cflags jansson libpng 2>/dev/null)
LIBS        := $(shell pkg-config --libs jansson libpng 2>/dev/null || echo -ljansson -lpng) \
               $(HDF5_LIBS) -lm -lpthread -ldl $(if $(SIM),-lgomp $(COUNTED))

CFLAGS   ?=
# MPICH's MPI_STATUSES_IGNORE is the address 1, which gcc takes for an array of no elements. clang's -Wconversion has more than gcc's.
WARN     := -Wall -Wextra -Wno-unused-parameter -Wconversion -Wshadow -Wstrict-prototypes -Werror=implicit \
            $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),-Wno-sign-conversion -Wno-enum-enum-conversion -Wno-enum-float-conversion) \
            $(if $(MPI_IS_MPICH),-Wno-stringop-overflow) $(WERROR)
CSTD     := -std=c11 -D_GNU_SOURCE $(if $(SIM),,-fopenmp) -ffp-contract=off -fno-math-errno
ALL_CFLAGS := $(CSTD) $(OPT) $(WARN) -DWEFT_CUDA=$(CUDA) -DWEFT_SIM=$(if $(SIM),1,0) $(SIMULATED) $(CFLAGS)

# Includes point left only: kernels <- comm <- io <- miniapp. Libraries' headers are system headers: their warnings are theirs.
INC_kernels := -Ikernels
INC_comm    := $(INC_kernels) -Icomm
INC_io      := $(INC_comm) -Iio $(patsubst -I%,-isystem %,$(HDF5_CFLAGS) $(LIBS_CFLAGS) $(patsubst %,-I%,$(subst :, ,$(CPATH))))
INC_miniapp := $(INC_io) -Iminiapp
INC_tests   := $(INC_miniapp) -Itests

SRC    := $(wildcard kernels/*/*.c comm/*/*.c io/*/*.c miniapp/*/*.c)
CUSRC  := $(if $(filter 1,$(CUDA)),$(wildcard kernels/*/*.cu))
OBJ    := $(SRC:%.c=$(BUILD)/%.o) $(CUSRC:%.cu=$(BUILD)/%.cu.o)
LIBOBJ := $(filter-out $(BUILD)/miniapp/cli/main.o,$(OBJ))
# Units are linked with all but main: shared in the builds that have every unit, where a libweft.so that changes
# links none anew; of thin members in the release, whose objects are not -fPIC.
SHARED := $(SANITIZE)$(COVERAGE)
LIB    := $(BUILD)/libweft.$(if $(SHARED),so,a)
UNITS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/*/test_*.c))
# Units that tests/run starts in this build too, by a line of the first comment.
UNITS_RELEASE = $(patsubst %.c,$(BUILD)/%,$(shell awk '\
    / release: /$(if $(CUSRC), || / gpus: /) { print FILENAME; nextfile } /\*\// { nextfile }' tests/*/test_*.c))

ifeq ($(CUDA),1)
ifeq ($(NVCC),)
$(error CUDA=1 needs nvcc: put it on PATH, or name the folder above its bin/ with CUDA_HOME=)
endif
ARCH  ?= $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+\.[0-9]+$$' | \
                 tr -d . | sort -un)
ARCHS := $(or $(strip $(ARCH)),90)
CUDA_VERSION := $(shell $(NVCC) --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
# CUDA 12 has the smallest objects too, which its drivers before 550 cannot load; CUDA 13 needs a newer driver anyway.
COMPRESS ?= $(if $(filter-out 11.% 12.%,$(CUDA_VERSION)),size)
# The ptxas of CUDA 12.0 crashes on line numbers in loops over a clock (sm_90).
LINES    := $(if $(filter-out 12.0,$(CUDA_VERSION)),-lineinfo)
GENCODE := $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
           -gencode arch=compute_$(lastword $(ARCHS)),code=compute_$(lastword $(ARCHS))
NVFLAGS := -std=c++17 -O3 $(LINES) -fmad=false -Xcompiler -Wall,-Wextra,-Wno-unused-parameter,-ffp-contract=off -Werror all-warnings \
           $(NVCC_CCBIN:%=-ccbin %) $(if $(COMPRESS),--compress-mode=$(COMPRESS)) $(if $(DEBUG)$(SANITIZE),-DWEFT_DEBUG)
CUDA_INC  := $(patsubst %,-I%,$(filter-out /usr/include,$(CUDA_HEADERS)))
CUDA_LIBS := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcudart_static -ldl -lrt -lstdc++
endif

# NCCL's library is opened at run time, where a halo asks for it: the program needs its header here and no more.
ifneq ($(CUDA),1)
override NCCL := 0
endif
ifeq ($(NCCL),1)
ifeq ($(wildcard $(NCCL_HOME:%=%/include/nccl.h)),)
$(error NCCL=1 needs nccl.h: name the folder above include/ with NCCL_HOME=)
endif
NCCL_INC := $(patsubst %,-isystem %,$(filter-out /usr/include,$(CUDA_HEADERS) $(NCCL_HOME)/include))
NCCL_LIB := $(firstword $(wildcard $(NCCL_HOME)/lib/libnccl.so.2 $(NCCL_HOME)/lib64/libnccl.so.2))
CUDA_LIBS += $(if $(NCCL_LIB),-Xlinker -rpath -Xlinker $(patsubst %/,%,$(dir $(NCCL_LIB))))
endif

# So is NVSHMEM's, for a rung of weft bench. NVSHMEM_HOME has lib/ and include/: of NVIDIA's package, or nvidia/nvshmem of the wheel.
NVSHMEM_INC := $(NVSHMEM_HOME:%=-isystem %/include)
CUDA_LIBS += $(NVSHMEM_HOME:%=-Xlinker -rpath -Xlinker %/lib)

# One short line a command, numbered; V=1 shows the commands.
say = $(eval DONE += x)$(if $(V),,@printf '%3d %-5s %s\n' $(words $(DONE)) $(1) $@;)

BUILDING = Building $(BUILD)/weft for $(if $(filter 1,$(CUDA)),CUDA ($(ARCHS)) and )the host: $(words $(OBJ)) files, a line for each.
.PHONY: all announce
all: announce $(BUILD)/weft
announce:
	@[ -e $(BUILD)/weft ] || { echo "$(BUILDING)" && $(FIND_DEPS) --found; }

$(BUILD)/weft: $(OBJ) $(BUILD)/link.flags
	$(call say,LINK)$(MPICC) $(CSTD) $(OPT) -o $@ $(OBJ) $(LIBS) $(CUDA_LIBS)

$(BUILD)/kernels/%.o: kernels/%.c $(BUILD)/c.flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(INC_kernels) $(CUDA_INC) -MMD -MP -c -o $@ $<
$(BUILD)/kernels/%.cu.o: kernels/%.cu $(BUILD)/cuda.flags
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) $(NVFLAGS) $(GENCODE) $(INC_kernels) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
# Where warnings are errors, so are registers that do not suffice: in the release, on sm_80 and sm_90, which the kernels were cut for;
# the ladder is left out.
NO_SPILLS := $(if $(WERROR),$(if $(DEBUG)$(SANITIZE)$(filter-out 80 90,$(ARCHS)),,-Xptxas --warn-on-spills))
$(patsubst %.cu,$(BUILD)/%.cu.o,$(filter-out kernels/ladder%,$(wildcard kernels/*/*.cu))): NVFLAGS += $(NO_SPILLS)
# A row of the ladder's tables names the members that it sets.
$(BUILD)/kernels/ladder%.cu.o: NVFLAGS += -Xcompiler -Wno-missing-field-initializers
$(BUILD)/comm/%.o: comm/%.c $(BUILD)/c.flags
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(ALL_CFLAGS) $(INC_comm) -MMD -MP -c -o $@ $<
$(BUILD)/comm/transports/transport_nccl.o: INC_comm += -DWEFT_NCCL=$(NCCL) $(NCCL_INC)
$(BUILD)/kernels/ladder/ladder_nccl.cu.o: NVFLAGS += -DWEFT_NCCL=$(NCCL) $(NCCL_INC)
$(BUILD)/kernels/ladder/ladder_nvshmem.cu.o: NVFLAGS += $(NVSHMEM_INC)
$(BUILD)/comm/transports/transport_nccl.o $(patsubst %,$(BUILD)/kernels/ladder/ladder_%.cu.o,nccl nvshmem): $(BUILD)/nccl.flags
$(BUILD)/io/%.o: io/%.c $(BUILD)/c.flags
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(ALL_CFLAGS) $(INC_io) -MMD -MP -c -o $@ $<
$(BUILD)/miniapp/%.o: miniapp/%.c $(BUILD)/c.flags
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(ALL_CFLAGS) $(INC_miniapp) $(DEFINES) -MMD -MP -c -o $@ $<

# Version and commit go into this one object, so that a commit rebuilds one file. git archive writes the commit into .ci/commit.
GIT := $(or $(if $(wildcard .git),$(shell git -c safe.directory='*' describe --always --tags --dirty 2>/dev/null)),\
            $(shell grep -x '[0-9a-f]*' .ci/commit 2>/dev/null),unknown)
$(BUILD)/miniapp/base/machine.o: DEFINES := -DWEFT_VERSION='"$(VERSION)"' -DWEFT_GIT='"$(GIT)"'
$(BUILD)/miniapp/base/machine.o: $(BUILD)/version.flags

# Tests keep their asserts in every build, and take libc's calls over by their plain names, for libweft too.
$(BUILD)/tests/%.o: tests/%.c $(BUILD)/c.flags
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(filter-out -DNDEBUG,$(ALL_CFLAGS)) -U_FORTIFY_SOURCE $(INC_tests) -MMD -MP -c -o $@ $<
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(if $(SHARED),|) $(LIB)
	$(call say,LINK)$(MPICC) $(CSTD) $(OPT) $(if $(SHARED),-rdynamic) -o $@ $< $(LIB) -Wl,-rpath,'$$ORIGIN/../..' $(LIBS) $(CUDA_LIBS) -lcmocka
$(BUILD)/libweft.so: $(LIBOBJ) $(BUILD)/link.flags
	$(call say,LINK)$(MPICC) $(CSTD) $(OPT) -shared -Wl,-soname,$(@F) -o $@ $(LIBOBJ) $(LIBS)
$(BUILD)/libweft.a: $(LIBOBJ) $(BUILD)/link.flags
	$(call say,AR)rm -f $@ && ar=$$($(CC) -print-prog-name=ar) && "$${ar:-ar}" rcsT $@ $(LIBOBJ)

# The writer's thread beside the main one, under ThreadSanitizer; without OpenMP, whose libgomp it does not understand.
RACES := tests/io/test_state_beside_the_steps.c $(wildcard io/*/*.c) \
         $(wildcard comm/ranks/*.c) $(wildcard kernels/core/*.c) kernels/fields/fields_host.c
$(BUILD)/races/%: tests/io/%.c $(RACES)
	@mkdir -p $(@D)
	$(call say,MPICC)$(MPICC) $(filter-out -fopenmp,$(CSTD)) -DWEFT_SIM=0 -O1 -g -fsanitize=thread -fno-omit-frame-pointer $(INC_tests) \
	    -o $@ $(RACES) $(LIBS) -lcmocka -lgomp

# NAME.flags holds what its users were built with and is touched only when that changes. A missing compiler or library
# is named here, once, before a hundred compiler errors would.
FLAGS_c       := $(CC) $(MPICC) $(filter-out -Werror,$(ALL_CFLAGS)) $(CUDA_INC) $(INC_miniapp)
FLAGS_cuda    := $(NVCC) $(NVFLAGS) $(GENCODE)
FLAGS_link    := $(LIBS) $(CUDA_LIBS) $(OBJ)
FLAGS_nccl    := $(NCCL) $(NCCL_INC) $(NVSHMEM_INC)
FLAGS_version := $(VERSION) $(GIT)
$(BUILD)/%.flags: always
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_$*)' | cmp -s - $@ || { $(FIND_DEPS) --check build && printf '%s\n' '$(FLAGS_$*)' > $@; }
.PHONY: always

# ---- what people type ----

# A CUDA_HOME that names no toolkit is not passed over.
NO_NVCC_IN := $(if $(and $(filter file,$(origin CUDA)),$(filter-out file,$(origin CUDA_HOME))),$(if $(NVCC),,$(CUDA_HOME)))
FIND_DEPS = CC='$(CC)' MPICC='$(MPICC)' MPIRUN='$(MPIRUN)' HDF5_DIR='$(HDF5_DIR)' HDF5_CFLAGS='$(HDF5_CFLAGS)' HDF5_LIBS='$(HDF5_LIBS)' \
            CUDA='$(or $(CUDA_NOW),$(CUDA))' NO_NVCC_IN='$(NO_NVCC_IN)' CUDA_HOME='$(CUDA_HOME)' NVCC='$(NVCC)' CUDA_VERSION='$(CUDA_VERSION)' \
            CCBIN='$(NVCC_CCBIN)' CUDA_HEADERS='$(CUDA_HEADERS)' CUDA_LIB='$(CUDA_LIB)' .ci/install-deps

# With nvcc and no GPU `make run` builds for the host, unless CUDA= or ARCH= is given or a CUDA build is there.
HOST_FIRST := $(and $(filter 1,$(CUDA)),$(filter file,$(origin CUDA)),$(filter file,$(origin ARCH)),$(filter 0,$(GPUS)),\
                    $(if $(wildcard $(BUILD)/kernels/*/*.cu.o),,yes))
FOR_CUDA   := There is an nvcc, but no GPU is visible: this builds and runs the host program. 'make -j ARCH=90' builds the CUDA \
              program for an H100, which takes several times as long.

# run and test enter make once more after the installation: what pkg-config says is read when make starts.
.PHONY: run test test-all deps run-built test-built test-all-built
run: CUDA_NOW = $(if $(HOST_FIRST),0)
run test test-all:
	@$(FIND_DEPS) $(if $(filter no,$(DEPS)),--check) $(@:-all=)
	@$(if $(and $(filter run,$@),$(HOST_FIRST)),echo "$(FOR_CUDA)")
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc)) $(if $(filter run,$@),$(if $(HOST_FIRST),CUDA=0)) $@-built
deps:
	@$(FIND_DEPS) $(if $(filter no,$(DEPS)),--check) jobs

# Open MPI refuses root unless both are set; here only for the tests.
TESTED := test-built test-all-built coverage-built
$(TESTED): export OMPI_ALLOW_RUN_AS_ROOT := 1
$(TESTED): export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
$(TESTED): export TESTS_BEGAN := $(shell date +%s)
run-built: announce $(BUILD)/weft
	@BUILD='$(BUILD)' MPIRUN='$(MPIRUN)' RANKS='$(RANKS)' .ci/first-run

# The release build and that of the sanitizers, with faults and most units, are built side by side: the last files
# and links of one leave cores to the other.
.PHONY: tested-release tested-sanitize tested-sim
tested-release:
	@$(MAKE) --no-print-directory all units-release
tested-sanitize:
	@$(MAKE) --no-print-directory all units SANITIZE=1 CUDA=0 BUILD=$(BUILD)/sanitize
tested-sim:
	@! command -v smpicc >/dev/null || $(MAKE) --no-print-directory all SIM=1 BUILD=$(BUILD)/sim
test-built: tested-release tested-sanitize
	@BUILD=$(BUILD) MPIRUN='$(MPIRUN)' tests/run
test-all-built: tested-release tested-sanitize tested-sim
	@BUILD=$(BUILD) MPIRUN='$(MPIRUN)' tests/run --all

# One build, which counts what it reaches, is both the release and the one with faults: tests that see no fault in
# the release fail. PARTS="halo restart": by these tests alone.
.PHONY: coverage coverage-built
coverage:
	@$(FIND_DEPS) $(if $(filter no,$(DEPS)),--check) coverage
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc)) coverage-built
coverage-built:
	@$(MAKE) --no-print-directory all units COVERAGE=1 CUDA=0 BUILD=$(BUILD)/coverage
	@ln -sfn . $(BUILD)/coverage/sanitize
	@find $(BUILD)/coverage -name '*.gcda' -delete
	-@BUILD=$(BUILD)/coverage MPIRUN='$(MPIRUN)' tests/run $(PARTS)
	@gcovr -j $$(nproc) --root . --print-summary --txt $(BUILD)/coverage/coverage.txt \
	    --html-details $(BUILD)/coverage/index.html $(addprefix $(BUILD)/coverage/,kernels comm io miniapp)

# The long forms, whose results stand in tests/README.md. FUZZ_FLAGS and SOAK_FLAGS: variables NAME=VALUE of the test's own.
.PHONY: fuzz soak
fuzz: tested-release tested-sanitize
	@env BUILD=$(BUILD) MPIRUN='$(MPIRUN)' WEFT_FUZZ_DECKS=875000 WEFT_FUZZ_LINES=125000 WEFT_DAMAGE_FLIPS=1000 \
	    WEFT_RANDOM_DECKS=1000 WEFT_JUDGE_TRIALS=1000 TEST_LIMIT_S=9000 $(FUZZ_FLAGS) \
	    tests/run test_damaged_ test_state_damage_is_found test_random_decks test_judge
soak:
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory all SANITIZE=1 CUDA=0 BUILD=$(BUILD)/sanitize
	@BUILD=$(BUILD) MPIRUN='$(MPIRUN)' env $(SOAK_FLAGS) tests/long/soak $(SOAK)

# Deliberate faults in copies of the tree, and which of them the tests find. FAULTS="io miniapp/run": only these rooms, or names.
.PHONY: faults
faults:
	@BUILD=$(BUILD) MPIRUN='$(MPIRUN)' tests/long/faults $(FAULTS)

# With other compilers, C libraries, MPIs, HDF5s, CUDAs and on arm64. ELSEWHERE="gcc-9 arm64": these alone.
.PHONY: test-elsewhere
test-elsewhere:
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) ELSEWHERE='$(ELSEWHERE)' tests/long/elsewhere

# Units that run on one rank. valgrind knows neither AVX-512 nor the 80 bits of a long double, and says of a process that cannot be
# started that it was; of MPI's memory it knows by Open MPI's list alone, and leaks are looked for where there is no MPI. SLOW=1: also
# two units that take 3 and 20 minutes.
.PHONY: valgrind
MPI_KNOWN = $(firstword $(wildcard /usr/share/openmpi/openmpi-valgrind.supp $(MPI_HOME:%=%/share/openmpi/openmpi-valgrind.supp)))
PASSED_OVER = $(addprefix tests/,comm/test_topology_is_the_same_for_all \
    $(if $(SLOW),,kernels/test_kernels_give_plain_bits kernels/test_temporal_equals_single_steps))
ON_ONE_RANK = $(filter-out $(PASSED_OVER),$(patsubst %.c,%,\
    $(shell grep -L 'ranks: *[$(if $(MPI_KNOWN),2,0)-9]\|long double' tests/*/test_*.c)))
valgrind: export OMPI_ALLOW_RUN_AS_ROOT := 1
valgrind: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
valgrind: export OMPI_MCA_ess_singleton_isolated := 1
valgrind:
	@$(MAKE) --no-print-directory CUDA=0 $(ON_ONE_RANK:%=$(BUILD)/%)
	@failed=0; for name in $(ON_ONE_RANK); do \
	    leaks='--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite'; unit=$(BUILD)/$$name; \
	    ! grep -q 'ranks: *[0-9]' $$name.c || leaks='--suppressions=$(MPI_KNOWN)'; \
	    env OMP_NUM_THREADS=2 WEFT_FUZZ_DECKS=200 WEFT_FUZZ_LINES=100 \
	        valgrind -q --error-exitcode=9 $$leaks $$unit >$$unit.valgrind 2>&1; code=$$?; \
	    case $$code in 0 | 77) ;; *) failed=1; cat $$unit.valgrind ;; esac; \
	    echo "$$name: $$code, $$(grep -c '^==' $$unit.valgrind) lines of valgrind"; done; exit $$failed

.PHONY: units units-release install install-built clean help
units: $(UNITS)
units-release: $(UNITS_RELEASE)

# Pages are where they are in the tree, with what they link to.
SHARE := $(DESTDIR)$(PREFIX)/share
# Sources that pages link.
LINKED := $(shell grep -hoE '(\.\./)+[km][a-z0-9_/]*\.[a-z]*' docs/*.md docs/teaching/*.md | sed -E 's,^(../)+,,' | sort -u)
PAGES := $(wildcard *.md docs/*.md docs/*/* */README.md jobs/results/README.md jobs/results/index.tsv jobs/results/limits.tsv jobs/results/*.png jobs/questions.ini \
         jobs/apptainer.def CITATION.cff) $(LINKED)
install: all
	@$(MAKE) --no-print-directory install-built
install-built:
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/bash-completion/completions
	install -d $(SHARE)/weft/inputs $(SHARE)/weft/reference $(addprefix $(SHARE)/weft/jobs/,studies weftlab)
	install -m 755 $(BUILD)/weft $(DESTDIR)$(PREFIX)/bin/weft
	jobs/manual.sh $(BUILD)/weft > $(SHARE)/man/man1/weft.1
	install -m 644 jobs/completion.bash $(SHARE)/bash-completion/completions/weft
	install -m 644 $(wildcard inputs/*.ini inputs/*.h5) inputs/fingerprints $(SHARE)/weft/inputs
	install -m 644 $(wildcard inputs/reference/*.json) $(SHARE)/weft/reference
	sed -i 's|^initial = inputs/|initial = $(PREFIX)/share/weft/inputs/|' $(SHARE)/weft/inputs/*.ini
	install -m 755 $(addprefix jobs/,weft.sbatch check.sbatch check_reference judge study study.sbatch records plot \
	    compare panels state) $(SHARE)/weft/jobs
	install -m 644 jobs/pyproject.toml $(SHARE)/weft/jobs
	install -m 644 $(wildcard jobs/weftlab/*.py) $(SHARE)/weft/jobs/weftlab
	[ -e $(SHARE)/weft/jobs/site.ini ] || install -m 644 jobs/site.ini $(SHARE)/weft/jobs
	install -m 644 $(wildcard jobs/studies/*.ini) $(SHARE)/weft/jobs/studies
	for file in LICENSE $(PAGES); do install -D -m 644 $$file $(SHARE)/weft/$$file || exit; done

.PHONY: lines
lines:
	@tests/support/lines.py . tests/support/ceilings

clean:
	rm -rf build

help:
	@echo 'make                builds build/weft, with the CUDA device if nvcc is found'
	@echo 'make run            installs what is missing, builds, runs heat2d and draws a wave, on 2 ranks or one per GPU'
	@echo 'make test           installs what is missing, builds the release and that of the sanitizers, tests'
	@echo 'make test-all       runs also tests that need a service: Slurm, VTK, SimGrid'
	@echo 'make coverage       lines and branches that the tests reach, file by file: build/coverage/coverage/index.html'
	@echo 'make deps           installs the Debian or Ubuntu packages that are missing to build, run, and draw a study'
	@echo 'make fuzz           damages a million decks and command lines, 1000 states; 1000 random decks'
	@echo 'make valgrind       runs the unit tests of one rank under valgrind; SLOW=1 adds two slow ones'
	@echo 'make soak           kills and signals runs for an hour; SOAK="kills signals" does only these parts'
	@echo 'make faults         breaks copies of the tree, one place at a time, and says what the tests find; FAULTS="io jobs": in these rooms'
	@echo 'make test-elsewhere builds with the oldest and newest gcc, clang, MPIs, HDF5 and CUDA, and for arm64, and compares decks; an hour'
	@echo 'make lines          lines, tokens and files of each room, and what is above tests/support/ceilings'
	@echo 'make units          builds the unit tests in BUILD/tests'
	@echo 'make install        installs PREFIX/bin/weft, PREFIX/share/{man,bash-completion,weft} with decks, jobs/ and pages; PREFIX=/usr/local'
	@echo 'make clean          deletes build/'
	@echo
	@echo 'CUDA=0              builds for the host only, even if nvcc is found'
	@echo 'DEPS=no             installs nothing: names what is missing'
	@echo 'ARCH="80 90"        compute capabilities (default: those of the GPUs found here, else 90); PTX of the last is added'
	@echo 'COMPRESS=size       compresses CUDA code most: the default with CUDA 13; with CUDA 12.4 it needs a driver from 550 on'
	@echo 'MPICC= MPIRUN=      MPI compiler and launcher (mpicc, mpirun); MPICH works too: MPICC=mpicc.mpich'
	@echo 'CC= NVCC_CCBIN=     C compiler, also beneath MPICC (CC="ccache gcc-12"); host compiler of nvcc, where it refuses g++'
	@echo 'HDF5_DIR=           folder of an HDF5 that pkg-config does not find: serial, or parallel over the same MPI'
	@echo 'CUDA_HOME=          folder of CUDA, if nvcc is neither on PATH nor in /usr/local/cuda'
	@echo 'NCCL=0 NCCL_HOME=   builds without NCCL even if its header is found; folder of NCCL, if neither that of CUDA nor /usr'
	@echo 'NVSHMEM_HOME=       folder of NVSHMEM, which has include/ and lib/, for the rungs nvshmem of weft bench'
	@echo 'RANKS=2             number of ranks of make run'
	@echo 'DEBUG=1             -O1, NaN-poisoned ghosts, fault hooks for the tests     (build/debug)'
	@echo 'SANITIZE=1          DEBUG with AddressSanitizer and UBSan                   (build/sanitize)'
	@echo 'COVERAGE=1          DEBUG with counters for gcov                           (build/coverage)'
	@echo 'SIM=1               ranks for jobs/simulate, with SimGrid (.ci/install-deps simgrid) (build/sim)'
	@echo 'V=1                 shows every command in full'
	@echo 'WERROR=-Werror      warnings are errors (as in CI)'
	@echo 'BUILD=DIR           another build folder'

-include $(OBJ:.o=.d) $(UNITS:=.d)
.SECONDARY:
