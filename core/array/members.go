package array

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
)

// Member is a regular file of an archive.
type Member struct {
	Name string
	Data []byte // a part of the archive's memory, but for deflated members of a zip; len == cap
}

// Tar goes through the regular files of a tar archive in memory, in their order. After an error there is nothing more. An
// archive that ends between two members without its end mark is whole, one that ends within a member is not.
func Tar(b []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		under := bytes.NewReader(b)
		r := tar.NewReader(under)
		for {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // names are told, never opened
				if errors.Is(err, io.ErrUnexpectedEOF) {
					err = fmt.Errorf("truncated: got %d bytes, which end within a header: %w", len(b), err)
				}
				yield(Member{}, fmt.Errorf("array: tar: %w", err))
				return
			}
			if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse {
				continue
			}
			at := int64(len(b)) - int64(under.Len()) // headers are read in blocks, so the data begin here
			m := Member{Name: h.Name}
			if m.Data, err = tarData(b, at, h); err != nil {
				yield(Member{}, fmt.Errorf("array: tar: member %.200q: %w", h.Name, err))
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func tarData(b []byte, at int64, h *tar.Header) ([]byte, error) {
	if h.Typeflag == tar.TypeGNUSparse || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "" {
		return nil, errors.New("it is sparse, so its bytes do not lie in one piece; pack it without")
	}
	if there := int64(len(b)) - at; h.Size < 0 || h.Size > there {
		return nil, fmt.Errorf("truncated: got %d bytes, want %d", there, h.Size)
	}
	return b[at : at+h.Size : at+h.Size], nil
}

// Zip goes through the files of a zip archive in memory, in its directory's order, each checked against its CRC-32. A
// member that is damaged, encrypted or packed in another way than stored or deflated is an error, and the next one comes.
func Zip(b []byte) iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
			yield(Member{}, fmt.Errorf("array: zip: %w", noArchive(b, err)))
			return
		}
		archive := NPZ{b: b}
		for _, f := range z.File {
			if f.FileInfo().IsDir() {
				continue
			}
			m := Member{Name: f.Name}
			if m.Data, err = archive.member(f, math.MaxInt64); err != nil {
				m.Data, err = nil, fmt.Errorf("array: zip: member %.200q: %w", f.Name, err)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}
