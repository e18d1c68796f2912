# A CUDA driver without a GPU, and what is tested with it.

CUDA_FAKE_SOURCES := $(wildcard tests/cuda/*.c)
CUDA_FAKE_SOURCES := $(filter-out tests/cuda/test_%,$(CUDA_FAKE_SOURCES))

.PHONY: fake-cuda
fake-cuda: $(BUILD)/cuda/libcuda.so.1 ## a driver of CUDA in host memory, for tests

$(BUILD)/cuda/libcuda.so.1: $(CUDA_FAKE_SOURCES) tests/cuda/fake.h tests/cuda/fake.map capi/cuda/driver.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -shared -Wl,-soname,libcuda.so.1 \
		-Wl,--version-script=tests/cuda/fake.map $(CUDA_FAKE_SOURCES) -o $@ -lpthread
