package source

import (
	"cmp"
	"encoding/binary"
	"path"
	"strings"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// A Fingerprint says which samples a source has, in their order, wherever they lie and whatever their bytes are. It is made of what an
// open source holds in memory. Two sources with equal fingerprints have the same samples; those of a folder and of a list are never equal.
//
// Files are known by their names below the root, or as a list writes them. Archives are known by their base names and the heads of their indexes, which
// have hashes of keys, places, sizes and short numbers; Parquet files by their base names, sizes and rows; a program's samples by
// their number.
type Fingerprint struct {
	Names  uint64 // hash of the samples' names
	Labels uint64 // hash of their labels and of the classes' names
}

// Fingerprinted is a source that knows which samples it has; ok is false where one within it does not.
type Fingerprinted interface {
	Fingerprint() (f Fingerprint, ok bool)
}

// printBytes is how much is collected before it is hashed.
const printBytes = 64 << 10

// printer makes one hash of many short texts.
type printer struct {
	hash xxh3.Hasher
	buf  []byte
}

// line takes a text that holds no line end.
func (p *printer) line(text []byte) {
	p.room()
	p.buf = append(append(p.buf, text...), '\n')
}

// text takes any text.
func (p *printer) text(text string) {
	p.number(int64(len(text)))
	p.buf = append(p.buf, text...)
}

func (p *printer) number(n int64) {
	p.room()
	p.buf = binary.LittleEndian.AppendUint64(p.buf, uint64(n))
}

// room hashes what is collected, if that is enough.
func (p *printer) room() {
	if len(p.buf) >= printBytes {
		p.flush()
	}
}

// block takes bytes whose length the reader of what comes before could tell.
func (p *printer) block(data []byte) {
	p.flush()
	_, _ = p.hash.Write(data) // a hash takes everything
}

// numbers takes many numbers as they lie in memory: all machines that this is built for are little-endian.
func (p *printer) numbers(all []int64) {
	p.number(int64(len(all)))
	if len(all) > 0 {
		p.block(unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), 8*len(all)))
	}
}

func (p *printer) texts(t *texts) {
	p.numbers(t.ends)
	p.block(t.bytes)
}

func (p *printer) flush() {
	_, _ = p.hash.Write(p.buf)
	p.buf = p.buf[:0]
}

func (p *printer) sum() uint64 {
	p.flush()
	return p.hash.Sum64()
}

// classNames is a printer of labels that has taken the classes' names.
func classNames(classes []string) *printer {
	p := &printer{}
	p.number(int64(len(classes)))
	for _, name := range classes {
		p.text(name)
	}
	return p
}

// baseName is a path or URL without where it leads.
func baseName(name string) string {
	name, _, _ = strings.Cut(name, "?")
	return path.Base(name)
}

// Fingerprint is of the paths below the folder. A file's class follows from its path.
func (f *folder) Fingerprint() (Fingerprint, bool) {
	names := &printer{}
	for _, chunk := range f.chunks {
		names.block(chunk) // every name is behind its length
	}
	for i := range f.runs {
		names.number(f.runs[i].first)
		names.text(f.runs[i].dir)
	}
	return Fingerprint{names.sum(), classNames(f.classes).sum()}, true
}

// Fingerprint is of the paths and labels as the list has them; neither blank lines nor comments count.
func (l *list) Fingerprint() (Fingerprint, bool) {
	names, labels := &printer{}, classNames(nil)
	for at := 0; at < len(l.text); {
		text, next := l.line(at)
		if isSample(text) {
			name, label, _ := cut(text)
			names.line(name)
			labels.line(label)
		}
		at = next
	}
	return Fingerprint{names.sum(), labels.sum()}, true
}

// Fingerprint is of the paths and labels of the rows; of rows that have no paths, of the table's base name, their number and its text, or of
// Parquet its size.
func (t *table) Fingerprint() (Fingerprint, bool) {
	names, labels := &printer{}, classNames(t.classes)
	if t.name != "" {
		names.text(t.name)
		names.number(t.n)
		names.number(int64(t.content))
	}
	names.texts(&t.paths)
	for k := range t.others {
		names.texts(&t.others[k])
	}
	labels.numbers(t.labels)
	return Fingerprint{names.sum(), labels.sum()}, true
}

// Fingerprint is of the files and their row groups, and of the labels.
func (s *parquetShards) Fingerprint() (Fingerprint, bool) {
	names, labels := &printer{}, classNames(s.classes)
	for k := range s.groups {
		g := &s.groups[k]
		names.text(baseName(g.file.name))
		names.number(g.file.size)
		names.number(g.first)
		names.number(g.inFile)
	}
	labels.numbers(s.labels)
	return Fingerprint{names.sum(), labels.sum()}, true
}

// indexOf is where, in an index's head, what depends on the samples alone begins: behind the archive's size and version.
const indexOf = 32

// Fingerprint is of the archives' indexes. Which part is the label, or that a directory is, is the labels'; what the part says, the index'.
func (s *shards) Fingerprint() (Fingerprint, bool) {
	names, labels := &printer{}, classNames(s.classes)
	for k := range s.all {
		names.text(baseName(s.all[k].name))
		names.number(s.all[k].index.n)
		names.block(s.all[k].index.header[indexOf:])
	}
	labels.text(string(s.labels))
	if s.labels == LabelsOfPart {
		labels.text(cmp.Or(s.config.Label, defaultPart))
	}
	return Fingerprint{names.sum(), labels.sum()}, true
}

// Fingerprint is of the parts' own, in their order.
func (j *joined) Fingerprint() (Fingerprint, bool) {
	names, labels := &printer{}, classNames(nil)
	for _, part := range j.parts {
		known, ok := part.(Fingerprinted)
		if !ok {
			return Fingerprint{}, false
		}
		f, ok := known.Fingerprint()
		if !ok {
			return Fingerprint{}, false
		}
		names.number(part.Len())
		names.number(int64(f.Names))
		labels.number(int64(f.Labels))
	}
	return Fingerprint{names.sum(), labels.sum()}, true
}

// Fingerprint is of the number of samples: what they are only the program knows.
func (h *Host) Fingerprint() (Fingerprint, bool) {
	names := &printer{}
	names.number(h.Samples)
	return Fingerprint{names.sum(), classNames(nil).sum()}, true
}

// Fingerprint is that of the source within.
func (o outer) Fingerprint() (f Fingerprint, ok bool) {
	if known, is := o.Source.(Fingerprinted); is {
		return known.Fingerprint()
	}
	return Fingerprint{}, false
}
