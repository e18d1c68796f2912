package coded

import (
	"bytes"
	"errors"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/mux"
)

type picture struct {
	Codec       string            `json:"codec"`
	Width       int               `json:"width" range:"1,65535"`
	Height      int               `json:"height" range:"1,65535"`
	Input       string            `json:"input"`
	PixelFormat string            `json:"pixel_format"`
	Quality     int               `json:"quality" range:"0,1000"` // 0: the encoder's default
	Options     map[string]string `json:"options"`
	First       *int              `json:"first" range:"0,2147483647"` // many files, numbered from here
}

type wav struct {
	Rate     int    `json:"rate" range:"1,768000"` // to audio.MaxRate
	Channels int    `json:"channels" range:"1,64"` // to audio.MaxChannels
	Layout   string `json:"layout"`
	Encoding string `json:"encoding"`
}

// Save writes what needs no container of FFmpeg's: {"image": {...}}, a picture [H, W, C], or with first pictures
// [T, H, W, C], each to the file that the pattern path and its number name; or {"wav": {...}}, samples of float32. Without a
// path it returns the bytes, in memory that alloc gave.
func Save(description, data []byte, path string, alloc func(n int) ([]byte, error)) ([]byte, error) {
	var d struct {
		Image *picture `json:"image"`
		WAV   *wav     `json:"wav"`
	}
	if err := parse(description, &d); err != nil {
		return nil, err
	}
	if (d.Image == nil) == (d.WAV == nil) {
		return nil, wrong("", "want one of image, wav")
	}
	save := func() ([]byte, error) { return d.Image.save(data, path) }
	if d.WAV != nil {
		save = func() ([]byte, error) { return d.WAV.save(data, path) }
	}
	made, err := save()
	if err != nil || path != "" {
		return nil, err
	}
	out, err := alloc(len(made))
	copy(out, made)
	return out, err
}

func (p *picture) save(pixels []byte, path string) ([]byte, error) {
	picture := mux.Picture{
		Codec: p.Codec, Width: p.Width, Height: p.Height, Input: p.Input, PixelFormat: p.PixelFormat, Quality: p.Quality, Options: p.Options,
	}
	if err := needSize("image", p.Width, p.Height); err != nil {
		return nil, err
	}
	switch {
	case p.First != nil && path == "":
		return nil, wrong("image.first", "pictures in memory have no numbers; leave it out, or give a path such as %%06d.png")
	case p.First != nil:
		images, err := mux.CreateImages(path, *p.First, picture)
		if err != nil {
			return nil, err
		}
		return nil, images.Write(pixels)
	case path != "":
		return nil, mux.Save(path, pixels, picture)
	case p.Codec == "":
		return nil, wrong("image.codec", "is missing, want what a picture in memory is encoded as, such as png")
	}
	return mux.Encode(pixels, picture)
}

var encodings = map[string]audio.Encoding{
	"u8": audio.U8, "s16": audio.S16, "s24": audio.S24, "s32": audio.S32, "f32": audio.F32, "f64": audio.F64,
}

func (w *wav) save(data []byte, path string) ([]byte, error) {
	if err := checkLayout("wav.layout", &w.Layout); err != nil {
		return nil, err
	}
	encoding, ok := encodings[w.Encoding]
	if w.Encoding == "" {
		encoding, ok = audio.S16, true
	}
	switch {
	case !ok:
		return nil, wrong("wav.encoding", "got %q, want u8, s16, s24, s32, f32 or f64", w.Encoding)
	}
	if err := needSound("wav", w.Rate, w.Channels); err != nil {
		return nil, err
	}
	samples, err := floats(data)
	if err != nil {
		return nil, err
	}
	if len(samples)%w.Channels != 0 {
		return nil, misuse("%d samples, want a multiple of the %d channels", len(samples), w.Channels)
	}
	if w.Layout == interleaved {
		samples = planesOf(samples, w.Channels)
	}
	wave := audio.Wave{Data: samples, Channels: w.Channels, Frames: len(samples) / w.Channels, Rate: w.Rate}
	var out bytes.Buffer
	if path != "" {
		err = audio.SaveWAV(path, wave, encoding)
	} else {
		err = audio.WriteWAV(&out, wave, encoding)
	}
	if errors.As(err, new(*audio.ValueError)) {
		err = misuse("%v", err)
	}
	return out.Bytes(), err
}

// planesOf is [samples, channels] as [channels, samples].
func planesOf(samples []float32, channels int) []float32 {
	out, n := make([]float32, len(samples)), len(samples)/channels
	for i, v := range samples {
		out[i%channels*n+i/channels] = v
	}
	return out
}
