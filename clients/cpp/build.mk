# The C++ client, included by the top Makefile, or alone: make -f clients/cpp/build.mk cpp-test.
# The header needs no build; these are its tests, its package test and the lines that install it.

BUILD ?= build
CPP_WARN := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
CPP_INCLUDE := -Iinclude -Iclients/cpp/include
CPP_HEADERS := include/spdl.h $(wildcard clients/cpp/include/spdl/*.hpp)
CPP_OUT := $(BUILD)/tests/cpp
CPP_ASAN := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all

.PHONY: cpp-test cpp-mock-test cpp-matrix cpp-examples-test cpp-package-test cpp-install

cpp-test: cpp-mock-test cpp-matrix cpp-examples-test cpp-package-test ## C++: the client against a mock, every mode, the package

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

# Every header alone and the tests, as each compiler, standard and mode sees them; warnings are errors.
cpp-matrix:
	@tests/cpp/matrix.sh $(CPP_WARN) $(CPP_INCLUDE)

cpp-examples-test:
	@tests/cpp/examples.sh $(CPP_OUT)/examples

# An outside project finds the installed package through CMake, and links and runs with it.
cpp-package-test:
	@tests/cpp/package.sh $(CPP_OUT)/package $(BUILD)

# DEST: where; the C header and libspdl are installed by the library's own rules.
cpp-install:
	install -d $(DEST)/include/spdl $(DEST)/lib/cmake/spdl
	install -m 644 clients/cpp/include/spdl/*.hpp $(DEST)/include/spdl/
	install -m 644 clients/cpp/cmake/*.cmake $(DEST)/lib/cmake/spdl/
