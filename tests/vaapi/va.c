/* va.c - VA-API without a device, preloaded: the calls of libva that FFmpeg makes to decode VP9, and the render node that it looks for.
 *
 * A surface is a picture of FFmpeg's own decoder (tests/cuda/software.h); an image is NV12 or P010 in host memory. Types and numbers are those
 * of libva's binary interface as far as they are used.
 *
 *   FAKE_VA_FAULT     CALL:NTH:RESULT, separated by commas: the nth call of Initialize, CreateContext, CreateSurfaces, EndPicture or GetImage fails
 *   FAKE_VA_PROFILES  what is decoded, VAProfile's numbers with a space around each: " 19 21 ", VP9 of 8 and of 10 bits
 *   FAKE_VA_STATS     a file that the counters are mapped from: what there is of each kind of object, and pictures decoded */
#include "../cuda/counters.h"
#include "../cuda/software.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VA_API __attribute__((visibility("default")))
#define RENDER_NODE "/dev/dri/renderD128"

enum {
    OK = 0,
    FAILED = 1,
    NO_MEMORY = 2,
    BAD_CONTEXT = 5,
    BAD_SURFACE = 6,
    BAD_BUFFER = 7,
    BAD_IMAGE = 8,
    UNSUPPORTED_PROFILE = 12
};
enum { DECODE = 1, SLICE_DATA = 5 };
enum { VP9_8_BITS = 19, VP9_10_BITS = 21 };
enum { NV12 = 0x3231564e, P010 = 0x30313050 };
enum { PIXEL_FORMAT = 1, MIN_WIDTH, MAX_WIDTH, MIN_HEIGHT, MAX_HEIGHT, N_ATTRIBUTES = 5 };
enum { PITCH = 256, MAX_OBJECTS = 8192 };

typedef struct attribute {
    int type;
    uint32_t flags;
    struct {
        int type;
        union {
            int i;
            void *p;
        } value;
    } value;
} attribute;

typedef struct image_format {
    uint32_t fourcc, byte_order, bits_per_pixel, more[9];
} image_format;

typedef struct image {
    uint32_t id;
    image_format format;
    uint32_t buffer;
    uint16_t width, height;
    uint32_t bytes, planes, pitches[3], offsets[3], more[7];
} image;

enum kind { NOTHING = 0, DISPLAY, CONFIG, CONTEXT, SURFACE, BUFFER, IMAGE, PICTURES, N_KINDS };

typedef struct object {
    enum kind kind;
    int number; /* of a configuration its profile, of a buffer its type, of an image its buffer */
    int width, height;
    uint8_t *bytes;
    size_t n_bytes;
    AVFrame *picture;   /* of a surface */
    software *software; /* of a context */
    uint32_t target;    /* of a context: the surface that is being decoded into */
    image image;
} object;

/* All under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static object objects[MAX_OBJECTS]; /* by their numbers; 0 is none */
static uint64_t own_counts[N_KINDS], *counts = own_counts;
static int calls[N_KINDS];

/* ---- objects ------------------------------------------------------------------------------------- */

static object *find(enum kind kind, uint32_t id) {
    return id > 0 && id < MAX_OBJECTS && objects[id].kind == kind ? &objects[id] : NULL;
}

static uint32_t add(object what) {
    for (uint32_t i = 1; i < MAX_OBJECTS; i++) {
        if (objects[i].kind != NOTHING) continue;
        objects[i] = what;
        counts[what.kind]++;
        return i;
    }
    return 0;
}

static int drop(object *o, int otherwise) {
    if (!o) return otherwise;
    counts[o->kind]--;
    free(o->bytes);
    av_frame_free(&o->picture);
    if (o->software) software_close(o->software);
    memset(o, 0, sizeof *o);
    return OK;
}

static int locked_drop(enum kind kind, uint32_t id, int otherwise) {
    pthread_mutex_lock(&lock);
    int r = drop(find(kind, id), otherwise);
    pthread_mutex_unlock(&lock);
    return r;
}

/* What FAKE_VA_FAULT has for the call, each of which has a count of its own. */
static int fault(const char *call, int *count) {
    const char *p = getenv("FAKE_VA_FAULT");
    char name[32];
    int nth, result;
    ++*count;
    for (; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (sscanf(p, "%31[^:]:%d:%d", name, &nth, &result) == 3 && strcmp(name, call) == 0 && nth == *count)
            return result;
    return OK;
}

/* ---- the display ----------------------------------------------------------------------------------- */

static int open_node(const char *path, int flags, va_list more) {
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    return (int)syscall(SYS_openat, AT_FDCWD, strcmp(path, RENDER_NODE) == 0 ? "/dev/null" : path, flags,
                        mode);
}

VA_API int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int fd = open_node(path, flags, more);
    va_end(more);
    return fd;
}

VA_API int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int fd = open_node(path, flags | O_LARGEFILE, more);
    va_end(more);
    return fd;
}

VA_API void *vaGetDisplayDRM(int fd) {
    static int display;
    return fd >= 0 ? &display : NULL;
}

VA_API void *vaSetErrorCallback(void *d, void *function, void *data) {
    return (void)d, (void)function, (void)data, NULL;
}
VA_API void *vaSetInfoCallback(void *d, void *function, void *data) {
    return (void)d, (void)function, (void)data, NULL;
}
VA_API const char *vaQueryVendorString(void *d) { return (void)d, "VA-API without a device"; }

static void map_counts(void) {
    if (counts != own_counts) return;
    void *p = counters_of("FAKE_VA_STATS", sizeof own_counts);
    if (p) counts = p;
}

VA_API int vaInitialize(void *d, int *major, int *minor) {
    (void)d;
    pthread_mutex_lock(&lock);
    map_counts();
    int r = fault("Initialize", &calls[DISPLAY]);
    counts[DISPLAY] += r == OK;
    *major = 1;
    *minor = 17;
    pthread_mutex_unlock(&lock);
    return r;
}

VA_API int vaTerminate(void *d) {
    (void)d;
    pthread_mutex_lock(&lock);
    if (counts[DISPLAY] > 0) counts[DISPLAY]--;
    pthread_mutex_unlock(&lock);
    return OK;
}

/* ---- what can be decoded ------------------------------------------------------------------------------ */

VA_API int vaMaxNumProfiles(void *d) { return (void)d, 2; }

VA_API int vaQueryConfigProfiles(void *d, int *profiles, int *n) {
    (void)d;
    const char *which = getenv("FAKE_VA_PROFILES");
    *n = 0;
    for (int p = VP9_8_BITS; p <= VP9_10_BITS; p += VP9_10_BITS - VP9_8_BITS) {
        char text[8];
        snprintf(text, sizeof text, " %d ", p);
        if (!which || strstr(which, text)) profiles[(*n)++] = p;
    }
    return OK;
}

VA_API int vaCreateConfig(void *d, int profile, int entrypoint, void *attributes, int n, uint32_t *id) {
    (void)d, (void)attributes, (void)n;
    if (entrypoint != DECODE || (profile != VP9_8_BITS && profile != VP9_10_BITS)) return UNSUPPORTED_PROFILE;
    pthread_mutex_lock(&lock);
    *id = add((object){.kind = CONFIG, .number = profile});
    pthread_mutex_unlock(&lock);
    return *id ? OK : NO_MEMORY;
}

VA_API int vaDestroyConfig(void *d, uint32_t id) { return (void)d, locked_drop(CONFIG, id, FAILED); }

VA_API int vaQuerySurfaceAttributes(void *d, uint32_t config, attribute *a, unsigned *n) {
    (void)d;
    pthread_mutex_lock(&lock);
    object *c = find(CONFIG, config);
    int format = c && c->number == VP9_10_BITS ? P010 : NV12;
    pthread_mutex_unlock(&lock);
    const int values[N_ATTRIBUTES] = {format, 16, 8192, 16, 8192};
    *n = N_ATTRIBUTES;
    for (int i = 0; a && i < N_ATTRIBUTES; i++)
        a[i] = (attribute){.type = PIXEL_FORMAT + i, .flags = 1, .value = {1, {values[i]}}};
    return OK;
}

VA_API int vaMaxNumImageFormats(void *d) { return (void)d, 2; }

VA_API int vaQueryImageFormats(void *d, image_format *formats, int *n) {
    (void)d;
    formats[0] = (image_format){.fourcc = NV12, .byte_order = 1, .bits_per_pixel = 12};
    formats[1] = (image_format){.fourcc = P010, .byte_order = 1, .bits_per_pixel = 24};
    *n = 2;
    return OK;
}

/* ---- decoding ------------------------------------------------------------------------------------------ */

VA_API int vaCreateSurfaces(void *d, unsigned format, unsigned width, unsigned height, uint32_t *ids,
                            unsigned n, void *attributes, unsigned n_attributes) {
    (void)d, (void)format, (void)attributes, (void)n_attributes;
    pthread_mutex_lock(&lock);
    int r = fault("CreateSurfaces", &calls[SURFACE]);
    for (unsigned i = 0; r == OK && i < n; i++) {
        object o = {.kind = SURFACE, .width = (int)width, .height = (int)height, .picture = av_frame_alloc()};
        ids[i] = o.picture ? add(o) : 0;
        if (!ids[i]) r = NO_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

VA_API int vaDestroySurfaces(void *d, uint32_t *ids, int n) {
    (void)d;
    int r = OK;
    for (int i = 0; i < n; i++) r |= locked_drop(SURFACE, ids[i], BAD_SURFACE);
    return r;
}

VA_API int vaCreateContext(void *d, uint32_t config, int width, int height, int flag, uint32_t *surfaces,
                           int n, uint32_t *id) {
    (void)d, (void)width, (void)height, (void)flag, (void)surfaces, (void)n;
    pthread_mutex_lock(&lock);
    int r = fault("CreateContext", &calls[CONTEXT]);
    if (r == OK && !find(CONFIG, config)) r = FAILED;
    object o = {.kind = CONTEXT, .software = r == OK ? software_open(AV_CODEC_ID_VP9) : NULL};
    *id = o.software ? add(o) : 0;
    pthread_mutex_unlock(&lock);
    return r != OK ? r : *id ? OK : NO_MEMORY;
}

VA_API int vaDestroyContext(void *d, uint32_t id) { return (void)d, locked_drop(CONTEXT, id, BAD_CONTEXT); }

VA_API int vaCreateBuffer(void *d, uint32_t context, int type, unsigned size, unsigned n, void *data,
                          uint32_t *id) {
    (void)d, (void)context;
    pthread_mutex_lock(&lock);
    object o = {.kind = BUFFER, .number = type, .n_bytes = (size_t)size * n};
    o.bytes = malloc(o.n_bytes + 1);
    if (o.bytes && data) memcpy(o.bytes, data, o.n_bytes);
    *id = o.bytes ? add(o) : 0;
    pthread_mutex_unlock(&lock);
    return *id ? OK : NO_MEMORY;
}

VA_API int vaDestroyBuffer(void *d, uint32_t id) { return (void)d, locked_drop(BUFFER, id, BAD_BUFFER); }

VA_API int vaBeginPicture(void *d, uint32_t context, uint32_t surface) {
    (void)d;
    pthread_mutex_lock(&lock);
    object *c = find(CONTEXT, context), *s = find(SURFACE, surface);
    if (c && s) {
        c->target = surface;
        av_frame_unref(s->picture);
    }
    pthread_mutex_unlock(&lock);
    return !c ? BAD_CONTEXT : s ? OK : BAD_SURFACE;
}

VA_API int vaRenderPicture(void *d, uint32_t context, uint32_t *buffers, int n) {
    (void)d;
    pthread_mutex_lock(&lock);
    object *c = find(CONTEXT, context), *s = c ? find(SURFACE, c->target) : NULL;
    int r = s ? OK : BAD_CONTEXT;
    for (int i = 0; r == OK && i < n; i++) {
        const object *b = find(BUFFER, buffers[i]);
        if (!b) r = BAD_BUFFER;
        if (!b || b->number != SLICE_DATA) continue;
        const AVFrame *f = software_decode(c->software, NULL, 0, b->bytes, b->n_bytes, 0);
        if (f && av_frame_ref(s->picture, f) < 0) r = NO_MEMORY;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

VA_API int vaEndPicture(void *d, uint32_t context) {
    (void)d;
    pthread_mutex_lock(&lock);
    object *c = find(CONTEXT, context), *s = c ? find(SURFACE, c->target) : NULL;
    int r = fault("EndPicture", &calls[PICTURES]);
    if (r == OK && (!s || !s->picture->buf[0])) r = FAILED;
    counts[PICTURES] += r == OK;
    if (c) c->target = 0;
    pthread_mutex_unlock(&lock);
    return r;
}

VA_API int vaSyncSurface(void *d, uint32_t surface) {
    (void)d;
    pthread_mutex_lock(&lock);
    object *s = find(SURFACE, surface);
    int r = s && s->picture->buf[0] ? OK : BAD_SURFACE;
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- images -------------------------------------------------------------------------------------------- */

/* Memory of the device cannot be looked at here; so FFmpeg copies. */
VA_API int vaDeriveImage(void *d, uint32_t surface, image *out) {
    return (void)d, (void)surface, (void)out, FAILED;
}

VA_API int vaCreateImage(void *d, image_format *format, int width, int height, image *out) {
    (void)d;
    unsigned pitch = ((unsigned)width * (format->fourcc == P010 ? 2 : 1) + PITCH - 1) / PITCH * PITCH;
    unsigned luma = pitch * (unsigned)height;
    *out = (image){.format = *format,
                   .width = (uint16_t)width,
                   .height = (uint16_t)height,
                   .bytes = luma + pitch * (((unsigned)height + 1) / 2),
                   .planes = 2,
                   .pitches = {pitch, pitch},
                   .offsets = {0, luma}};
    int r = vaCreateBuffer(d, 0, 0, out->bytes, 1, NULL, &out->buffer);
    if (r != OK) return r;
    pthread_mutex_lock(&lock);
    out->id = add((object){.kind = IMAGE, .image = *out});
    pthread_mutex_unlock(&lock);
    return out->id ? OK : NO_MEMORY;
}

VA_API int vaDestroyImage(void *d, uint32_t id) {
    pthread_mutex_lock(&lock);
    object *i = find(IMAGE, id);
    uint32_t buffer = i ? i->image.buffer : 0;
    pthread_mutex_unlock(&lock);
    int r = vaDestroyBuffer(d, buffer);
    return r == OK ? locked_drop(IMAGE, id, BAD_IMAGE) : r;
}

VA_API int vaGetImage(void *d, uint32_t surface, int x, int y, unsigned width, unsigned height, uint32_t id) {
    (void)d, (void)x, (void)y;
    pthread_mutex_lock(&lock);
    object *s = find(SURFACE, surface), *i = find(IMAGE, id), *b = i ? find(BUFFER, i->image.buffer) : NULL;
    int r = fault("GetImage", &calls[IMAGE]);
    if (r == OK && (!s || !b || !s->picture->buf[0])) r = BAD_SURFACE;
    if (r == OK)
        software_put(s->picture, (int)width, (int)height, b->bytes, b->bytes + i->image.offsets[1],
                     i->image.pitches[0]);
    pthread_mutex_unlock(&lock);
    return r;
}

VA_API int vaMapBuffer(void *d, uint32_t id, void **out) {
    (void)d;
    pthread_mutex_lock(&lock);
    object *b = find(BUFFER, id);
    if (b) *out = b->bytes;
    pthread_mutex_unlock(&lock);
    return b ? OK : BAD_BUFFER;
}

VA_API int vaUnmapBuffer(void *d, uint32_t id) { return (void)d, (void)id, OK; }
