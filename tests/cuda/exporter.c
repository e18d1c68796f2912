/* exporter.c - an uploader small enough to check by eye: device slots and events of its own, for another process to open.
 *
 *   cuda-exporter SLOTS SLOT_BYTES
 *
 * writes `exported` to its output, then takes commands from its input, one byte and an argument byte each, and answers one byte: 'f' k: put
 * copies of pattern k + 1 into device slot k and record its event behind them; 'q': free everything and end.
 */
#include "exporter.h"
#include "program.h"

#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static exported_pool out;
    cu_address memory;
    cu_event events[EXPORTED_SLOTS];
    cu_stream stream;
    int slots = argc > 1 ? atoi(argv[1]) : 0;
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 0;
    if (slots < 1 || slots > EXPORTED_SLOTS || bytes < 1) return 2;
    start_driver(0);
    MUST(DeviceGetUuid(&out.uuid, 0));
    MUST(MemAlloc(&memory, whole_pieces(bytes * (size_t)slots)));
    MUST(IpcGetMemHandle(&out.memory, memory));
    MUST(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < slots; i++) {
        MUST(EventCreate(&events[i], CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
        MUST(IpcGetEventHandle(&out.events[i], events[i]));
    }
    if (write(1, &out, sizeof out) != sizeof out) return 1;
    void *pinned;
    unsigned char command[2];
    MUST(MemHostAlloc(&pinned, bytes, 0));
    while (read(0, command, 2) == 2 && command[0] == 'f') {
        memset(pinned, command[1] + 1, bytes);
        MUST(MemcpyHtoDAsync(memory + command[1] * bytes, pinned, bytes, stream));
        MUST(EventRecord(events[command[1]], stream));
        if (write(1, "!", 1) != 1) return 1;
    }
    MUST(StreamSynchronize(stream));
    for (int i = 0; i < slots; i++) MUST(EventDestroy(events[i]));
    MUST(MemFreeHost(pinned));
    MUST(MemFree(memory));
    return 0;
}
