/* gif.h - what gif.c tells of a GIF, and makes of it, before a decoder has it. */
#ifndef SPDL_MEDIA_GIF_H
#define SPDL_MEDIA_GIF_H

#include <stddef.h>
#include <stdint.h>

/* Transparent pixels of the first picture keep the colour of their palette
 * entry, as they do in Pillow: clears the flags that would replace it. */
void media_gif_keep_colours(uint8_t *data, size_t size);

/* The first picture of a GIF, and what is shown of the file: its screen, grown to hold the picture, and around it
 * the colour that Pillow puts there, which is the transparent index' or that of index 0. */
typedef struct media_gif {
    size_t descriptor; /* where the picture's head begins */
    int32_t x, y, w, h;
    int32_t width, height;
    int32_t whole; /* 1: the picture is the screen */
    uint8_t rest[3];
} media_gif;

/* 1 if there is a first picture. */
int media_gif_first(const uint8_t *data, size_t size, media_gif *g);

/* Make the picture the screen. */
void media_gif_crop(uint8_t *data, const media_gif *g);

/* 1 if the file reaches the end of its first picture. */
int media_gif_first_is_whole(const uint8_t *data, size_t size);

#endif
