// Package audio turns encoded sound into rows of a batch.
//
// [Compile] checks a description once and gives an [Op]; a [Worker] owns the buffers of one thread; [Worker.Decode] reads
// one sample, mixes its channels, resamples, crops, scales and stores it, or its spectra, in memory the caller owns:
//
//	op, err := audio.Compile(audio.Config{Rate: 16000, Channels: 1, Length: 160000, Crop: audio.CropRandom})
//	...
//	worker, err := op.NewWorker()
//	row := batch[i*op.RowBytes():][:op.RowBytes():op.RowBytes()]
//	info, err := worker.Decode(audio.Row{Data: row}, audio.Source{Bytes: encoded}, audio.Draw{Seed: 1, Index: 42})
//
// Floats are the stored integers over 2^7, 2^15, 2^23 or 2^31, so in [-1, 1). Resampling, mel spectra and MFCC are
// torchaudio's, definition by definition; each says so where it stands. Lengths are exact: what an encoder put before and
// after the sound (MP3, AAC, Opus) is left out as FFmpeg leaves it out, and n frames resampled are ceil(n * to / from).
//
// [SaveWAV] and [WriteWAV] write sounds; other formats are core/media/mux's.
//
// Samples that lie in a file as they are (WAV, Wave64, AIFF and AIFF-C, AU and CAF with integers, floats, mu-law or A-law) and raw
// PCM are read here, at the cost of one conversion, and FLAC, MP3, AAC and Opus files by decoders of our own (flac.h, mp3.h, aac.h, opus.h); everything
// else goes through FFmpeg (core/media/av). Built with the tag noffmpeg, these, resampling and features remain and the rest is refused by
// name.
//
// Not covered: downmixing by loudspeaker (channels are averaged, selected or refused), dither, streams without an end.
//
// An Op may be shared by any number of goroutines; a Worker belongs to one at a time. All instruction sets give the same
// bytes.
package audio
