# Programs that bench/ measures beside us.

.PHONY: bench-programs
bench-programs: $(BUILD)/limit $(BUILD)/bench/wakeup $(BUILD)/bench/alloc.so $(BUILD)/bench/getloop

$(BUILD)/limit: bench/limit/main.c $(wildcard core/media/*.c core/media/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Wno-psabi -Icore/media bench/limit/main.c core/media/*.c -ljpeg -ldeflate -lwebpdemux -lwebp -lm -lpthread -o $@

$(BUILD)/bench/wakeup: bench/wakeup.c include/spdl.h $(BUILD)/libspdl.so
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -Werror -Iinclude $< -L$(BUILD) -lspdl -Wl,-rpath,'$$ORIGIN/..' -o $@

$(BUILD)/bench/alloc.so: bench/alloc.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared $< -o $@ -ldl

$(BUILD)/bench/copyloop: bench/device/copyloop.c tests/cuda/program.h capi/cuda/driver.c capi/cuda/driver.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -Werror $(filter %.c,$^) -o $@ -ldl

.PHONY: bench-device
bench-device: $(BUILD)/bench/copyloop libspdl spdl spdl-device ## uploads beside a plain loop of pinned copies (needs a GPU)
	@.venv/bin/python bench/device/upload.py --images "$(or $(IMAGES),bench/corpus)"

.PHONY: $(BUILD)/bench/getloop
$(BUILD)/bench/getloop:
	$(GO) build -o $@ ./bench/getloop

.PHONY: bench-alloc
bench-alloc: $(BUILD)/bench/alloc.so spdl ## calls of malloc and Go allocations of an engine in its steady state
	@.venv/bin/python bench/alloc.py --images "$(or $(IMAGES),bench/corpus)"

.PHONY: bench-wakeup
bench-wakeup: $(BUILD)/bench/wakeup ringpattern ## a sleeping consumer's wake-up beside the bare futex, us
	@bench/wakeup.sh
