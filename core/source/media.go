package source

import (
	"errors"
	"fmt"
	"slices"
)

// maxMedia bounds how many parts a sample may be read of.
const maxMedia = 64

// Medium is one of the parts of a sample that Read fills a Buffer with, for somebody to decode.
type Medium struct {
	Name string // what it becomes, for errors

	// From is where it is: of archives the parts that may be it, best first, and nil is the one that ends in any of ImageExtensions; of
	// Parquet the columns that may be it; of a table the column of its path; of a folder the ending of the file beside the sample's own.
	From []string

	// Many makes it up to so many pictures, or none; its part is a Bundle. They are a list in a column, of a table of paths, or parts whose names have a number in
	// place of the * in From; or each of From is one, in their order, if the sample has it. Of more the first are taken, with Cut; else the sample is a bad one.
	Many int
	Each bool
	Cut  bool
}

// onePicture is what samples are when a config does not say. One that says Media: []Medium{} has samples of columns alone.
var onePicture = []Medium{{Name: "image"}}

// errNothing refuses a config that asks for nothing of its samples.
var errNothing = errors.New("got neither media nor columns, want at least one of them")

// columns are those that its lists may be in, best first.
func (m *Medium) columns() []string {
	if m.From == nil {
		return []string{"images", "image"}
	}
	return m.From
}

// several says that one of the media is of several pictures, which are read whole, and so is what is beside them.
func several(media []Medium) bool {
	return slices.ContainsFunc(media, func(m Medium) bool { return m.Many > 0 })
}

// claimed says that a medium names a part.
func claimed(media []Medium, part string) bool {
	return slices.ContainsFunc(media, func(m Medium) bool { return slices.Contains(m.From, part) })
}

// about begins a message about a medium, where it is not the only one.
func about(media []Medium, m int) string {
	if len(media) == 1 {
		return ""
	}
	return media[m].Name + ": "
}

// again makes a part that is held already the sample's next one, too: a video's sound is in the same file.
func (b *Buffer) again(k int) {
	if f := b.InPlace(k); f != nil {
		b.placed = append(b.placed, placed{len(b.parts), f})
	}
	b.parts = append(b.parts, b.parts[k])
}

// wrong names the medium in an error about the file that it is made of.
func (m *Medium) wrong(file []byte, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Detail = fmt.Sprintf("%s: file %q", m.Name, file)
	if e.Cause == Missing {
		named.Cause, named.Detail = Part, named.Detail+" is not there"
	} else if e.Detail != "" {
		named.Detail += ": " + e.Detail
	}
	return &named
}
