package source

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/grid"
	"github.com/spdl/spdl/core/tensor"
)

// stepKind is what rows of an array become.
type stepKind int

const (
	numberSteps stepKind = iota // a column of arrays of one shape
	textSteps                   // a column of texts
	listSteps                   // a ragged column
	mediaSteps                  // parts of samples, for somebody to decode
)

func (k stepKind) String() string {
	return [...]string{"numbers", "texts", "lists of any length", "encoded media"}[k]
}

// arrayMedium is a part of samples: a row of an array.
type arrayMedium struct {
	name  string // of what it becomes
	array string
	said  string // which row of its windows; "": the only one
	of    int    // which of the arrays that is
	row   int64
}

// addMedia finds the arrays of the media.
func (s *arrays) addMedia(c *ArraysConfig) error {
	for i := range c.Media {
		m := arrayMedium{name: c.Media[i].Name}
		from := m.name
		if len(c.Media[i].From) > 0 {
			from = c.Media[i].From[0]
		}
		m.array, m.said = memberOf(from)
		if m.of = slices.IndexFunc(c.Arrays, func(a ArrayFiles) bool { return a.Name == m.array }); m.of < 0 {
			return lacking("source: %s: got %q, want the name of one of the arrays", m.name, m.array)
		}
		s.media = append(s.media, m)
	}
	return nil
}

// settleMedia finds the rows of the media in windows.
func (s *arrays) settleMedia() error {
	for i := range s.media {
		m := &s.media[i]
		window := s.all[m.of].window
		row, err := strconv.ParseInt(m.said, 10, 64)
		switch {
		case m.said == "" && window == 1:
		case m.said == "":
			return fmt.Errorf("source: %s: array %q has windows of %d rows; say which row is meant, from: %s[0] to %s[%d]", m.name, m.array, window, m.array, m.array, window-1)
		case err != nil || row < 0 || row >= window:
			return fmt.Errorf("source: %s: got row [%s] of array %q, want a whole number from 0 to %d", m.name, m.said, m.array, window-1)
		}
		m.row = row
	}
	return nil
}

// settle says what rows of a file become, which is the same for all files of the array. data is nil where there are only numbers.
func (a *stepped) settle(c *ArrayFiles, whole *array.Array, f *stepFile, data *grid.Array) error {
	kind := numberSteps
	column := Column{Name: c.Name, From: c.Name, Type: Array}
	if data != nil {
		f.text, f.lists = data.Text, data.Lists
	}
	switch l := f.lists; {
	case a.kind == mediaSteps:
		kind = mediaSteps
	case f.text != nil || l != nil && l.Text:
		kind, column.Type, column.MaxBytes = textSteps, Text, c.MaxBytes
		if c.MaxBytes == 0 {
			column.MaxBytes = DefaultColumnBytes
		}
	case l != nil:
		kind, column.DType, column.Shape, column.MaxLength, column.Padded = listSteps, l.DType, append(tensor.Shape{}, l.Shape...), c.MaxLength, c.Padded
	}
	if err := a.fits(c, whole, f, kind); err != nil {
		return err
	}
	if len(a.files) > 1 && (kind != a.kind || kind == listSteps && (column.DType != a.column.DType || !slices.Equal(column.Shape, a.column.Shape))) {
		return fmt.Errorf("got %v, want %v, as %q has", shownSteps(kind, &column), shownSteps(a.kind, &a.column), a.files[0].shown())
	}
	if a.kind = kind; len(a.files) == 1 {
		a.column = column
	}
	return nil
}

func shownSteps(k stepKind, c *Column) string {
	if k == listSteps {
		return fmt.Sprintf("%v of %v of %v", k, c.Shape, c.DType)
	}
	return k.String()
}

// fits refuses rows that are not what their array is to become, and what is said of those that it is not said of.
func (a *stepped) fits(c *ArrayFiles, whole *array.Array, f *stepFile, kind stepKind) error {
	several := kind != numberSteps && slices.ContainsFunc(whole.Shape[1:max(len(whole.Shape)-1, 1)], func(n int64) bool { return n != 1 })
	bytes := whole.DType.Bytes() == 1 && !whole.DType.Float()
	if f.lists != nil {
		bytes = f.lists.Text || f.lists.DType.Bytes() == 1 && len(f.lists.Shape) == 0
	}
	switch {
	case kind == mediaSteps && (!bytes || several || len(whole.Shape) < 2):
		got := fmt.Sprintf("rows of %v of %v", tensor.Shape(whole.Shape[1:]), whole.DType)
		if f.lists != nil && !bytes {
			got = fmt.Sprintf("lists of %v of %v", f.lists.Shape, f.lists.DType)
		}
		return fmt.Errorf("got %s for encoded media, want one file a row: a list of u8, texts or opaque bytes, or u8 with zeros behind; pixels as they are and other numbers are a field by their array alone, without image, video or audio", got)
	case several:
		return fmt.Errorf("got %v of %v, of which a row has several, want one", kind, tensor.Shape(whole.Shape[:len(whole.Shape)-1]))
	case c.Window > 0 && (kind == textSteps || kind == listSteps):
		return fmt.Errorf("got %v with a window of %d rows, which have no one shape; leave window out, and say step: and within: where samples of other arrays have windows", kind, c.Window)
	case kind == listSteps && c.MaxLength == 0:
		return fmt.Errorf("got %v of %v, whose max_length is missing: the most that one has; where they are encoded pictures, say image: {from: %s}", kind, f.lists.DType, c.Name)
	case kind != listSteps && (c.MaxLength > 0 || c.Padded):
		return fmt.Errorf("got %v with max_length, which goes with lists of any length; leave it out", kind)
	case kind != textSteps && c.MaxBytes > 0:
		return fmt.Errorf("got %v with max_bytes, which goes with texts; leave it out", kind)
	}
	return nil
}

// maxReference is what a reference to a list has at most.
const maxReference = 16

// list is where that of a row lies, and how many bytes it has.
func (f *stepFile) list(row int64, b *Buffer) (ref [maxReference]byte, n int64, err error) {
	from := len(b.values)
	b.values = slices.Grow(b.values, maxReference)[:from+int(f.rowBytes)]
	err = f.fill(b.values[from:], row, f.rowBytes)
	copy(ref[:], b.values[from:])
	b.values = b.values[:from]
	return ref, f.lists.Bytes(ref[:f.rowBytes]), err
}

// readValue appends the text or list of sample i as the buffer's next value.
func (a *stepped) readValue(i int64, b *Buffer) error {
	at := a.at(i)
	f := at.stepFile
	err := a.valueOf(f, at.row, b)
	if err := f.unchanged(&b.stat[1]); err != nil {
		return err
	}
	return err
}

func (a *stepped) valueOf(f *stepFile, row int64, b *Buffer) error {
	from, n := len(b.values), f.rowBytes
	if f.lists == nil {
		b.values = slices.Grow(b.values, int(n))[:from+int(n)]
		if err := f.fill(b.values[from:], row, f.rowBytes); err != nil {
			return err
		}
		text := f.text.Cut(b.values[from:])
		b.values = b.values[:from]
		return b.setBytes(&a.column, text)
	}
	ref, n, err := f.list(row, b)
	switch {
	case err != nil:
		return err
	case n > int64(a.column.Most()) && a.kind == textSteps:
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got %d bytes, want at most %d; raise max_bytes of the array", a.name, n, a.column.MaxBytes)}
	case n > int64(a.column.Most()):
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: got a length of %d, want at most %d; raise max_length of the array", a.name, n/int64(a.column.stepBytes()), a.column.MaxLength)}
	}
	b.values = slices.Grow(b.values, int(n))[:from+int(n)]
	data := b.values[from:]
	if err := chunkError(f.lists.Read(data, ref[:f.rowBytes])); err != nil {
		return err
	}
	if f.lists.Swapped {
		swapped := array.Array{DType: f.lists.DType, Shape: tensor.Shape{n / int64(f.lists.DType.Bytes())}, Swapped: true, Data: data}
		swapped.CopyTo(data)
	}
	b.took(from)
	return nil
}

// readMedium makes a row of a medium's array the sample's next part.
func (s *arrays) readMedium(k int, i int64, b *Buffer) error {
	m := &s.media[k]
	at := s.all[m.of].at(i)
	f := at.stepFile
	n, err := s.partOf(f, at.of(m.row), b)
	if err := f.unchanged(&b.stat[1]); err != nil {
		return err
	}
	if bad, is := err.(*Error); is && bad.Detail != "" {
		bad.Detail = fmt.Sprintf("array %q: %s", m.array, bad.Detail)
	}
	if err == nil {
		b.holdNext(n)
	}
	return err
}

// partOf puts the bytes of a row behind the buffer's parts.
func (s *arrays) partOf(f *stepFile, row int64, b *Buffer) (int, error) {
	n := f.rowBytes
	var ref [maxReference]byte
	if f.lists != nil {
		var err error
		if ref, n, err = f.list(row, b); err != nil {
			return 0, err
		}
	}
	if n > s.maxBytes {
		return 0, &Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", n, s.maxBytes)}
	}
	data := b.behind(int(n))
	var err error
	if f.lists != nil {
		err = chunkError(f.lists.Read(data, ref[:f.rowBytes]))
	} else {
		err = f.fill(data, row, f.rowBytes)
	}
	if err == nil && !slices.ContainsFunc(data, func(b byte) bool { return b != 0 }) {
		err = &Error{Cause: Empty, Detail: "got no bytes but zeros"}
	}
	return int(n), err
}
