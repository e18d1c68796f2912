# libspdl_engine: the engine as a Go shared library, with and without FFmpeg. Included by the top Makefile.

ENGINE_SOURCES = $(wildcard capi/engine/*.c capi/engine/*.h) capi/engine/engine.map include/spdl.h
ENGINE_BUILD = $(GO) build -buildmode=c-shared -trimpath -ldflags '$(LDFLAGS_GO) -extldflags "-Wl,-soname,libspdl_engine.so -Wl,--version-script=$(CURDIR)/capi/engine/engine.map"'

# Go links a shared library anew each time it is asked, so it is asked only where one of the rooms has a newer file.
ENGINE_INPUTS := $(shell find capi core shm cmd include go.mod go.sum -type f ! -name '*_test.go' ! -path '*/testdata/*') $(lastword $(MAKEFILE_LIST)) Makefile

.PHONY: spdl-engine spdl-engine-noffmpeg engine-symbols
spdl-engine: $(BUILD)/libspdl_engine.so ## the engine as a library, loaded by libspdl on demand
spdl-engine-noffmpeg: $(BUILD)/noffmpeg/libspdl_engine.so

$(BUILD)/libspdl_engine.so: $(ENGINE_INPUTS)
	CGO_CFLAGS="-O2 -g $(CGO_CFLAGS)" $(ENGINE_BUILD) -o $@ ./capi/engine
	@rm -f $(@:.so=.h)

$(BUILD)/noffmpeg/libspdl_engine.so: $(ENGINE_INPUTS)
	@mkdir -p $(@D)
	$(ENGINE_BUILD) -tags noffmpeg -o $@ ./capi/engine
	@rm -f $(@:.so=.h)

engine-symbols: # one name, and nothing else
	@nm -D --defined-only $(BUILD)/libspdl_engine.so | awk '$$2 != "A" && $$3 != "spdl_engine_table_of" {print "exported: " $$3; bad = 1} END {exit bad}'

# The tests of what libspdl_engine does: libspdl's sources are linked statically, so the engine is named.
ENGINE_TEST_SOURCES = tests/capi/main.c tests/capi/test_pipeline.c tests/capi/test_pipeline_failures.c tests/capi/test_pipeline_life.c tests/capi/test_source.c tests/capi/test_load.c tests/capi/test_media.c

$(BUILD)/plain/engine-test: $(ENGINE_TEST_SOURCES) $(CAPI_SOURCES) $(CAPI_HEADERS) tests/capi/test.h tests/capi/pipeline.h
	@mkdir -p $(@D)
	$(CC) $(CAPI_TEST_FLAGS) -O2 $(CAPI_SOURCES) $(ENGINE_TEST_SOURCES) -o $@ -lpthread -ldl

# Pipelines alone: a sanitizer's fork and Go's do not go together.
ENGINE_TSAN_SOURCES = tests/capi/main.c tests/capi/test_pipeline.c tests/capi/test_pipeline_failures.c

$(BUILD)/tsan/engine-test: $(ENGINE_TSAN_SOURCES) $(CAPI_SOURCES) $(CAPI_HEADERS) tests/capi/test.h tests/capi/pipeline.h
	@mkdir -p $(@D)
	$(TSAN_CC) $(CAPI_TEST_FLAGS) -O1 -fsanitize=thread -Wno-unknown-warning-option $(CAPI_SOURCES) $(ENGINE_TSAN_SOURCES) -o $@ -lpthread -ldl

.PHONY: engine-tsan
engine-tsan: $(BUILD)/tsan/engine-test $(BUILD)/libspdl_engine.so ## pipelines in C under ThreadSanitizer
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/capi/tsan.supp SPDL_ENGINE_LIBRARY=$(CURDIR)/$(BUILD)/libspdl_engine.so $<

.PHONY: engine-test
engine-test: $(BUILD)/plain/engine-test engine-symbols ## pipelines and sources in C, against the real engine
	SPDL_ENGINE=$(CURDIR)/$(BUILD)/spdl SPDL_ENGINE_LIBRARY=$(CURDIR)/$(BUILD)/libspdl_engine.so $<
