//go:build !noffmpeg

/* log.c - FFmpeg loaded once, and its messages kept out of stderr. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../lazy/load.h"
#include "filter.h"

static _Thread_local char first_message[200];

/* Up to which level messages go to stderr, too. */
static _Atomic int level_shown = AV_LOG_QUIET;

int media_av_log_level(void) { return atomic_load(&level_shown); }

void media_av_set_log_level(int level) { atomic_store(&level_shown, level); }

static void show(void *object, int level, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    av_log_set_level(atomic_load(&level_shown)); /* which FFmpeg's own callback goes by */
    av_log_default_callback(object, level, format, again);
    va_end(again);
}

/* Of a decoder that misses pictures nothing else tells. */
static void look_for_gap(void *object, const char *format) {
    if (!object || strncmp(format, "Frame num gap", 13) != 0) return;
    if (strcmp((*(const AVClass **)object)->class_name, "AVCodecContext") == 0) media_av_misses(object);
}

/* Messages come in pieces; a line ends with the piece that ends in a newline. */
static void on_log(void *object, int level, const char *format, va_list args) {
    if (level <= atomic_load(&level_shown)) show(object, level, format, args);
    look_for_gap(object, format);
    size_t n = strlen(first_message);
    if (level > AV_LOG_ERROR || strchr(first_message, '\n') || n + 1 >= sizeof first_message ||
        strncmp(format, "Unknown or unsupported tag", 26) == 0)
        return;
    vsnprintf(first_message + n, sizeof first_message - n, format, args);
}

static const char *load(const char *const *libraries, size_t n) {
    const char *why = NULL;
    for (size_t i = 0; media_lazy_load && !why && i < n; i++) why = media_lazy_load(libraries[i]);
    return why;
}

const char *media_av_load(void) {
    static const char *const codecs[] = {"avutil", "avcodec", "swscale"};
    const char *why = load(codecs, sizeof codecs / sizeof codecs[0]);
    if (!why) av_log_set_callback(on_log);
    return why;
}

const char *media_av_load_containers(void) {
    static const char *const containers[] = {"avformat", "swresample"};
    const char *why = media_av_load();
    return why ? why : load(containers, sizeof containers / sizeof containers[0]);
}

const char *media_av_load_filters(void) {
    static const char *const filters[] = {"avfilter"};
    const char *why = media_av_load_containers();
    return why ? why : load(filters, 1);
}

const char *media_av_message(void) { return first_message; }

void media_av_forget(void) { first_message[0] = 0; }

const char *media_av_reason(int rc, char text[AV_ERROR_MAX_STRING_SIZE]) {
    text[0] = 0;
    av_strerror(rc, text, AV_ERROR_MAX_STRING_SIZE);
    return first_message[0] ? first_message : text;
}
