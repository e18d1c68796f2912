# Programs that bench/ measures beside us.

.PHONY: bench-programs
bench-programs: $(BUILD)/limit

$(BUILD)/limit: bench/limit/main.c $(wildcard core/media/*.c core/media/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Icore/media bench/limit/main.c core/media/*.c -ljpeg -lm -lpthread -o $@
