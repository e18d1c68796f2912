# What the fault and end-to-end tests run: the pattern producer, and consumers linked against libspdl's fault build.

.PHONY: fault-programs
fault-programs: libspdl libspdl-faults ringpattern $(BUILD)/tests/fault-consumer $(BUILD)/tests/fault-stage $(BUILD)/tests/fault-waiter ## programs that tests kill

.PHONY: ringpattern
ringpattern:
	$(GO) build -o $(BUILD)/ringpattern ./tests/ringpattern

$(BUILD)/tests/fault-consumer $(BUILD)/tests/fault-stage: $(BUILD)/tests/fault-%: tests/fault/%.c include/spdl.h $(BUILD)/faults/libspdl.so.0
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Werror -Iinclude $< -L$(BUILD)/faults -lspdl -o $@

$(BUILD)/tests/fault-waiter: tests/fault/waiter.c include/spdl.h $(BUILD)/libspdl.so
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Werror -Iinclude $< -L$(BUILD) -lspdl -o $@
