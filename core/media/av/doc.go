// Package av is the low level that video and audio share: a container opened from
// memory or from a range of a file, one stream of it, one decoder, over FFmpeg and
// in C (av.h). Go sees little of it: [Load], [Packets], and [Error] with its causes.
//
// The C side is linked into whatever imports this package: a cgo file elsewhere
// includes "../av/av.h" and calls it.
//
// [Packets] are a piece of a stream that was read and not decoded; what opens a
// container opens such a piece, too.
//
// Bytes come through callbacks of ours and from nowhere else. A container that
// names other files or addresses (a playlist, an external reference) gets none of
// them, and formats that live of that are not read at all. Streams, packets, the
// size of a frame and the time for one sample are bounded whatever the bytes say.
//
// Filters (filter.h) take decoded frames and give others; those that would reach for
// anything but their frames are refused by name. A [Graph] is filters between arrays,
// with several inputs and outputs, of pictures and of sound. Devices that decode are opened once
// a process, and their frames come as all others do.
//
// FFmpeg's messages do not reach stderr unless [SetLogLevel] lets them; the first one of a call is the detail of
// its error.
//
// Built with the tag noffmpeg the package is its errors alone: nothing makes packets.
package av
