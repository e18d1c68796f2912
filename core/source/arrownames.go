package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// classMark parts a column's name from that of one of its classes where an index lists them, as it lists the directories of an archive.
const classMark = "\x01"

// classes lists the names that the file has for columns of labels (ClassLabel of Hugging Face's datasets), where every label has one.
func (a *arrowBuilder) classes() {
	if !bytes.Contains(a.schema.features, []byte("ClassLabel")) {
		return
	}
	for _, p := range a.parts {
		if !p.whole || p.why != "" {
			continue
		}
		names := namesOfClasses(a.schema.features, p.name)
		if p.most >= int64(len(names)) || p.least < -1 || slices.ContainsFunc(names, func(n string) bool { return strings.ContainsAny(n, "\x00"+classMark) }) {
			continue
		}
		for _, name := range names {
			a.b.dirs = append(append(a.b.dirs, p.name+classMark+name...), 0)
		}
	}
	a.b.tooMany = len(a.b.dirs) > maxDirBytes
}

// classesOf are the names of a column's classes.
func (x *index) classesOf(column string) (names []string) {
	for entry := range x.directories {
		if of, name, ok := bytes.Cut(entry, []byte(classMark)); ok && string(of) == column {
			names = append(names, string(name))
		}
	}
	return names
}

// nameClasses names the classes as the files do, if all say the same.
func (s *shards) nameClasses() {
	for k := range s.all {
		sh := &s.all[k]
		if sh.label < 0 || sh.encoded[sh.label] == nil {
			s.said = nil
			return
		}
		names := sh.index.classesOf(partShown(sh.index.parts[sh.label]))
		switch {
		case !sh.index.listed:
			s.notes = append(s.notes, fmt.Sprintf("labels are numbers without names: the names take more than the %d bytes that an index has for them (ClassLabel)", maxDirBytes))
		case k > 0 && !slices.Equal(names, s.said):
			s.notes = append(s.notes, "labels are numbers without names: the files have different names for them, or none (ClassLabel)")
		default:
			s.said = names
			continue
		}
		s.said = nil
		return
	}
}

// columnCells are the values of a column of Arrow in all samples, read at once: there they lie one behind the other.
type columnCells struct {
	texts   texts
	numbers []int64 // of numbers; a float64 is its bits
	scratch Buffer
}

// errNotColumnar is of shards whose samples' values of one column do not lie together.
var errNotColumnar = errors.New("source.labels: got names, which goes with Parquet and Arrow, and with a list that is a table; elsewhere labels are numbers")

// readColumn reads a column of all samples. A text that a sample does not have is empty, a number is not one.
func (s *shards) readColumn(ctx context.Context, c *Column) (*columnCells, error) {
	all := &columnCells{}
	for k := range s.all {
		sh := &s.all[k]
		part := sh.index.encodedNamed(c.From)
		if arrow := slices.ContainsFunc(sh.encoded, func(e *coding) bool { return e != nil && e.columnar }); part < 0 && arrow {
			return nil, lacking("no column %q; the columns are %s", c.From, describeParts(partsShown(sh.index.parts)))
		}
		if part < 0 || sh.encoded[part] == nil || !sh.encoded[part].columnar {
			return nil, errNotColumnar
		}
		if err := sh.encoded[part].refuses(c); err != nil {
			return nil, fmt.Errorf("column %q: %w", c.From, err)
		}
		w, done, err := s.windowOf(ctx, sh)
		for i := int64(0); i < sh.index.n && err == nil; i++ {
			if err = s.readCell(sh, w, i, part, c, all); ctx.Err() != nil {
				err = ctx.Err()
			}
		}
		if done != nil {
			err = errors.Join(err, done())
		}
		if err != nil {
			return nil, inShard(sh.name, err)
		}
	}
	return all, nil
}

// windowOf is a view of a shard, from its beginning to its end.
func (s *shards) windowOf(ctx context.Context, sh *shard) (w *window, done func() error, err error) {
	if sh.object != nil {
		return &window{r: stepping{objectReader{ctx, s.store, sh.object}, s.config.Progress}, size: sh.version.size, chunk: remoteChunk}, nil, nil
	}
	f, err := os.OpenFile(sh.path, openFlags, 0)
	if err != nil {
		return nil, nil, unwrapPath(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || versionOf(&st) != sh.version {
		return nil, f.Close, errors.Join(err, errors.New("it was changed after it was opened"))
	}
	return &window{r: stepping{f, s.config.Progress}, size: sh.version.size, chunk: packedChunk}, f.Close, nil
}

// readCell reads a column of the shard's sample i, which is of the type that the column has.
func (s *shards) readCell(sh *shard, w *window, i int64, part int, c *Column, to *columnCells) error {
	var value []byte
	m, there := s.member(sh, i, part)
	e := sh.encoded[part]
	if there {
		var err error
		if value, err = w.bytes(m.off, int(m.size)); err != nil {
			return err
		}
		if e.bit {
			value = bitValues[m.value&1] // there are no lists here
		}
	}
	b := &to.scratch
	b.drop()
	switch {
	case there:
		as := *c
		as.MaxBytes = math.MaxInt
		if err := b.setEncoded(&as, value, e, false); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
	case c.Type == Text:
		b.took(0)
	case c.Type == Float64:
		b.setFloat(math.NaN())
	default:
		return fmt.Errorf("sample %d: column %q is null, want a whole number", i, c.From)
	}
	if c.Type == Text {
		to.texts.add(b.Value(0))
	} else {
		to.numbers = append(to.numbers, int64(binary.NativeEndian.Uint64(b.Value(0))))
	}
	return nil
}

// nameLabels makes labels of a column that holds the names of classes.
func (s *shards) nameLabels(ctx context.Context, column string) error {
	all, err := s.readColumn(ctx, &Column{Name: "label", From: column})
	if err != nil {
		return err
	}
	named := rowsOf(&ListConfig{LabelNames: true}, nil)
	for i := range int64(len(all.texts.ends)) {
		label, err := named.readLabel(all.texts.at(i), s.strict)
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		named.labels = append(named.labels, label)
	}
	named.settleNames()
	s.named, s.classes = named.labels, named.classes
	return nil
}
