// Package mux writes media files: videos, sounds, sequences of pictures, and streams
// of other files as they are.
//
// [Create] begins a container, its tracks are added, and [Muxer.Close] ends it:
//
//	m, err := mux.Create("clip.mp4", mux.Config{})
//	defer m.Abort() // does nothing once Close was called
//	pictures, err := m.AddVideo(mux.Video{Width: 320, Height: 240, Rate: mux.Rational{30, 1}})
//	sound, err := m.AddAudio(mux.Audio{Rate: 48000, Channels: 2})
//	err = pictures.Write(frames) // [T, 240, 320, 3]
//	err = sound.Write(samples)   // [T, 2]
//	err = m.Close()
//
// [New] writes to an io.Writer and [Buffer] into memory. [OpenInput] gives a stream's
// packets, [Muxer.AddCopy] a track for them, through bitstream filters if asked. [Input.Take]
// and [Input.TakeWindow] give pieces of a stream that may be kept, decoded, filtered
// ([Filter]) and written ([Muxer.AddPackets]).
// [Encode], [Save] and [CreateImages] write pictures, each as a file of its own.
//
// A file appears under its name when it is whole. A failed write fails all that
// follow, and Close then leaves nothing behind. A process that is killed leaves a
// hidden file that ends in .part. Nothing is synced to the disk.
//
// The same input gives the same bytes, as long as the encoder keeps to that: no time
// and no version goes into the file, and encoders have one thread by default.
//
// Not covered: resampling and resizing (core/media, core/media/audio), subtitles,
// formats that write several files or to addresses; the bytes of New may go anywhere.
//
// Errors are *[Error] and have a Cause; those of inputs are *av.Error. A Muxer, its
// tracks and its inputs belong to one goroutine at a time. Built with the tag noffmpeg,
// everything here refuses by name.
package mux
