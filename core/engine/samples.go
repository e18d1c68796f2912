package engine

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
)

// samples is what a ring's samples are decoded to: each part of a sample by its own modality, into fields of its own. It is
// shared by all goroutines.
type samples struct {
	parts  []part
	fields []field // of all parts, one behind the other
	values int     // columns of a sample, where some of them follow its pictures; else 0
	masks  []int   // of these those that have masks, which are made where a batch has them
}

// part is one part of the samples.
type part struct {
	modality
	name        string    // for errors; "" where it is the only one
	from        int       // which part of a sample it is decoded from
	own         uint64    // of the seed it draws with; 0: as the others do
	window      *window   // of its file; nil: as the modality has it
	clip        *clip     // it goes with another part; nil: by itself
	chosen      *chosen   // frames that the sample names; nil: as the modality has it
	channel     *numbered // of a sound, where the sample names it; nil: as the modality has it
	first, last int       // of samples.fields: its own are [first, last)

	followers []follower // columns that go where its picture goes
	boxed     *follower  // the one of them that decides on a crop; nil: none
	outlined  *outlined  // masks that go with boxes; nil: none
}

// samplesOf prepares the decoding of a description's media.
func samplesOf(s *spec.Spec) (*samples, error) {
	all, media, from, clips := &samples{}, s.Media(), s.PartOf(), s.ClipOf()
	for i := range media {
		several := 1
		if clips[i] >= 0 {
			several = media[clips[i]].Video.Select.ClipsOfRow()
		}
		m, err := modalityOf(&media[i], several, &s.Cache)
		if err != nil {
			return nil, err
		}
		name := media[i].Name
		if len(media) == 1 {
			name = ""
		}
		all.add(name, m)
		all.parts[i].from, all.parts[i].window, all.parts[i].clip = from[i], windowOf(&media[i], s.Source.Columns), clipOf(&media[i], clips[i])
		all.parts[i].chosen, all.parts[i].channel = chosenOf(&media[i], s.Source.Columns), channelOf(&media[i], s.Source.Columns)
		if media[i].Own {
			all.parts[i].own = ownDraws(media[i].Name)
		}
	}
	return all, nil
}

// ownDraws is what the seed of a field with draws of its own differs in from the others': FNV-1a of its name.
func ownDraws(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// drawn is a sample's draw as a part has it.
func (p *part) drawn(d media.Draw) media.Draw {
	d.Seed ^= p.own
	return d
}

// add appends a part.
func (s *samples) add(name string, m modality) {
	first := len(s.fields)
	s.fields = append(s.fields, m.fields()...)
	p := part{modality: m, name: name, first: first, last: len(s.fields)}
	for i := p.first; i < p.last; i++ {
		if s.fields[i].long {
			for k := p.first; k < p.last; k++ {
				s.fields[k].measuredBy = i
			}
		}
	}
	s.parts = append(s.parts, p)
}

// rowBytes is the size of all fields of a row.
func (s *samples) rowBytes() (total int) {
	for i := range s.fields {
		total += s.fields[i].rowBytes()
	}
	return total
}

// notes are what is to be known of how this machine decodes them.
func (s *samples) notes() (all []string) {
	for i := range s.parts {
		if m, ok := s.parts[i].modality.(*videos); ok && m.note() != "" {
			all = append(all, m.note())
		}
	}
	return all
}

// coded are the pictures that a device decodes; nil: there are none.
func (s *samples) coded() *codedImages {
	if len(s.parts) == 0 {
		return nil
	}
	m, _ := s.parts[0].modality.(*codedImages)
	return m
}

// videoCounters say how the videos among them were decoded, where the description lets that vary; nil where it does not.
func (s *samples) videoCounters() *video.Counters {
	var sum video.Counters
	for i := range s.parts {
		if m, ok := s.parts[i].modality.(*videos); ok {
			sum = sum.Plus(m.op.Counters())
		}
	}
	if sum == (video.Counters{}) {
		return nil
	}
	return &sum
}

// encoded is a sample as it was read.
type encoded interface {
	// Part is the bytes of its part k, but where it lies in place.
	Part(k int) []byte
	// InPlace is the file that its part k lies in; nil: there are bytes.
	InPlace(k int) *source.File
	// Value is the value of its column c.
	Value(c int) []byte
}

// worker decodes on one goroutine at a time.
type worker struct {
	samples  *samples
	decoders []decoder // of each part
	turns    []int     // of the parts
	row      [][]byte  // of the sample in hand
	bucket   int       // of its batch

	times   []float64 // that it names, and indices of frames; kept for the next
	channel [1]int
	heard   [][2]float64
	indices []int
	following
}

func openWorker(s *samples) (*worker, error) {
	w := &worker{samples: s, turns: s.turns(), row: make([][]byte, 0, len(s.fields)), following: following{columns: make([][]byte, s.values)}}
	for i := range s.parts {
		d, err := s.parts[i].open()
		if err != nil {
			w.Close()
			return nil, err
		}
		w.decoders = append(w.decoders, d)
	}
	return w, nil
}

// decode writes every part of a sample into its row. A part that cannot be decoded makes the sample a bad one.
func (w *worker) decode(row [][]byte, sample encoded, draw media.Draw) error {
	for _, k := range w.turns {
		p := &w.samples.parts[k]
		in, err := w.inputOf(p, sample)
		if err == nil && p.boxed != nil {
			err = w.tell(p, w.decoders[k].(*imageDecoder), sample)
		}
		if err == nil {
			err = w.decoders[k].decode(row[p.first:p.last], in, p.drawn(draw))
		}
		if err == nil && p.followers != nil {
			err = w.follow(p, w.decoders[k].(*imageDecoder), sample)
		}
		if err != nil {
			if p.name == "" || strings.HasPrefix(err.Error(), p.name+": ") { // as its package says it already
				return err
			}
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// inputOf is what a part of a sample's row is made of, as the sample says it.
func (w *worker) inputOf(p *part, sample encoded) (in input, err error) {
	in = input{bucket: w.bucket, bytes: sample.Part(p.from), file: sample.InPlace(p.from), windowed: p.window != nil}
	if in.windowed {
		in.within, err = p.window.of(sample)
	}
	if err == nil && p.chosen != nil {
		err = p.chosen.of(sample, &w.times, &w.indices)
		in.times, in.indices = w.times, w.indices
	}
	if err == nil && p.channel != nil {
		err = p.channel.channel(sample, &w.channel)
		in.channel = w.channel[:]
	}
	if p.clip != nil {
		w.heard = p.clip.appendHeard(w.heard[:0], w.decoders[p.clip.of].(*videoDecoder).shown)
		in.heard = w.heard
	}
	return in, err
}

// decodeOnHost is decode with nothing left to a device.
func (w *worker) decodeOnHost(row [][]byte, sample encoded, draw media.Draw) error {
	for k := range w.decoders {
		p := &w.samples.parts[k]
		if err := w.decoders[k].(hostDecoder).decodeOnHost(row[p.first:p.last], sample.Part(p.from), p.drawn(draw)); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) Close() {
	for _, d := range w.decoders {
		d.Close()
	}
}
