package source

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/template"
	"github.com/zeebo/xxh3"
)

// Which part of which sample a value of LMDB is, its key says, by templates, which are the names of the parts: of image-{n:09d} and label-{n:09d} the key
// image-000000017 is the one part of sample 17, and label-000000017 the other. Where none are given, a database with the key num-samples has those two, as
// those of text recognition do, and any other has the template {key}: each key is a sample.
const (
	lmdbCount    = "num-samples"
	lmdbWholeKey = "{key}"
	lmdbPicture  = "image-{n:09d}"
	lmdbText     = "label-{n:09d}"
)

// lmdbImages are pictures without a word.
var lmdbImages = []string{lmdbPicture, lmdbWholeKey}

// pickledLists are keys that only programs have which pickle their values.
var pickledLists = []string{"__keys__", "__len__"}

// keyTemplates are those that media, columns and the label are made of, where some of the shards are LMDB's.
func (s *shards) keyTemplates(names []string, label string) (keys []string, err error) {
	if !slices.ContainsFunc(names, lmdbNamed) {
		return nil, nil
	}
	add := func(key, name string) {
		if part, _ := memberOf(name); template.Is(part) && !slices.Contains(keys, part) && err == nil {
			if _, err = lmdbKeyOf(part); err != nil {
				err = fmt.Errorf("%s: %w", key, err)
			}
			keys = append(keys, part)
		}
	}
	for m := range s.media {
		for _, name := range s.media[m].From {
			add(s.keyOf(m), name)
		}
	}
	for _, c := range s.columns {
		add("source.columns", c.From)
	}
	add("source.label", label)
	return keys, err
}

// keysSaid is what the name of an index has behind the file's, whose samples are by other templates than the file itself says; "" of others.
func (o *opening) keysSaid(path string) string {
	if len(o.keys) == 0 || !lmdbNamed(path) {
		return ""
	}
	sum := xxh3.HashString128(strings.Join(o.keys, "\x00")).Bytes()
	return "." + hex.EncodeToString(sum[:8])
}

// lmdbKey is a template: what is before and behind the sample's name in a key, and how that is written where it is a number.
type lmdbKey struct {
	text          string
	before, after []byte
	number        string
}

func lmdbKeyOf(text string) (k lmdbKey, err error) {
	pieces, err := template.Parse(text)
	if err != nil {
		return k, err
	}
	k.text = text
	names := 0
	for _, p := range pieces {
		switch {
		case p.Column != "":
			k.number = p.Number
			names++
		case names == 0:
			k.before = append(k.before, p.Text...)
		default:
			k.after = append(k.after, p.Text...)
		}
	}
	if names > 1 {
		return k, fmt.Errorf("%.200q: got %d names in braces, want one, the sample's", text, names)
	}
	return k, nil
}

// sample is the name of a key's sample, in memory that is another's; nil of a key that the template does not make.
func (k *lmdbKey) sample(key []byte) []byte {
	if len(key) <= len(k.before)+len(k.after) || !bytes.HasPrefix(key, k.before) || !bytes.HasSuffix(key, k.after) {
		return nil
	}
	name := key[len(k.before) : len(key)-len(k.after)]
	if k.number == "" {
		return name
	}
	v, err := strconv.ParseInt(string(trim(name)), 10, 64)
	if err != nil || fmt.Sprintf(k.number, v) != string(name) {
		return nil
	}
	return strconv.AppendInt(nil, v, 10)
}

// lmdbScan is the work of indexing a database.
type lmdbScan struct {
	w       *window
	b       *indexBuilder
	keys    []lmdbKey
	numbers map[string]uint32 // of samples, by their names; nil: each key is one

	samples []uint32 // by value: its sample's number
	values  []indexMember
	names   [][]byte // by sample
}

// buildLMDBIndex finds the values of every sample, until ctx ends.
func buildLMDBIndex(ctx context.Context, w *window, templates []string) (*indexBuilder, error) {
	if w.size > maxArchive {
		return nil, fmt.Errorf("got %d bytes, want at most %d; split the database", w.size, int64(maxArchive))
	}
	d, err := openLMDB(w)
	if err != nil {
		return nil, err
	}
	for _, key := range pickledLists {
		if _, found, err := d.find(key); err != nil {
			return nil, err
		} else if found {
			return nil, fmt.Errorf("it has the key %s, so its values are pickles, or what a program of its own serialised, as tensorpack's and ImageFolder's are; %s", key, byLoop)
		}
	}
	counted, samples, err := d.counted()
	if err != nil {
		return nil, err
	}
	if counted {
		templates = append(slices.Clone(templates), lmdbPicture, lmdbText)
	} else if len(templates) == 0 {
		templates = []string{lmdbWholeKey}
	}
	s := lmdbScan{w: w, b: newIndexBuilder()}
	for _, text := range templates {
		key, err := lmdbKeyOf(text)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, key)
	}
	if len(s.keys) > 1 {
		s.numbers = map[string]uint32{}
	}
	// The template that says most of a key is its own: x.txt is {key}.txt, and not {key}.
	slices.SortStableFunc(s.keys, func(a, b lmdbKey) int { return len(b.before) + len(b.after) - len(a.before) - len(a.after) })
	if err := d.walk(ctx, s.take); err != nil {
		return nil, err
	}
	s.join()
	if n := int64(len(s.b.samples) / 2); counted && n != samples {
		return nil, fmt.Errorf("%s is %d, and there are keys of %d samples, %s and the like; the database was not written to its end, or joined; write it again", lmdbCount, samples, n, lmdbPicture)
	}
	return s.b, nil
}

// counted is the value of num-samples.
func (d *lmdb) counted() (there bool, n int64, err error) {
	v, there, err := d.find(lmdbCount)
	if err != nil || !there {
		return false, 0, err
	}
	text, err := d.w.bytes(v.off, int(min(v.size, maxNumberText)))
	if err != nil {
		return false, 0, err
	}
	n, ok := parseLabel(trim(text))
	if !ok {
		return false, 0, fmt.Errorf("%s is %.40q, want a whole number", lmdbCount, text)
	}
	return true, n, nil
}

// take adds a key's value to its sample.
func (s *lmdbScan) take(key []byte, v lmdbValue) error {
	for k := range s.keys {
		name := s.keys[k].sample(key)
		if name == nil {
			continue
		}
		id, known := s.b.partID[s.keys[k].text]
		if !known {
			if err := s.refuse(v); err != nil {
				return fmt.Errorf("key %.60q: %w", key, err)
			}
			part, err := s.b.part([]byte(s.keys[k].text))
			if err != nil {
				return err
			}
			id = int(part)
		}
		m := indexMember{off: v.off, size: uint32(v.size), part: uint16(id)}
		if v.size > 0 && v.size <= maxNumberText {
			text, err := s.w.bytes(v.off, int(v.size))
			if err != nil {
				return err
			}
			m.value, m.number = parseLabel(trim(text))
		}
		return s.add(name, m)
	}
	return nil
}

// add takes a value of a sample.
func (s *lmdbScan) add(name []byte, m indexMember) error {
	b := s.b
	if m.wide() {
		b.wide++
	}
	if len(b.keys)+len(name)+wideBytes*b.wide > math.MaxUint32 || len(b.members)+len(s.values) > math.MaxUint32/2 {
		return errors.New("got more than 4 GiB of keys, or 2^31 values; split the database")
	}
	if s.numbers == nil {
		b.named(name)
		b.members = append(b.members, m)
		return nil
	}
	n, known := s.numbers[string(name)]
	if !known {
		n = uint32(len(s.names))
		s.numbers[string(name)] = n
		s.names = append(s.names, bytes.Clone(name))
	}
	s.samples, s.values = append(s.samples, n), append(s.values, m)
	return nil
}

// join puts the values of each sample beside each other, in the order in which the first of each sample came.
func (s *lmdbScan) join() {
	at := make([]uint32, len(s.names)+1) // where each sample's values begin
	for _, n := range s.samples {
		at[n+1]++
	}
	for n := range s.names {
		at[n+1] += at[n]
	}
	sorted, next := make([]indexMember, len(s.values)), slices.Clone(at)
	for k, n := range s.samples {
		sorted[next[n]] = s.values[k]
		next[n]++
	}
	for n, name := range s.names {
		s.b.named(name)
		s.b.members = append(s.b.members, sorted[at[n]:at[n+1]]...)
	}
}

// refuse looks at the first value of a part, whether it is a program's.
func (s *lmdbScan) refuse(v lmdbValue) error {
	const few = 2
	if v.size <= few {
		return nil
	}
	head, err := s.w.bytes(v.off, few)
	if err != nil {
		return err
	}
	pickle := head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
	end, err := s.w.bytes(v.off+v.size-1, 1)
	if err != nil {
		return err
	}
	switch {
	case pickle && end[0] == '.':
		return errors.New("its value is a pickle, which may run any program; " + byLoop)
	case isDatum(message{s.w, v.off, v.off + v.size}):
		return errors.New("its value is Caffe's Datum, which is not read here; " + byLoop)
	}
	return nil
}

// isDatum says that a value is a message that has no other fields than Caffe's Datum, and its data.
func isDatum(r message) (is bool) {
	for r.more() {
		f, err := r.field()
		if err != nil || f.number < 1 || f.number > 7 || (f.number == 4) != (f.wire == wireBytes) {
			return false
		}
		is = is || f.number == 4
	}
	return is
}
