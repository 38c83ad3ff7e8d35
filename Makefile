# weft: MPI multi-GPU stencil and transpose mini-app.  `make help` lists the targets.
#
# Knobs: CUDA=0            host only, even where nvcc is found
#        ARCH="90"         compute capabilities (default: the GPUs found here, else 80 90 and PTX)
#        MPICC= HDF5_DIR= CUDA_HOME= PREFIX=
#        DEBUG=1           -O1, NaN-poisoned ghosts, fault hooks for the tests   (build/debug)
#        SANITIZE=1        DEBUG plus AddressSanitizer and UBSan                  (build/sanitize)

MPICC     ?= mpicc
PREFIX    ?= /usr/local
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc)))
NVCC      := $(if $(CUDA_HOME),$(CUDA_HOME)/bin/nvcc)
CUDA      ?= $(if $(NVCC),1,0)

ifdef SANITIZE
BUILD ?= build/sanitize
OPT   := -O1 -g -DWEFT_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else ifdef DEBUG
BUILD ?= build/debug
OPT   := -O1 -g -DWEFT_DEBUG
else
BUILD ?= build
OPT   := -O3 -g -DNDEBUG
endif

ifneq ($(HDF5_DIR),)
HDF5_CFLAGS := -I$(HDF5_DIR)/include
HDF5_LIBS   := -L$(HDF5_DIR)/lib -Wl,-rpath,$(HDF5_DIR)/lib -lhdf5
else
HDF5_CFLAGS := $(shell pkg-config --cflags hdf5-openmpi 2>/dev/null || pkg-config --cflags hdf5 2>/dev/null)
HDF5_LIBS   := $(shell pkg-config --libs hdf5-openmpi 2>/dev/null || pkg-config --libs hdf5 2>/dev/null || echo -lhdf5)
endif
LIBS_CFLAGS := $(shell pkg-config --cflags inih jansson libpng 2>/dev/null)
LIBS        := $(shell pkg-config --libs inih jansson libpng 2>/dev/null || echo -linih -ljansson -lpng) $(HDF5_LIBS) -lm -lpthread

CFLAGS   ?=
WARN     := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Werror=implicit $(WERROR)
CSTD     := -std=c11 -D_GNU_SOURCE -fopenmp -ffp-contract=off -fno-math-errno
ALL_CFLAGS := $(CSTD) $(OPT) $(WARN) -DWEFT_CUDA=$(CUDA) $(CFLAGS)

# Includes point left only: kernels <- comm <- io <- miniapp.
INC_kernels := -Ikernels
INC_comm    := $(INC_kernels) -Icomm
INC_io      := $(INC_comm) -Iio $(HDF5_CFLAGS) $(LIBS_CFLAGS)
INC_miniapp := $(INC_io) -Iminiapp
INC_tests   := $(INC_miniapp) -Itests

SRC   := $(wildcard kernels/*.c comm/*.c io/*.c miniapp/*.c)
CUSRC := $(if $(filter 1,$(CUDA)),$(wildcard kernels/*.cu kernels/ladder/*.cu))
OBJ   := $(SRC:%.c=$(BUILD)/%.o) $(CUSRC:%.cu=$(BUILD)/%.cu.o)
LIBOBJ := $(filter-out $(BUILD)/miniapp/main.o,$(OBJ))
UNITS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))

ifeq ($(CUDA),1)
ARCH  ?= $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+\.[0-9]+$$' | tr -d . | sort -un)
ARCHS := $(if $(strip $(ARCH)),$(ARCH),80 90)
GENCODE := $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
           -gencode arch=compute_$(lastword $(ARCHS)),code=compute_$(lastword $(ARCHS))
NVFLAGS := -std=c++17 -O3 -lineinfo -fmad=false -Xcompiler -Wall,-Wextra,-ffp-contract=off -Werror all-warnings $(if $(DEBUG)$(SANITIZE),-DWEFT_DEBUG)
CUDA_INC  := -I$(CUDA_HOME)/include
CUDA_LIBS := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt -lstdc++
endif

.PHONY: all
all: $(BUILD)/weft

$(BUILD)/weft: $(OBJ)
	$(MPICC) $(CSTD) $(OPT) -o $@ $^ $(LIBS) $(CUDA_LIBS)

$(BUILD)/kernels/%.o: kernels/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_kernels) $(CUDA_INC) -MMD -MP -c -o $@ $<
$(BUILD)/kernels/%.cu.o: kernels/%.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVFLAGS) $(GENCODE) $(INC_kernels) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
$(BUILD)/comm/%.o: comm/%.c
	@mkdir -p $(@D)
	$(MPICC) $(ALL_CFLAGS) $(INC_comm) -MMD -MP -c -o $@ $<
$(BUILD)/io/%.o: io/%.c
	@mkdir -p $(@D)
	$(MPICC) $(ALL_CFLAGS) $(INC_io) -MMD -MP -c -o $@ $<
$(BUILD)/miniapp/%.o: miniapp/%.c
	@mkdir -p $(@D)
	$(MPICC) $(ALL_CFLAGS) $(INC_miniapp) -MMD -MP -c -o $@ $<

# A test's objects: everything but main. Tests keep their asserts in every build.
$(BUILD)/tests/test_%.o: tests/test_%.c
	@mkdir -p $(@D)
	$(MPICC) $(filter-out -DNDEBUG,$(ALL_CFLAGS)) $(INC_tests) -MMD -MP -c -o $@ $<
$(BUILD)/tests/test_%: $(BUILD)/tests/test_%.o $(LIBOBJ)
	$(MPICC) $(CSTD) $(OPT) -o $@ $^ $(LIBS) $(CUDA_LIBS) -lcmocka

.PHONY: units clean
units: $(UNITS)
clean:
	rm -rf build

-include $(OBJ:.o=.d) $(UNITS:=.d)
.SECONDARY:
