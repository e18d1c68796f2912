# Programs that bench/ measures beside us.

.PHONY: bench-programs
bench-programs: $(BUILD)/limit

$(BUILD)/limit: bench/limit/main.c $(wildcard core/media/*.c core/media/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Icore/media bench/limit/main.c core/media/*.c -ljpeg -lm -lpthread -o $@

$(BUILD)/bench/wakeup: bench/wakeup.c include/spdl.h $(BUILD)/libspdl.so
	@mkdir -p $(@D)
	$(CC) -std=c11 -O2 -Wall -Wextra -Werror -Iinclude $< -L$(BUILD) -lspdl -Wl,-rpath,'$$ORIGIN/..' -o $@

.PHONY: bench-wakeup
bench-wakeup: $(BUILD)/bench/wakeup ringpattern ## a sleeping consumer's wake-up beside the bare futex, us
	@bench/wakeup.sh
