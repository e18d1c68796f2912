# What the fault and end-to-end tests run: the pattern producer, and consumers linked against libspdl's fault build.

.PHONY: fault-programs
fault-programs: libspdl libspdl-faults ringpattern ringpattern-faults spdl-faults $(BUILD)/tests/fault-consumer $(BUILD)/tests/fault-stage $(BUILD)/tests/fault-waiter $(BUILD)/tests/fault-sweep $(BUILD)/tests/fault-clock ## programs that tests kill

.PHONY: ringpattern
ringpattern:
	$(GO) build -o $(BUILD)/ringpattern ./tests/ringpattern

.PHONY: ringpattern-faults spdl-faults
ringpattern-faults:
	$(GO) build -tags spdlfault -o $(BUILD)/faults/ringpattern ./tests/ringpattern

spdl-faults:
	$(GO) build -trimpath -tags spdlfault,noffmpeg -ldflags '$(LDFLAGS_GO)' -o $(BUILD)/faults/spdl ./cmd/spdl

$(BUILD)/tests/fault-consumer $(BUILD)/tests/fault-stage: $(BUILD)/tests/fault-%: tests/fault/%.c include/spdl.h $(BUILD)/faults/libspdl.so.0
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Werror -Iinclude $< -L$(BUILD)/faults -lspdl -o $@

$(BUILD)/tests/fault-waiter: tests/fault/waiter.c include/spdl.h $(BUILD)/libspdl.so
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Werror -Iinclude $< -L$(BUILD) -lspdl -ldl -Wl,--export-dynamic -o $@

$(BUILD)/tests/fault-sweep: tests/fault/sweep.c include/spdl.h $(BUILD)/libspdl.so
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Werror -fno-builtin -Iinclude $< -L$(BUILD) -lspdl -ldl -Wl,--export-dynamic -o $@

$(BUILD)/tests/fault-clock: tests/fault/clock.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Werror $< -o $@
