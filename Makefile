# spdl: build, test, show. `make help` lists the verbs; the logic lives in scripts/ and the tests.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc
CXX     ?= c++
CFLAGS  ?= -O2 -g
VERSION := 0.1.0
# Debian's backported Go lives outside PATH.
GO      ?= $(shell command -v go 2>/dev/null || echo /usr/lib/go-1.23/bin/go)
PYTHON  := .venv/bin/python
LDFLAGS_GO := -s -w -X github.com/spdl/spdl/cmd/spdl/verbs.Version=$(VERSION)
export PATH := $(dir $(GO)):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help deps build test aarch64 torch exact check model demo bench bench-compare install clean bundle page race e2e fault fuzz golden sanitize store-server

help: ## list the verbs
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

deps: ## install what is missing (apt, Go, the Python environment)
	@scripts/deps.sh test

include capi/client/build.mk capi/engine/build.mk clients/cpp/build.mk tests/fault/build.mk tests/cuda/build.mk tests/vaapi/build.mk bench/build.mk

build: ## libspdl, libspdl_engine, the spdl command (with and without FFmpeg), the C and C++ examples
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all-built

.PHONY: all-built spdl spdl-noffmpeg spdl-device examples
all-built: libspdl spdl spdl-noffmpeg spdl-device spdl-engine spdl-engine-noffmpeg examples

# FFmpeg is loaded on its first use (core/media/lazy): most of what an engine start would cost.
spdl:
	@[ -e $(BUILD)/spdl ] || echo "build: the first time takes minutes, and Go is silent meanwhile"
	@CC='$(CC)' core/media/lazy/generate.sh $(BUILD)/lazy
	PKG_CONFIG_PATH=$(abspath $(BUILD))/lazy:$(PKG_CONFIG_PATH) CGO_CFLAGS="$(or $(CGO_CFLAGS),-O2 -g) $$(cat $(BUILD)/lazy/cflags)" \
		$(GO) build -trimpath -ldflags '$(LDFLAGS_GO) -extldflags "-L$(abspath $(BUILD))/lazy"' -o $(BUILD)/spdl ./cmd/spdl

spdl-noffmpeg:
	$(GO) build -trimpath -tags noffmpeg -ldflags '$(LDFLAGS_GO)' -o $(BUILD)/spdl-noffmpeg ./cmd/spdl

# The uploader to a GPU: the driver is found when it runs.
spdl-device:
	$(GO) build -trimpath -ldflags '-s -w' -o $(BUILD)/spdl-device ./cmd/spdl-device

EXAMPLES := train stage pipeline own_source
EXAMPLE_FLAGS = $(CFLAGS) -Wall -Wextra -Werror -Iinclude
EXAMPLE_LINK = -L$(BUILD) -lspdl -Wl,-rpath,'$$ORIGIN/..' -pthread
examples: $(EXAMPLES:%=$(BUILD)/examples/%_c) $(EXAMPLES:%=$(BUILD)/examples/%_cpp)
	@$(MAKE) --no-print-directory $(BUILD)/examples/train_go
	@! rustc --version >/dev/null 2>&1 || $(MAKE) --no-print-directory $(BUILD)/examples/train_rust
	@! { [ -e $(JNA) ] && javac -version; } >/dev/null 2>&1 || $(MAKE) --no-print-directory $(BUILD)/examples/java/Train.class
	@! [ -e $(BUILD)/examples/node/node_modules/koffi ] || $(MAKE) --no-print-directory $(BUILD)/examples/node/train.mjs

$(BUILD)/examples/%_c: examples/c/%.c $(BUILD)/libspdl.so include/spdl.h
	@mkdir -p $(@D)
	$(CC) -std=c11 $(EXAMPLE_FLAGS) $< $(EXAMPLE_LINK) -o $@

$(BUILD)/examples/%_cpp: examples/cpp/%.cpp $(BUILD)/libspdl.so $(CPP_HEADERS)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(EXAMPLE_FLAGS) -Iclients/cpp/include $< $(EXAMPLE_LINK) -o $@

$(BUILD)/examples/train_go: examples/go/train.go examples/go/go.mod include/spdl.h
	cd examples/go && CGO_CFLAGS='-O2 -I$(abspath include)' CGO_LDFLAGS='-L$(abspath $(BUILD)) -Wl,-rpath,$$ORIGIN/..' $(GO) build -trimpath -o $(abspath $@) .

# Where there are a Rust compiler, a Java compiler with JNA, and Node.js with koffi; no other part needs them.
JNA = /usr/share/java/jna.jar
$(BUILD)/examples/train_rust: examples/rust/train.rs
	rustc -O --edition 2021 $< -L$(BUILD) -C link-arg=-Wl,-rpath,'$$ORIGIN/..' -o $@

$(BUILD)/examples/java/Train.class: examples/java/Train.java
	javac -Xlint:all -Werror -cp $(JNA) -d $(@D) $<

$(BUILD)/examples/node/train.mjs: examples/node/train.mjs
	cp $< $@

languages: ## the consumers in Go, Rust, Java and JavaScript (installs JNA and koffi, and a JDK and Node.js where there is none)
	@scripts/deps.sh languages
	@$(MAKE) --no-print-directory all-built
	@scripts/test.sh languages

aarch64: ## build for aarch64 and run the tests under an emulator (an hour; needs root)
	@scripts/deps.sh aarch64
	@$(MAKE) --no-print-directory all-built
	@GO='$(GO)' scripts/aarch64.sh

test: ## every test that needs no GPU, network or root
	@scripts/deps.sh test
	@$(MAKE) --no-print-directory all-built fault-programs fake-cuda fake-nvcuvid fake-nvjpeg bundle
	@scripts/test.sh

torch: ## the tests against torch, torchvision and jax (Debian's torch: 120 MB more)
	@scripts/deps.sh torch
	@$(MAKE) --no-print-directory all-built
	@scripts/test.sh torch

check: ## format, vet, lint, types, import directions, the header alone as C11 and C++17
	@scripts/deps.sh check
	@scripts/check.sh

model: ## model-check the ring protocol; every deliberate bug must be caught
	@scripts/deps.sh model
	@tests/model/run.sh

demo: ## pictures into shared memory, read by C, C++ and Python at once (DATA=DIR for your own)
	@scripts/deps.sh demo
	@$(MAKE) --no-print-directory libspdl spdl examples
	@scripts/demo.sh $(DATA)

bench: ## our figures side by side with the limit and the peers (brings torch: gigabytes)
	@scripts/deps.sh bench
	@$(MAKE) --no-print-directory all-built
	@$(MAKE) --no-print-directory bench-programs
	@bench/run.sh

exact: ## frames and samples beside torchcodec, PyAV and torchaudio, pictures, boxes and masks beside OpenCV, timm, torchvision's DataLoader, Hugging Face's datasets and transformers, webdataset's pipelines, MosaicML's shards, and training with torch, which make test has not (brings torch: gigabytes)
	@scripts/deps.sh exact
	@$(MAKE) --no-print-directory all-built
	@SPDL_BUILD=$(abspath $(BUILD)) SPDL_LIBRARY=$(abspath $(BUILD))/libspdl.so SPDL_ENGINE=$(abspath $(BUILD))/spdl PYTHONPATH=clients/python \
		.venv-bench/bin/python -m pytest -q -p no:cacheprovider \
		tests/exact/test_video.py tests/exact/test_torchcodec.py tests/exact/test_audio_formats.py tests/exact/test_torchaudio.py tests/exact/test_trainers.py tests/exact/test_cv2.py tests/exact/test_timm.py tests/exact/test_drop.py tests/exact/test_drop_sets.py tests/exact/test_drop_arguments.py tests/exact/test_drop_targets.py tests/exact/test_drop_sizes.py tests/exact/test_drop_masks.py tests/exact/test_drop_groups.py tests/exact/test_held.py tests/exact/test_masks.py tests/exact/test_boxes.py tests/exact/test_augmix.py tests/exact/test_corners.py tests/exact/test_tensors.py tests/exact/test_tensor_maps.py tests/exact/test_albumentations.py tests/exact/test_noises.py tests/exact/test_bent.py tests/exact/test_huggingface.py tests/exact/test_with_transform.py tests/exact/test_with_transform_loop.py tests/exact/test_streamed.py tests/exact/test_streamed_maps.py tests/exact/test_webdataset.py tests/exact/test_mosaic.py tests/exact/test_processors.py tests/exact/test_prepared.py

bench-compare: ## our figures against another revision, REF=...
	@bench/compare.sh "$(REF)"

page: ## the engine's web page in a real Chromium (installs it)
	@scripts/deps.sh page
	@$(GO) test -count=1 -v -run 'TestPageInARealBrowser' ./cmd/spdl/verbs

race: ## the Go tests under the race detector
	@$(GO) test -race ./...

e2e: ## the tests that cross a process and a language
	@$(MAKE) --no-print-directory all-built fault-programs fake-cuda fake-nvcuvid fake-nvjpeg bundle
	@scripts/test.sh e2e

PYTHON_GPU ?= .venv/bin/python
.PHONY: gpu-test
gpu-test: ## the tests of uploads on this machine's GPU, with PyTorch, JAX and CuPy where they are
	@$(MAKE) --no-print-directory libspdl spdl spdl-device
	SPDL_TEST_GPU=1 $(PYTHON_GPU) -m pytest -q -rs tests/e2e/test_device.py tests/e2e/test_device_consumers.py

fault: ## kills at every named point, long form
	@$(MAKE) --no-print-directory all-built fault-programs fake-cuda fake-nvjpeg
	@scripts/test.sh fault

.PHONY: kills
killed_consumers = kills
killed_workers = stage_kills
killed_engines = engine_restart stage_restart device_restart spdl_restart
killed_all = $(killed_consumers) $(killed_workers) $(killed_engines)
kills: ## KILLS of them (default 1000) at each named point, for hours; WHAT='consumers workers engines' for some
	@$(MAKE) --no-print-directory all-built fault-programs fake-cuda fake-nvjpeg
	SPDL_KILLS=$(or $(KILLS),1000) SPDL_BUILD=$(abspath $(BUILD)) SPDL_LIBRARY=$(abspath $(BUILD))/libspdl.so PYTHONPATH=clients/python \
		$(PYTHON) -m pytest -q -s -k killed $(patsubst %,tests/fault/test_%.py,$(foreach who,$(or $(WHAT),all),$(killed_$(who))))

.PHONY: soak
soak: ## kills, quiet and a machine far too busy, for HOURS each (default 1); WHAT=kills, quiet or busy for one of them
	@$(MAKE) --no-print-directory all-built fault-programs
	SPDL_SOAK_HOURS=$(or $(HOURS),1) SPDL_BUILD=$(abspath $(BUILD)) SPDL_LIBRARY=$(abspath $(BUILD))/libspdl.so PYTHONPATH=clients/python \
		$(PYTHON) -m pytest -q -s tests/fault/test_soak.py -k '$(or $(WHAT),hours)'

store-server: $(BUILD)/tools/versitygw ## a real S3 server for the tests of s3:// sources (about a minute); without it they skip
$(BUILD)/tools/versitygw:
	GOBIN=$(abspath $(BUILD)/tools) $(GO) install github.com/versity/versitygw/cmd/versitygw@v1.0.14

.PHONY: cycles
cycles: all-built ## 10,000 pipelines started and stopped, in Python and in C: nothing stays (about two minutes; `make test` runs 300 and 1,000)
	@SPDL_CYCLES=10000 .venv/bin/python -m pytest -q tests/python/pipeline/test_life.py -k any_moment
	@SPDL_FAULT_LONG=1 $(MAKE) --no-print-directory engine-test

fuzz: ## fuzz whatever parses, FUZZTIME each (default 30s)
	@scripts/fuzz.sh $(or $(FUZZTIME),30s)

sanitize: ## the C client under AddressSanitizer, UBSan and ThreadSanitizer, the decoders under the first two
	@scripts/sanitize.sh

golden: ## rewrite the golden layout, for review in the diff
	@$(GO) run ./tests/golden/gen

install: ## into PREFIX (absolute; default /usr/local), under DESTDIR
	@scripts/install.sh "$(DESTDIR)$(PREFIX)" "$(PREFIX)" "$(VERSION)" "$(BUILD)"

bundle: libspdl spdl-device ## a tarball and a wheel for bare hosts: an engine without FFmpeg that needs no library, libspdl, the uploader, the Python client
	@GO='$(GO)' CC='$(CC)' scripts/bundle.sh $(VERSION) $(BUILD)

clean: ## remove what was built
	rm -rf $(BUILD) demo-out
