// Package video turns encoded videos into rows of a batch: chosen frames, exactly
// those, straight into memory the caller owns.
//
// [Compile] checks a description once and gives an [Op]; a [Worker] owns one
// thread's decoder and buffers; [Worker.Decode] finds, decodes, resizes and stores
// one sample's frames, with the time at which each is shown:
//
//	op, err := video.Compile(video.Config{
//		Image:  media.Config{ResizeShort: 256, Out: media.Square(224)},
//		Frames: 16, Select: video.Selection{Kind: video.Uniform, Count: 16},
//	})
//	worker, err := op.NewWorker()
//	...
//	info, err := worker.Decode(video.Row{Data: row, PTS: pts}, video.Source{Bytes: encoded}, video.Draw{Index: 42})
//
// # Which frame is which
//
// An [Index] lists every frame of a stream in the order in which frames are shown,
// with the time at which each appears. It is made by reading all packets, which
// needs no decoding, so that nothing is believed of what headers say about frame
// counts and rates; it can be kept on disk. A [Selection] is a pure function of it.
// Frame i is torchcodec's frame i in its exact mode, and the samplers of clips have
// torchcodec's names and meaning. With Approximate there is no index: frames are
// found by their times, as far as the header's rate and length are true.
//
// A packet that no frame comes of, as encoders leave it that drop a picture, counts as
// a frame and shows the picture before.
//
// H.264 may give each field of a frame a packet; the two are one frame. What DivX
// packed, a B-frame in the packet of the picture before, is unpacked, and shown in
// the order in which it is meant; the empty pictures that stand in for it are none.
//
// Only the groups of pictures that hold chosen frames are decoded, each entered once
// and left after its last chosen frame, and pictures that no other refers to are
// decoded only if they are chosen. The headers of AV1 say what a picture is predicted
// from, so there only those that chosen ones are made of are decoded. A group is entered at the last key frame that is
// neither decoded nor shown later than the chosen frame, so that open groups, leading
// pictures and edit lists need no case of their own. Where the decoder finds that it
// is none, whatever the container calls it, decoding starts at the first packet.
//
// # Filters
//
// The chosen frames go through FFmpeg's filters in the row's order, and what comes out
// is the row; a frame's time is the one with which it comes out.
//
// # Colours
//
// The matrix and the range of the stream are honoured; a stream that names no matrix
// is BT.601, as FFmpeg has it. Torchcodec, the default, is swscale with BICUBIC alone:
// the bytes that torchcodec gives on the CPU, and PyAV and OpenCV but for their
// versions. For 8-bit 4:2:0 and even widths swscale then repeats chroma samples.
// Accurate interpolates chroma from where the stream says that it lies, and rounds
// once (colour.c); what is not planar YUV of 8 to 12 bits (4:1:1 and 4:1:0 neither)
// goes through swscale with ACCURATE_RND and FULL_CHR_H_INT. For 640x480 that is 0.3 ms
// where Torchcodec takes 0.1 ms, and swscale with those flags 4.4 ms without
// interpolating lines of chroma.
//
// RGB is left as it is, grey without chroma is taken as of full range, alpha is left
// out. HDR (PQ, HLG) is the stream's values in RGB: no curve is applied, none is
// mapped to another. A picture has the pixels that are stored: an aspect of the pixels
// themselves stretches nothing, and fields stay interleaved (the filter yadif).
//
// Geometry is core/media's, so that a frame is resized, cropped, flipped and normalised
// as a picture is, with one draw for all frames of a row. SWBilinear, SWBicubic and
// SWArea resize with swscale instead, in one pass with the colours.
//
// # Devices
//
// With Hardware a device of FFmpeg's decodes; its frames are copied to memory, in the
// format of FFmpeg's own decoder, and equal its frames as far as the codec's standard
// says what each byte is.
//
// # Bad input
//
// A frame that does not decode without damage is an error, and so is a cut file.
// Errors are *av.Error, *media.LimitError or *SelectError and have a Cause.
//
// An Op may be shared by any number of goroutines; a Worker belongs to one at a time.
// What a failed Decode leaves in its destination is undefined. Built with the tag
// noffmpeg, Compile refuses; indices and selections work.
package video
