// Package load decodes one sample at once, without a ring: a picture, a video, a sound or an array, from its bytes or a file.
//
//	m, err := load.Load([]byte(`{"audio": {"rate": 16000}}`), load.Source{Path: "a.flac"}, nil)
//	wave := m.Tensors[0] // [C, L] f32
//
// The description is the section that a ring has, with every key left out that may come from the sample itself: the size of
// a picture, the number of frames, the rate and the length of a sound. The words, the defaults and the bytes are the ring's. Besides there are
// {"npy": {}}, {"npz": {}}, {"wav": {}} (samples as they are stored), {"tar": {}} and {"zip": {}} (the bytes of each file), {"probe": "video"},
// {"probe": "frames"} (which reads a video's packets and counts), {"probe": "audio"} or {"probe": "wav"} (a WAV's header, whatever its codec), which decode nothing and say what there is, and {"ffmpeg": {}}, which says what the FFmpeg in use has. [LoadBatch] decodes pictures
// into one tensor, a [Graph] is FFmpeg's filters between arrays.
//
// A video or a sound may come as packets (core/coded demuxes them) in place of bytes. Of a window's packets the window is decoded.
//
// [PictureConfig], [VideoConfig] and [AudioConfig] say a description in the decoders' words; core/engine uses them, too.
//
// Any number of goroutines may call Load: each call has its decoders alone, new ones or such as wait for the next picture or sound. What descriptions became is kept, of the last 64. It blocks for as long as decoding takes. docs/io.md
// shows it from Python and C.
package load
