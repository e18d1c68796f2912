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

CAPI_NAMES = error reader segment control spawn ring wait event info state fault
CAPI_SOURCES = $(CAPI_NAMES:%=capi/client/%.c)
CAPI_HEADERS = include/spdl.h shm/layout.h capi/client/internal.h capi/client/fault.h
CAPI_OBJECTS = $(CAPI_NAMES:%=$(BUILD)/capi/%.o)
CAPI_VERSION := $(shell awk '/define SPDL_VERSION_(MAJOR|MINOR|PATCH) /{v = v s $$3; s = "."} END {print v}' include/spdl.h)

.PHONY: libspdl libspdl-faults

libspdl: $(BUILD)/libspdl.so $(BUILD)/libspdl.a ## the C client, shared and static
libspdl-faults: $(BUILD)/faults/libspdl.so.0 ## the same with fault points

$(BUILD)/capi/%.o: capi/client/%.c $(CAPI_HEADERS)
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
