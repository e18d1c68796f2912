// Package media turns encoded images into rows of a batch.
//
// [Compile] checks a description once and gives an [Op]; a [Worker] owns the
// buffers of one thread; [Worker.Row] decodes, crops, resizes, flips,
// normalises and stores one sample straight into memory the caller owns, in one
// call into C and without a Go allocation:
//
//	op, err := media.Compile(media.Config{ResizeShort: 256, Out: media.Square(224)})
//	...
//	row := batch[i*op.RowBytes():][:op.RowBytes():op.RowBytes()]
//	info, err := worker.Row(row, encoded, op, media.Draw{Seed: 1, Index: 42})
//
// Pixels are Pillow's, bit for bit: libjpeg-turbo with its accurate DCT and
// fancy upsampling, Pillow's antialiased bilinear and bicubic resampling, or its nearest,
// torchvision's geometry. Float values are (x/255 - mean)/std in float32
// arithmetic, every step rounded; float16 and bfloat16 are that value rounded
// to nearest even. All instruction sets give the same bytes.
//
// JPEG goes through libjpeg-turbo, but for the Huffman codes of baseline files,
// which are ours to decode (huffman.c) as long as they are sound, and so is PNG (png.c), which libdeflate
// unpacks. WebP goes through libwebp. Interlaced and damaged PNGs, GIF, BMP, TIFF and what else
// FFmpeg decodes go through FFmpeg; built with the tag noffmpeg, those PNGs and GIF
// go through Go's standard library and the rest is refused by name. AVIF and
// HEIC files are read by package heif and their tiles decoded by FFmpeg: within
// 2 of libavif and libheif, whose upsampling of chroma differs at edges.
//
// Not covered: colour profiles, animation past the first frame, values above
// eight bits (the high byte is taken), XMP orientation.
//
// Damage that a JPEG shows only in rows a crop does not need stays unseen; a cut
// file is truncated whatever part of it was asked for.
//
// An Op may be shared by any number of goroutines; a Worker belongs to one at a
// time. What a failed Row leaves in its destination is undefined.
package media
