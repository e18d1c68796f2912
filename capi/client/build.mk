# libspdl: plain C, no dependency but libc. Included by the top Makefile; alone: make -f capi/client/build.mk

BUILD ?= build
ifeq ($(origin CC),default)
CC = gcc
endif
TSAN_CC ?= clang-14
CFLAGS ?= -O2 -g
AR ?= ar

CAPI_WARN = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Werror
CAPI_FLAGS = $(CAPI_WARN) -fPIC -fvisibility=hidden -ffunction-sections
CAPI_LINK = -shared -Wl,-soname,libspdl.so.0 -Wl,--version-script=capi/client/libspdl.map -Wl,-z,defs -Wl,-z,relro,-z,now

CAPI_NAMES = error interrupt reader segment control spawn engine load packets muxer pipeline source ring wait reconnect event info stage state cuda fence pool decoder graph dlpack fault
CAPI_SOURCES = $(CAPI_NAMES:%=capi/client/%.c) capi/cuda/driver.c
CAPI_HEADERS = include/spdl.h shm/layout.h capi/client/internal.h capi/client/forecast.h capi/client/fault.h capi/client/gpu.h capi/cuda/driver.h capi/engine/table.h
CAPI_OBJECTS = $(CAPI_NAMES:%=$(BUILD)/capi/%.o) $(BUILD)/capi/driver.o
CAPI_VERSION := $(shell awk '/define SPDL_VERSION_(MAJOR|MINOR|PATCH) /{v = v s $$3; s = "."} END {print v}' include/spdl.h)

.PHONY: libspdl libspdl-faults

libspdl: $(BUILD)/libspdl.so $(BUILD)/libspdl.a ## the C client, shared and static
libspdl-faults: $(BUILD)/faults/libspdl.so.0 ## the same with fault points

$(BUILD)/capi/%.o: capi/client/%.c $(CAPI_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CAPI_FLAGS) -c $< -o $@

$(BUILD)/capi/driver.o: capi/cuda/driver.c capi/cuda/driver.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CAPI_FLAGS) -c $< -o $@

$(BUILD)/libspdl.so.$(CAPI_VERSION): $(CAPI_OBJECTS) capi/client/libspdl.map
	$(CC) $(CFLAGS) $(CAPI_LINK) $(CAPI_OBJECTS) -o $@ -lpthread -ldl

$(BUILD)/libspdl.so: $(BUILD)/libspdl.so.$(CAPI_VERSION)
	ln -sf libspdl.so.$(CAPI_VERSION) $(BUILD)/libspdl.so.0
	ln -sf libspdl.so.0 $@

$(BUILD)/libspdl.a: $(CAPI_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $(CAPI_OBJECTS)

$(BUILD)/faults/libspdl.so.0: $(CAPI_SOURCES) $(CAPI_HEADERS) capi/client/libspdl.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CAPI_FLAGS) -DSPDL_FAULTS $(CAPI_LINK) $(CAPI_SOURCES) -o $@ -lpthread -ldl
	ln -sf libspdl.so.0 $(BUILD)/faults/libspdl.so

# Tests: the library's objects are built again per variant, with the tests, and linked statically.

CAPI_TESTS = main wrap standin test_attach test_ring test_wait test_stage test_view test_hostile test_threads test_cancel test_process test_engine
CAPI_TEST_SOURCES = $(CAPI_TESTS:%=tests/capi/%.c)
CAPI_TEST_DEPS = $(CAPI_TEST_SOURCES) $(CAPI_SOURCES) $(CAPI_HEADERS) tests/capi/test.h tests/capi/standin.h tests/capi/engine.c tests/capi/consumer.c tests/capi/fake_engine.c
CAPI_TEST_FLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-clobbered -g
CAPI_WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=mmap,--wrap=munmap,--wrap=poll,--wrap=sched_yield,--wrap=sendmsg,--wrap=recvmsg

# $(1) directory below BUILD, $(2) compiler, $(3) flags of the variant
define CAPI_VARIANT
$(BUILD)/$(1)/capi-test: $(CAPI_TEST_DEPS) $(BUILD)/libspdl.so
	@mkdir -p $$(@D)
	$(2) $(CAPI_TEST_FLAGS) $(3) $(CAPI_SOURCES) tests/capi/engine.c tests/capi/standin.c -o $(BUILD)/$(1)/capi-engine -lpthread -ldl
	$(2) $(CAPI_TEST_FLAGS) $(3) -DSPDL_FAULTS $(CAPI_SOURCES) tests/capi/consumer.c tests/capi/standin.c -o $(BUILD)/$(1)/capi-consumer -lpthread -ldl
	cp $(BUILD)/libspdl.so $(BUILD)/$(1)/libspdl.so
	$(2) $(CAPI_TEST_FLAGS) -Wno-unknown-warning-option -shared -fPIC tests/capi/fake_engine.c -o $(BUILD)/$(1)/capi-fake-engine.so
	$(2) $(CAPI_TEST_FLAGS) $(3) $(CAPI_SOURCES) $(CAPI_TEST_SOURCES) $(CAPI_WRAP) -o $$@ -lpthread -ldl
endef
$(eval $(call CAPI_VARIANT,plain,$(CC),-O2))
$(eval $(call CAPI_VARIANT,asan,$(CC),-O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer))
$(eval $(call CAPI_VARIANT,tsan,$(TSAN_CC),-O1 -fsanitize=thread -DSHARE_MAPPINGS -Wno-unknown-warning-option))

.PHONY: capi-test capi-asan capi-tsan capi-symbols
capi-test: $(BUILD)/plain/capi-test capi-symbols ## test libspdl against the stand-in engine
	SPDL_TEST_BUILD=$(BUILD)/plain $<
capi-asan: $(BUILD)/asan/capi-test ## the same under AddressSanitizer and UBSan
	SPDL_TEST_BUILD=$(BUILD)/asan $<
capi-tsan: $(BUILD)/tsan/capi-test ## the same under ThreadSanitizer
	SPDL_TEST_BUILD=$(BUILD)/tsan $<

capi-symbols: $(BUILD)/libspdl.so $(BUILD)/libspdl.a # a name of ours is a program's as well, in the archive that of an internal one, too
	@nm -D --defined-only $< | awk '$$2 != "A" && $$3 !~ /^spdl_/ {print "exported: " $$3; bad = 1} END {exit bad}'
	@nm -g --defined-only $(BUILD)/libspdl.a | awk 'NF == 3 && $$3 !~ /^(spdl|sp)_/ {print "in the archive: " $$3; bad = 1} END {exit bad}'
	@! (nm -D --undefined-only $<; nm -u $(BUILD)/libspdl.a) | grep -E ' (pthread_create|thrd_create|signal|sigqueue|printf|puts|perror|atexit|pthread_atfork|exit)(@|$$)'

.PHONY: bench-handoff
$(BUILD)/bench/handoff: bench/handoff.c tests/capi/standin.c tests/capi/standin.h $(BUILD)/libspdl.so
	@mkdir -p $(@D)
	$(CC) $(CAPI_TEST_FLAGS) -O2 bench/handoff.c tests/capi/standin.c -o $@ -L$(BUILD) -lspdl -Wl,-rpath,'$$ORIGIN/..' -lpthread
bench-handoff: $(BUILD)/bench/handoff ## acquire + release of a ready batch, ns
	$<
