// Package coded takes encoded media apart and puts it together, described in JSON: what a program in any language says of
// files that it wants to demux, or to write.
//
//	d, err := coded.OpenDemuxing([]byte(`{"video": {"window": {"start": "2s", "duration": "1s"}}}`), mux.Source{Path: "a.mp4"})
//	packets, err := d.Next() // core/load decodes them, a Muxing writes them
//
//	m, err := coded.Create([]byte(`{}`), "b.mp4")
//	track, err := m.Add([]byte(`{"video": {"width": 320, "height": 240, "rate": 30}}`))
//	err = m.Write(track, frames, nil)
//	_, err = m.Close(nil)
//
// [Save] writes pictures and WAV files. What is written and how is core/media/mux's, whose words the keys are; WAV files are
// core/media/audio's, and need no FFmpeg.
//
// Errors are *spec.Error for what is wrong with a description, *MisuseError for arrays and tracks that do not go together,
// *mux.Error for what cannot be written, and those of the inputs.
// A Demuxing or a Muxing belongs to one goroutine at a time. docs/io.md shows both from Python and C.
package coded
