//go:build !noffmpeg

/* filternames.c - see filternames.h. */
#include "filternames.h"

#include <libavfilter/avfilter.h>
#include <libavutil/avstring.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "av.h"

enum { MAX_FILTERS = 64 };

/* Those whose output hangs on their input and their options alone. Left out: sources and sinks; whatever reads or writes
 * files, runs commands, opens devices or networks, or loads plug-ins; the clock and random seeds. Sorted. */
static const char *const taken[] = {
    /* clang-format off */
    "abitscope", "acompressor", "acontrast", "acopy", "acrossfade", "acrossover", "acrusher", "adeclick", "adeclip", "adelay",
    "adenorm", "aderivative", "adrc", "adynamicequalizer", "adynamicsmooth", "aecho", "aemphasis", "aeval", "aexciter", "afade",
    "afftdn", "afftfilt", "aformat", "afreqshift", "afwtdn", "agate", "ahistogram", "aiir", "aintegral", "ainterleave", "alimiter",
    "allpass", "aloop", "alphaextract", "alphamerge", "amerge", "amix", "amplify", "amultiply", "anequalizer", "anlmdn", "anlmf",
    "anlms", "anull", "apad", "aphasemeter", "aphaser", "aphaseshift", "apsyclip", "apulsator", "aresample", "areverse", "aselect",
    "asetnsamples", "asetpts", "asetrate", "asettb", "asoftclip", "asplit", "asubboost", "asubcut", "asupercut", "asuperpass",
    "asuperstop", "atadenoise", "atempo", "atilt", "atrim", "avectorscope", "avgblur", "axcorrelate", "backgroundkey", "bandpass",
    "bandreject", "bass", "bilateral", "biquad", "bitplanenoise", "blend", "boxblur", "bs2b", "bwdif", "cas", "channelmap",
    "channelsplit", "chorus", "chromahold", "chromakey", "chromanr", "chromashift", "colorbalance", "colorchannelmixer",
    "colorcontrast", "colorcorrect", "colorhold", "colorize", "colorkey", "colorlevels", "colormatrix", "colorspace",
    "colortemperature", "compand", "compensationdelay", "concat", "convolution", "convolve", "copy", "crop", "crossfeed",
    "crystalizer", "dblur", "dcshift", "dctdnoiz", "deband", "deblock", "decimate", "deconvolve", "dedot", "deesser", "deflate",
    "deflicker", "dejudder", "delogo", "despill", "detelecine", "dialoguenhance", "dilation", "displace", "doubleweave", "drawbox",
    "drawgrid", "dynaudnorm", "earwax", "ebur128", "edgedetect", "entropy", "epx", "eq", "equalizer", "erosion", "estdif",
    "exposure", "extractplanes", "extrastereo", "fade", "fftdnoiz", "fftfilt", "field", "fieldmatch", "fieldorder", "fillborders",
    "flanger", "floodfill", "format", "fps", "framepack", "framerate", "framestep", "freezeframes", "gblur", "geq", "gradfun",
    "grayworld", "greyedge", "guided", "haas", "haldclut", "hdcd", "hflip", "highpass", "highshelf", "histeq", "histogram",
    "hqdn3d", "hqx", "hstack", "hsvhold", "hsvkey", "hue", "huesaturation", "hysteresis", "idet", "il", "inflate", "interlace",
    "interleave", "join", "kerndeint", "kirsch", "lagfun", "lenscorrection", "limitdiff", "limiter", "loop", "loudnorm", "lowpass",
    "lowshelf", "lumakey", "lut", "lut2", "lutrgb", "lutyuv", "maskedclamp", "maskedmax", "maskedmerge", "maskedmin",
    "maskedthreshold", "maskfun", "mcompand", "median", "mergeplanes", "midequalizer", "minterpolate", "mix", "monochrome",
    "morpho", "mpdecimate", "multiply", "negate", "nlmeans", "noformat", "noise", "normalize", "null", "oscilloscope", "overlay",
    "owdenoise", "pad", "palettegen", "pan", "perspective", "phase", "photosensitivity", "pixelize", "pixscope", "pp", "pp7",
    "premultiply", "prewitt", "pseudocolor", "pullup", "remap", "removegrain", "repeatfields", "reverse", "rgbashift", "roberts",
    "rotate", "rubberband", "sab", "scale", "scale2ref", "scharr", "scroll", "select", "separatefields", "setdar", "setfield",
    "setparams", "setpts", "setrange", "setsar", "settb", "shear", "showfreqs", "showpalette", "showspatial", "showspectrum",
    "showspectrumpic", "showvolume", "showwaves", "showwavespic", "shuffleframes", "shuffleplanes", "sidechaincompress",
    "sidechaingate", "silenceremove", "smartblur", "sobel", "speechnorm", "split", "spp", "stereo3d", "stereotools", "stereowiden",
    "super2xsai", "superequalizer", "surround", "swaprect", "swapuv", "tblend", "telecine", "threshold", "thumbnail", "tile",
    "tiltshelf", "tinterlace", "tlut2", "tmedian", "tmidequalizer", "tmix", "tonemap", "tpad", "transpose", "treble", "tremolo",
    "trim", "unpremultiply", "unsharp", "untile", "v360", "vaguedenoiser", "varblur", "vectorscope", "vflip", "vibrance", "vibrato",
    "vignette", "virtualbass", "volume", "vstack", "w3fdif", "waveform", "weave", "xbr", "xcorrelate", "xfade", "xmedian", "xstack",
    "yadif", "yaepblur", "zoompan", "zscale",
    /* clang-format on */
};

/* What options are called that name something outside. A filter of the list that has one, as another FFmpeg may give it,
 * is not taken either. */
static const char *const outside[] = {"file", "path", "url", "address", "model", "plugin"};

static int by_name(const void *key, const void *item) { return strcmp(key, *(const char *const *)item); }

static int reaches_outside(const AVFilter *filter) {
    const AVOption *o = NULL;
    while (filter->priv_class && (o = av_opt_next(&filter->priv_class, o)))
        for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
            if (strstr(o->name, outside[i]) && !strstr(o->name, "profile")) return 1;
    return 0;
}

static int is_end(const char *name) {
    static const char *const ends[] = {"buffer", "abuffer", "buffersink", "abuffersink"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(name, ends[i]) == 0) return 1;
    return 0;
}

/* A filter's name, which "@" and a name of the user's own may follow. */
static int check_name(char *name, int with_ends, char *detail, size_t detail_bytes) {
    char *own = strchr(name, '@');
    if (own && own[1]) *own = 0;
    const AVFilter *filter = avfilter_get_by_name(name);
    if (!filter) {
        snprintf(detail, detail_bytes, "this FFmpeg has no filter \"%.60s\"", name);
        return MEDIA_AV_FILTER;
    }
    if (with_ends && is_end(name)) return MEDIA_AV_OK;
    if (bsearch(name, taken, sizeof taken / sizeof taken[0], sizeof taken[0], by_name) &&
        !reaches_outside(filter))
        return MEDIA_AV_OK;
    snprintf(
        detail, detail_bytes,
        "got filter \"%.60s\", want one whose result hangs on its frames alone: what opens files, devices or "
        "networks, loads code, goes by the clock or makes frames of nothing is not taken",
        name);
    return MEDIA_AV_FILTER;
}

static const char *spaces(const char *p) { return p + strspn(p, " \n\t\r"); }

/* Behind the labels in brackets; NULL where one is not closed. */
static const char *labels(const char *p) {
    while (*p == '[') {
        p++;
        av_free(av_get_token(&p, "]"));
        if (*p != ']') return NULL;
        p = spaces(p + 1);
    }
    return p;
}

/* Behind one filter with its labels; NULL where the text cannot be read. */
static const char *one_filter(const char *p, char **name) {
    p = labels(spaces(p));
    if (!p) return NULL;
    *name = av_get_token(&p, "=,;[");
    if (*p == '=') {
        p++;
        av_free(av_get_token(&p, "[],;"));
    }
    p = labels(p);
    return p ? spaces(p) : NULL;
}

int media_av_filter_names(const char *text, int with_ends, char *detail, size_t detail_bytes) {
    const char *p = spaces(text);
    if (strncmp(p, "sws_flags=", 10) == 0 && strchr(p, ';')) p = strchr(p, ';') + 1;
    for (int n = 0; n < MAX_FILTERS; n++) {
        char *name = NULL;
        p = one_filter(p, &name);
        int rc = p && name ? check_name(name, with_ends, detail, detail_bytes) : MEDIA_AV_FILTER;
        if (!p || !name) snprintf(detail, detail_bytes, "a bracket is not closed");
        av_free(name);
        if (rc != MEDIA_AV_OK || !*p) return rc;
        if (*p != ',' && *p != ';') {
            snprintf(detail, detail_bytes, "got \"%.20s\" behind a filter, want a comma or a semicolon", p);
            return MEDIA_AV_FILTER;
        }
        p++;
    }
    snprintf(detail, detail_bytes, "got more than %d filters, want fewer", MAX_FILTERS);
    return MEDIA_AV_FILTER;
}
