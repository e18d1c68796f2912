/* uploader.c - the stand-in engine and an uploader in one process, for consumers in any language.
 *
 *   cuda-uploader
 *
 * prints the path to attach to. Then, for each line of its input: "p": copy the next batch's image to its device slot and publish it; "v": what
 * is exported is void, as when an uploader has died; anything else: end. Each is answered with a line.
 */
#include "../capi/standin.h"
#include "program.h"

#include <string.h>

#define SLOTS 8u /* one for each slot of the ring */
#define SLOT_BYTES 512u

static void announce(standin *s, cu_address memory, const cu_event *events, uint64_t generation) {
    cu_uuid uuid;
    cu_handle handle;
    MUST(DeviceGetUuid(&uuid, 0));
    for (uint32_t i = 0; i <= SLOTS; i++) {
        spdl_l_pool *p = standin_pool(s, 1 + i);
        if (i == 0)
            MUST(IpcGetMemHandle(&handle, memory));
        else
            MUST(IpcGetEventHandle(&handle, events[i - 1]));
        p->kind = i == 0 ? SPDL_L_POOL_CUDA_IPC : SPDL_L_POOL_CUDA_EVENT;
        p->device_type = 2, p->bytes = SLOTS * SLOT_BYTES, p->slot_bytes = SLOT_BYTES;
        memcpy(p->uuid, &uuid, sizeof p->uuid);
        memcpy(p->handle, &handle, sizeof p->handle);
        __atomic_store_n(&p->generation, generation, __ATOMIC_RELEASE);
    }
    s->generation = generation;
}

/* Published before the copy has run, which the event is for. */
static void publish(standin *s, cu_address memory, cu_event *events, cu_stream stream) {
    int slot = standin_publish(s, 0, false);
    if (slot < 0) {
        fprintf(stderr, "cuda-uploader: no free slot\n");
        exit(1);
    }
    cu_address to = memory + (uint32_t)slot * SLOT_BYTES;
    MUST(MemcpyHtoDAsync(to, standin_slot(s, (uint32_t)slot), s->o.rows * STANDIN_ROW_BYTES, stream));
    MUST(EventRecord(events[slot], stream));
}

int main(void) {
    cu_address memory;
    cu_event events[SLOTS];
    cu_stream stream;
    char text[256];
    start_driver(0);
    MUST(MemAlloc(&memory, whole_pieces(SLOTS * SLOT_BYTES)));
    MUST(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (uint32_t i = 0; i < SLOTS; i++)
        MUST(EventCreate(&events[i], CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));

    standin_opts o = STANDIN_OPTS;
    o.device_slots = SLOTS;
    standin *s = standin_make(o);
    announce(s, memory, events, 1);
    standin_serve(s, -1);
    printf("%s\n", s->path);
    fflush(stdout);
    while (fgets(text, sizeof text, stdin) && (text[0] == 'p' || text[0] == 'v')) {
        if (text[0] == 'p') publish(s, memory, events, stream);
        for (uint32_t i = 0; text[0] == 'v' && i <= SLOTS; i++)
            __atomic_store_n(&standin_pool(s, 1 + i)->generation, 0, __ATOMIC_RELEASE);
        printf("ok\n");
        fflush(stdout);
    }
    MUST(StreamSynchronize(stream));
    standin_free(s);
    return 0;
}
