# The C++ client, included by the top Makefile, or alone: make -f clients/cpp/build.mk cpp-test.
# The headers need no build; these are their tests.

BUILD ?= build
CPP_WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
CPP_INCLUDE := -Iinclude -Iclients/cpp/include
CPP_HEADERS := include/spdl.h $(wildcard clients/cpp/include/spdl/*.hpp)
CPP_OUT := $(BUILD)/tests/cpp
CPP_ASAN := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all

.PHONY: cpp-torch-test cpp-programs cpp-test cpp-mock-test cpp-ring-test cpp-matrix cpp-examples-test cpp-package-test cpp-pipeline-test

# All programs are compiled first, as many at once as there are CPUs.
CPP_PROGRAMS = $(foreach t,client noexcept ring gpu pipeline pipeline_noexcept pipeline_tsan $(CPP_ENGINE_TESTS) $(CPP_ENGINE_TESTS:%=%_noexcept),$(CPP_OUT)/test_$(t))

cpp-programs:
	@$(MAKE) --no-print-directory -j$(shell nproc) $(CPP_PROGRAMS)

cpp-test: cpp-programs cpp-mock-test cpp-ring-test cpp-pipeline-test cpp-matrix cpp-examples-test cpp-package-test ## the C++ client: against a mock, on a ring, with the engine, in every mode, as a package

$(CPP_OUT)/mock.o: tests/cpp/mock.c tests/cpp/mock.h include/spdl.h
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CPP_WARN) $(CPP_ASAN) -Iinclude -c $< -o $@

$(CPP_OUT)/test_client: tests/cpp/test_client.cpp tests/cpp/check.hpp $(CPP_OUT)/mock.o $(CPP_HEADERS)
	$(CXX) -std=c++17 $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $< $(CPP_OUT)/mock.o -pthread -o $@

$(CPP_OUT)/test_noexcept: tests/cpp/test_noexcept.cpp tests/cpp/check.hpp $(CPP_OUT)/mock.o $(CPP_HEADERS)
	$(CXX) -std=c++17 -fno-exceptions -fno-rtti $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $< $(CPP_OUT)/mock.o -o $@

cpp-mock-test: $(CPP_OUT)/test_client $(CPP_OUT)/test_noexcept
	$(CPP_OUT)/test_client
	$(CPP_OUT)/test_noexcept

# Of Debian's libtorch, which logs by glog, or of another: TORCH=DIR with include and lib.
TORCH_FLAGS = $(if $(TORCH),-isystem $(TORCH)/include -L$(TORCH)/lib -Wl$(comma)-rpath$(comma)$(TORCH)/lib,-lglog)
TORCH_CXX ?= c++17
comma := ,

$(CPP_OUT)/test_torch: tests/cpp/test_torch.cpp tests/cpp/check.hpp $(CPP_OUT)/mock.o $(CPP_HEADERS)
	$(CXX) -std=$(TORCH_CXX) -O1 -Wall -Wextra -Werror -fsanitize=address,undefined $(CPP_INCLUDE) $< $(CPP_OUT)/mock.o $(TORCH_FLAGS) -ltorch -ltorch_cpu -lc10 -pthread -o $@

$(BUILD)/examples/train_torch_cpp: examples/cpp/train_torch.cpp $(BUILD)/libspdl.so $(CPP_HEADERS)
	@mkdir -p $(@D)
	$(CXX) -std=$(TORCH_CXX) -O1 -Wall -Wextra -Werror $(CPP_INCLUDE) $< -L$(BUILD) -lspdl -Wl,-rpath,'$$ORIGIN/..' $(if $(TORCH),-isystem $(TORCH)/include/torch/csrc/api/include,-isystem /usr/include/torch/csrc/api/include) $(TORCH_FLAGS) -ltorch -ltorch_cpu -lc10 -pthread -o $@

cpp-torch-test: $(CPP_OUT)/test_torch $(BUILD)/examples/train_torch_cpp ## spdl/torch.hpp against the mock, with libtorch
	ASAN_OPTIONS=detect_leaks=0 $<

# The real libspdl on a ring of the stand-in engine that tests/capi keeps; its sources, so that the sanitizers see them.
CPP_CAPI := $(wildcard capi/client/*.c) capi/cuda/driver.c
CPP_RING_C := tests/capi/standin.c $(CPP_CAPI)
CPP_RING_O := $(CPP_RING_C:%.c=$(CPP_OUT)/ring/%.o)

$(CPP_OUT)/ring/%.o: %.c include/spdl.h shm/layout.h $(wildcard capi/client/*.h tests/capi/*.h)
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(CPP_ASAN) -c $< -o $@

$(CPP_OUT)/test_ring: tests/cpp/test_ring.cpp tests/cpp/check.hpp $(CPP_RING_O) $(CPP_HEADERS)
	$(CXX) -std=c++17 $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $< $(CPP_RING_O) -pthread -ldl -o $@

$(CPP_OUT)/test_gpu: tests/cpp/test_gpu.cpp tests/cpp/check.hpp capi/cuda/driver.h $(CPP_RING_O) $(CPP_HEADERS)
	$(CXX) -std=c++17 $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $< $(CPP_RING_O) -pthread -ldl -o $@

cpp-ring-test: $(CPP_OUT)/test_ring $(CPP_OUT)/test_gpu $(BUILD)/cuda/libcuda.so.1
	$(CPP_OUT)/test_ring
	SPDL_CUDA_LIBRARY=$(abspath $(BUILD))/cuda/libcuda.so.1 $(CPP_OUT)/test_gpu

# Pipelines with the real libspdl and libspdl_engine, with and without exceptions, and the examples.
CPP_PIPELINE := tests/cpp/test_pipeline.cpp tests/cpp/check.hpp $(CPP_HEADERS) $(BUILD)/libspdl.so
CPP_PIPELINE_LINK = -L$(BUILD) -lspdl -Wl,-rpath,$(abspath $(BUILD)) -pthread

$(CPP_OUT)/test_pipeline: $(CPP_PIPELINE)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $< $(CPP_PIPELINE_LINK) -o $@

$(CPP_OUT)/test_pipeline_noexcept: $(CPP_PIPELINE)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -fno-exceptions -fno-rtti $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $< $(CPP_PIPELINE_LINK) -o $@

# The same program under ThreadSanitizer, to which the headers say how the engine orders threads.
$(CPP_OUT)/test_pipeline_tsan: $(CPP_PIPELINE)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CPP_WARN) -g -O1 -fsanitize=thread $(CPP_INCLUDE) $< $(CPP_PIPELINE_LINK) -o $@

CPP_ENGINE_TESTS := load media pictures source

define cpp_engine_test
$(CPP_OUT)/test_$(1): tests/cpp/test_$(1).cpp tests/cpp/check.hpp $(CPP_HEADERS) $(BUILD)/libspdl.so
	@mkdir -p $$(@D)
	$(CXX) -std=c++17 $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $$< $(CPP_PIPELINE_LINK) -o $$@

$(CPP_OUT)/test_$(1)_noexcept: tests/cpp/test_$(1).cpp tests/cpp/check.hpp $(CPP_HEADERS) $(BUILD)/libspdl.so
	@mkdir -p $$(@D)
	$(CXX) -std=c++17 -fno-exceptions -fno-rtti $(CPP_WARN) $(CPP_ASAN) $(CPP_INCLUDE) $$< $(CPP_PIPELINE_LINK) -o $$@
endef
$(foreach t,$(CPP_ENGINE_TESTS),$(eval $(call cpp_engine_test,$(t))))

# A locale with a decimal comma, for the numbers in descriptions; where it cannot be made the test says that it skips.
CPP_LOCALE := $(CPP_OUT)/locale

$(CPP_LOCALE)/de_DE.UTF-8:
	@mkdir -p $(@D)
	@localedef -i de_DE -f UTF-8 $@ 2>/dev/null || true

cpp-pipeline-test: $(CPP_LOCALE)/de_DE.UTF-8 $(CPP_OUT)/test_pipeline $(CPP_OUT)/test_pipeline_noexcept $(CPP_OUT)/test_pipeline_tsan $(foreach t,$(CPP_ENGINE_TESTS),$(CPP_OUT)/test_$(t) $(CPP_OUT)/test_$(t)_noexcept)
	SPDL_TEST_LOCALES=$(abspath $(CPP_LOCALE)) $(CPP_OUT)/test_pipeline
	SPDL_TEST_LOCALES=$(abspath $(CPP_LOCALE)) $(CPP_OUT)/test_pipeline_noexcept
	TSAN_OPTIONS=suppressions=tests/capi/tsan.supp $(CPP_OUT)/test_pipeline_tsan
	$(foreach t,$(CPP_ENGINE_TESTS),$(CPP_OUT)/test_$(t) && $(CPP_OUT)/test_$(t)_noexcept &&) true
	@tests/cpp/pipeline.sh $(BUILD)

# Every header alone and the tests, as each compiler, standard and mode sees them; warnings are errors.
cpp-matrix:
	@tests/cpp/matrix.sh $(CPP_WARN) $(CPP_INCLUDE)

cpp-examples-test:
	@tests/cpp/examples.sh $(CPP_OUT)/examples

# An outside project finds the installed package through CMake, and links and runs with it.
cpp-package-test:
	@tests/cpp/package.sh $(CPP_OUT)/package $(BUILD)
