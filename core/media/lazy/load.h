/* load.h - FFmpeg's libraries, loaded when something of them is first called.
 *
 * An engine linked against this archive in place of FFmpeg starts without FFmpeg: its libraries bring some two hundred
 * others, a tenth of a second and tens of megabytes, which a folder of JPEGs never needs. Every function of FFmpeg is
 * a trampoline here (trampolines.S) that finds the function behind it once and jumps there from then on.
 *
 * Programs that are linked against FFmpeg itself, such as Go's tests, do without all of this: media_lazy_load() is a
 * weak symbol and absent there. */
#ifndef SPDL_MEDIA_LAZY_LOAD_H
#define SPDL_MEDIA_LAZY_LOAD_H

/* Load one library by its name without lib and version ("avcodec"), with what it needs, if that has not happened.
 * Returns NULL, or what the loader said, valid on this thread until its next call. Any number of threads may
 * call. Calling a function of a library that does not load ends the process: ask here first. */
const char *media_lazy_load(const char *library) __attribute__((weak));

#endif
