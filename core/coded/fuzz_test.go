//go:build !noffmpeg

package coded

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
)

// Whatever a container holds, demuxing a window of it and decoding that ends in a value or an error.
func FuzzPackets(f *testing.F) {
	dir := f.TempDir()
	for name, audio := range map[string]string{"a.mp4": `"codec": "aac"`, "a.ogg": `"codec": "libvorbis"`, "a.mkv": `"codec": "flac"`} {
		path, video := filepath.Join(dir, name), ""
		if name != "a.ogg" {
			video = `"codec": "mpeg4"`
		}
		small(f, path, video, audio)
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []string{"video", "audio"} {
			for _, description := range []string{`{"` + kind + `": {"window": {"start": "50ms", "duration": "100ms"}}}`, `{"` + kind + `": {"packets": 3}}`} {
				d, err := OpenDemuxing([]byte(description), mux.Source{Bytes: data})
				if err != nil {
					continue
				}
				if p, err := d.Next(); err == nil {
					_, _ = load.Load([]byte(`{"`+kind+`": {"timeout": "5s"}}`), load.Source{Packets: p}, nil)
					p.Close()
				}
				d.Close()
			}
		}
	})
}

// small is a file of a few frames of 16 x 16 and a fifth of a second of sound.
func small(f *testing.F, path, video, audio string) {
	m, err := Create([]byte(`{}`), path)
	if err != nil {
		f.Fatal(err)
	}
	defer m.Abort()
	if video != "" {
		if _, err = m.Add([]byte(`{"video": {"width": 16, "height": 16, "rate": 25, ` + video + `}}`)); err != nil {
			f.Fatal(err)
		}
	}
	sound, err := m.Add([]byte(`{"audio": {"rate": 8000, "channels": 1, ` + audio + `}}`))
	if err == nil && video != "" {
		err = m.Write(0, make([]byte, 5*16*16*3), nil)
	}
	if err == nil {
		err = m.Write(sound, tone(1600, 1), nil)
	}
	if err == nil {
		_, err = m.Close(nil)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// Whatever bytes are said to be packets, reading them and decoding what they were read as ends in a value or an error.
func FuzzBytesOfPackets(f *testing.F) {
	dir := f.TempDir()
	for name, audio := range map[string]string{"a.mp4": `"codec": "aac"`, "a.mkv": `"codec": "flac"`, "a.avi": `"codec": "pcm_s16le"`} {
		path := filepath.Join(dir, name)
		small(f, path, `"codec": "mpeg4"`, audio)
		for _, kind := range []string{"video", "audio"} {
			d, err := OpenDemuxing([]byte(`{"`+kind+`": {"window": {"start": "50ms", "duration": "100ms"}}}`), mux.Source{Path: path})
			if err != nil {
				f.Fatal(err)
			}
			p, err := d.Next()
			if err != nil {
				f.Fatal(err)
			}
			b, err := p.Bytes(func(n int) ([]byte, error) { return make([]byte, n), nil })
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			p.Close()
			d.Close()
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := av.PacketsOf(b)
		if err != nil {
			return
		}
		defer p.Close()
		for _, kind := range []string{"video", "audio"} {
			_, _ = load.Load([]byte(`{"`+kind+`": {"timeout": "5s"}}`), load.Source{Packets: p}, nil)
		}
		if again, err := p.Bytes(func(n int) ([]byte, error) { return make([]byte, n), nil }); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%d bytes were taken, and are %d others now: %v", len(b), len(again), err)
		}
	})
}
