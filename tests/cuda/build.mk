# A CUDA driver without a GPU, and what is tested with it.

CUDA_FAKE_SOURCES := $(patsubst %,tests/cuda/%.c,device memory stream kernels ffmpeg)

.PHONY: fake-cuda
fake-cuda: $(BUILD)/cuda/libcuda.so.1 $(BUILD)/cuda/uploader ## a driver of CUDA in host memory, for tests

$(BUILD)/cuda/libcuda.so.1: $(CUDA_FAKE_SOURCES) tests/cuda/fake.h tests/cuda/counters.h tests/cuda/fake.map capi/cuda/driver.h core/device/cuda/resize.cu core/device/cuda/place.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -shared -ffp-contract=off -Wl,-z,defs -Wl,-soname,libcuda.so.1 \
		-Wl,--version-script=tests/cuda/fake.map $(CUDA_FAKE_SOURCES) -o $@ -lpthread -lm

# The library of its video decoders, over FFmpeg's own.
.PHONY: fake-nvcuvid
fake-nvcuvid: $(BUILD)/cuda/libnvcuvid.so.1 ## video decoders of that driver, for tests

NVCUVID_SOURCES := $(patsubst %,tests/cuda/%.c,nvcuvid parameters software)

$(BUILD)/cuda/libnvcuvid.so.1: $(NVCUVID_SOURCES) tests/cuda/nvcuvid.h tests/cuda/software.h tests/cuda/fake.h $(BUILD)/cuda/libcuda.so.1
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -shared -Wl,-z,defs -Wl,-soname,libnvcuvid.so.1 \
		$$(pkg-config --cflags libavcodec) $(NVCUVID_SOURCES) -o $@ -L$(@D) -l:libcuda.so.1 $$(pkg-config --libs libavcodec libavutil)

# The library of its JPEG decoder, over libjpeg.
.PHONY: fake-nvjpeg
fake-nvjpeg: $(BUILD)/cuda/libnvjpeg.so ## JPEG decoders of that driver, for tests

$(BUILD)/cuda/libnvjpeg.so: tests/cuda/nvjpeg.c core/device/cuda/nvjpeg_calls.h tests/cuda/fake.h $(BUILD)/cuda/libcuda.so.1
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Wshadow -Werror -Wno-clobbered -fPIC -fvisibility=hidden -shared -Wl,-z,defs -Wl,-soname,libnvjpeg.so \
		tests/cuda/nvjpeg.c -o $@ -L$(@D) -l:libcuda.so.1 -ljpeg

# What the device runs, from its source.
KERNELS ?= core/device/cuda/resize.ptx
.PHONY: kernels
kernels: ## compile the device's kernels (needs clang)
	clang-14 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -O2 -ffp-contract=off -fno-unroll-loops -S \
		-o $(KERNELS) core/device/cuda/resize.cu

# libspdl's own sources with the stand-in engine, as in capi-test; and an uploader in another process.
CUDA_TESTS := tests/capi/main.c tests/capi/standin.c $(wildcard tests/cuda/test_*.c)
CUDA_TEST_DEPS = $(CUDA_TESTS) $(CAPI_SOURCES) $(CAPI_HEADERS) tests/capi/test.h tests/capi/standin.h tests/cuda/fake.h tests/cuda/gpu.h tests/cuda/exporter.h $(BUILD)/cuda/libcuda.so.1 $(BUILD)/cuda/exporter

$(BUILD)/cuda/exporter: tests/cuda/exporter.c tests/cuda/exporter.h tests/cuda/program.h capi/cuda/driver.c capi/cuda/driver.h
	@mkdir -p $(@D)
	$(CC) $(CAPI_TEST_FLAGS) -O1 tests/cuda/exporter.c capi/cuda/driver.c -o $@ -ldl

$(BUILD)/cuda/uploader: tests/cuda/uploader.c tests/cuda/program.h tests/capi/standin.c tests/capi/standin.h shm/layout.h capi/cuda/driver.c capi/cuda/driver.h
	@mkdir -p $(@D)
	$(CC) $(CAPI_TEST_FLAGS) -O1 tests/cuda/uploader.c tests/capi/standin.c capi/cuda/driver.c -o $@ -lpthread -ldl

$(BUILD)/cuda/test: $(CUDA_TEST_DEPS)
	$(CC) $(CAPI_TEST_FLAGS) -O1 $(CAPI_SOURCES) $(CUDA_TESTS) -o $@ -lpthread -ldl
$(BUILD)/cuda/test-asan: $(CUDA_TEST_DEPS)
	$(CC) $(CAPI_TEST_FLAGS) -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer $(CAPI_SOURCES) $(CUDA_TESTS) -o $@ -lpthread -ldl

.PHONY: cuda-test cuda-asan
cuda-test: $(BUILD)/cuda/test ## test libspdl's GPU half against a driver without a GPU
	SPDL_CUDA_LIBRARY=$(abspath $(BUILD))/cuda/libcuda.so.1 SPDL_TEST_BUILD=$(BUILD) $<
cuda-asan: $(BUILD)/cuda/test-asan ## the same under AddressSanitizer and UBSan
	SPDL_CUDA_LIBRARY=$(abspath $(BUILD))/cuda/libcuda.so.1 SPDL_TEST_BUILD=$(BUILD) $<
