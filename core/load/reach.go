package load

import (
	"context"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/source/store"
)

// largeBytes is how large a video or a sound at an address is that is not read whole, but as it is decoded; a variable for tests.
var largeBytes int64 = av.LargeBytes

// reached is a source for who decodes videos and sounds. It is closed when nothing of it is read any more.
type reached struct {
	Source
	file *av.File // not nil: where what lies at an address is
	at   *store.Distant
}

// reached is fetched, but for what is large, of which no more is read than what is decoded needs.
func (s Source) reached() (*reached, error) {
	if s.Bytes != nil || !store.IsURL(s.Path) {
		return &reached{Source: s}, s.otherAddress()
	}
	data, at, err := store.Reach(context.Background(), s.Path, largeBytes)
	if err != nil {
		return nil, err
	}
	r := &reached{Source: Source{Bytes: data}, at: at}
	if at != nil {
		r.file = &av.File{From: at, FD: -1, Size: at.Size(), Name: store.Shown(s.Path), Version: at.Version()}
	}
	return r, nil
}

func (r *reached) video() video.Source {
	return video.Source{Bytes: r.Bytes, Path: r.Path, Packets: r.Packets, File: r.file}
}

func (r *reached) audio() audio.Source {
	return audio.Source{Bytes: r.Bytes, Path: r.Path, Packets: r.Packets, File: r.file}
}

// cause is the error of the store where that is why decoding failed.
func (r *reached) cause(err error) error {
	if err != nil && r.at != nil && r.at.Err() != nil {
		return r.at.Err()
	}
	return err
}

func (r *reached) close() {
	if r.at != nil {
		r.at.Close()
	}
}
