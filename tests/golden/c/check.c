/* Print every field's offset and size and every constant as the C compiler sees them, in the form of layout.tsv and
 * constants.tsv. With a file name: read a header segment and print what it says. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"

static int read_header(const char *path) {
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) return 2;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    spdl_l_header h;
    if (n < sizeof h) return printf("refused\ttruncated\n"), 0;
    memcpy(&h, bytes, sizeof h);
    if (h.magic != SPDL_L_MAGIC_RING) return printf("refused\tmagic\n"), 0;
    if (h.layout_major != SPDL_L_MAJOR) return printf("refused\tmajor\n"), 0;
    if (h.endian != SPDL_L_ENDIAN) return printf("refused\tendian\n"), 0;
    if (h.features_required & ~SPDL_L_KNOWN_REQUIRED) return printf("refused\tfeatures\n"), 0;
    if (h.header_bytes != n) return printf("refused\tsize\n"), 0;
    if (h.n_slots > SPDL_L_MAX_SLOTS) return printf("refused\tslots\n"), 0;
    if (!h.slot_stride) return printf("refused\tstride\n"), 0;
    if (h.desc_off > n || h.desc_stride > (n - h.desc_off) / h.n_slots) return printf("refused\toffset\n"), 0;
    printf("name\t%s\nn_slots\t%u\nn_lanes\t%u\nseed\t%llu\n", h.name, h.n_slots, h.n_lanes,
           (unsigned long long)h.seed);
    for (uint32_t i = 0; i < h.n_slots; i++) {
        spdl_l_desc d;
        memcpy(&d, bytes + h.desc_off + i * h.desc_stride, sizeof d);
        printf("slot\t%u\t%llu\t%u\t%u\n", i, (unsigned long long)d.ticket, d.rows, d.lane);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return read_header(argv[1]);
#define STRUCT(s) printf("%s\t.\t0\t%zu\n", #s, sizeof(s));
#define FIELD(s, f) printf("%s\t%s\t%zu\t%zu\n", #s, #f, offsetof(s, f), sizeof(((s *)0)->f));
#define CONSTANT(c) printf("%s\t%llu\n", #c, (unsigned long long)(c));
#include "fields.inc"
    return 0;
}
