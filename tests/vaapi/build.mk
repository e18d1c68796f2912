# VA-API without a device, to be preloaded.

.PHONY: fake-vaapi
fake-vaapi: $(BUILD)/vaapi/libva-fake.so ## VA-API without a device, for tests

$(BUILD)/vaapi/libva-fake.so: tests/vaapi/va.c tests/cuda/software.c tests/cuda/software.h tests/cuda/counters.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra -Wshadow -Werror -fPIC -fvisibility=hidden -shared -Wl,-z,defs \
		$$(pkg-config --cflags libavcodec) tests/vaapi/va.c tests/cuda/software.c -o $@ $$(pkg-config --libs libavcodec libavutil) -lpthread
