package spec

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Zero is what the form without a description can say. Zero values are the defaults.
type Zero struct {
	Name     string // "": the folder's or the first shard's base name
	Size     int    // height and width of the output; 0 is 224
	Batch    int    // rows per batch; 0 is 32
	NoLabels bool   // leave labels out
	InOrder  bool   // do not shuffle
	Seed     uint64
	Epochs   int64 // 0: endless
	Media    Media // what the samples are
}

// Media is a kind of sample.
type Media int

const (
	Pictures Media = iota
	Videos         // 16 frames of each, evenly from the first to the last
	Sounds         // the first 10 seconds of each at 16 kHz, one channel
)

// MediaOf tells from a file's name what it is; false: none that we decode by name. Pictures are core/source's to know.
func MediaOf(name string) (Media, bool) {
	end := strings.TrimPrefix(ending(name), ".")
	switch {
	case slices.Contains(videoEndings, end):
		return Videos, true
	case slices.Contains(soundEndings, end):
		return Sounds, true
	}
	return Pictures, false
}

// shardEndings are those of archives and tables of media.
var shardEndings = []string{".tar", ".zip", ".parquet", ".mds", ".rec", ".mdb", ".lmdb", ".arrow", ".arrows", ".feather", ".ipc"}

// LooksLikeShards tells the name of a shard, or a pattern of several, from that of a folder or a description: by its ending. LMDB's lock is none.
func LooksLikeShards(path string) bool {
	return filepath.Base(path) != "lock.mdb" && slices.Contains(shardEndings, ending(path)) || Numbered(ending(path)) != ""
}

// FromShards is FromFolder for shards.
func FromShards(patterns []string, z Zero) (*Spec, error) {
	src := defaultSource()
	for _, p := range patterns {
		name, err := Located(p)
		if err != nil {
			return nil, fmt.Errorf("spec: shards: %w", err)
		}
		written, resolved := resolve(name, "")
		src.Shards, src.written.shards = append(src.Shards, resolved), append(src.written.shards, written)
	}
	return fromSource(src, z)
}

// FromFolder describes a folder of samples: of pictures, and of the frames of videos, the shorter side resized to Size, the middle cropped to Size x Size, u8, NHWC, shuffled.
func FromFolder(dir string, z Zero) (*Spec, error) {
	src := defaultSource()
	name, err := Located(dir)
	if err != nil {
		return nil, fmt.Errorf("spec: folder: %w", err)
	}
	src.written.folder, src.Folder = resolve(name, "")
	return fromSource(src, z)
}

func fromSource(src Source, z Zero) (*Spec, error) {
	s := Default()
	s.Name, s.Source = z.Name, src
	if z.NoLabels && src.Shards != nil {
		s.Source.ByMember = LabelsNone
	} else if z.NoLabels {
		s.Source.Labels = LabelsNone
	}
	s.Order.Shuffle, s.Order.Seed, s.Order.Epochs = !z.InOrder, z.Seed, z.Epochs
	if z.Batch != 0 {
		s.Batch = z.Batch
	}
	size := z.Size
	if size == 0 {
		size = 224
	}
	if size < 1 || size > maxSide {
		d := &decoder{}
		d.failAt("size", "got %d, want a whole number from 1 to %d", size, maxSide)
		return nil, d.err
	}
	if z.Epochs < 0 {
		d := &decoder{}
		d.failAt("order.epochs", "got %d, want 0 (endless) or more", z.Epochs)
		return nil, d.err
	}
	crop := Transform{Resize: &Resize{Short: size, Interpolation: Bilinear}, CenterCrop: &CenterCrop{Extent: Extent{size, size}}}
	switch z.Media {
	case Videos:
		s.Image, s.Video = nil, defaultVideo()
		s.Video.Frames, s.Video.Frame.Transform = 16, crop
		if src.IsParquet() {
			s.Video.From = []string{"video"}
		}
	case Sounds:
		s.Image, s.Audio = nil, defaultAudio()
		s.Audio.Rate, s.Audio.Crop = 16000, Start
		s.Audio.Length = 10 * s.Audio.Rate
		if src.IsParquet() {
			s.Audio.From = []string{"audio"}
		}
	default:
		s.Image.Transform = crop
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}
