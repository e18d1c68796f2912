package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/core/source/store"
)

// DefaultMaxFileBytes is the largest file that is read when a config does not say.
const DefaultMaxFileBytes = 256 << 20

// ErrNoSamples is returned by the Open functions when there is nothing to read; the text says what was found instead.
var ErrNoSamples = errors.New("no samples")

// ErrLacking is what errors of the Open functions are where the data set is there and has no such column, part or ending as the config names.
var ErrLacking = errors.New("the data set lacks what is asked of it")

// lackingError is an error that is ErrLacking; its text says enough.
type lackingError struct{ text string }

func (e *lackingError) Error() string      { return e.text }
func (*lackingError) Is(target error) bool { return target == ErrLacking }

func lacking(format string, args ...any) error { return &lackingError{fmt.Sprintf(format, args...)} }

// Source is a numbered set of samples. An index i is in [0, Len()); others panic.
type Source interface {
	// Len is the number of samples, at least 1. It never changes.
	Len() int64

	// Key appends the sample's name, its path as the source knows it, to dst.
	Key(i int64, dst []byte) []byte

	// Label is the sample's class, or -1 when it has none.
	Label(i int64) int64

	// Read replaces the content of b by the sample's bytes. It blocks while the storage does; ctx is looked at before
	// the file is opened and once per MiB. It returns an *Error, or ctx.Err() as it is. After an error b is empty.
	Read(ctx context.Context, i int64, b *Buffer) error

	// Classes are the names behind labels 0, 1, ...; nil when the source has no names. The caller must not change them.
	Classes() []string

	// Close releases descriptors. No method may be called afterwards or at the same time.
	Close() error
}

// unlabelled reports whether a source says that no sample of it has a label. Without a word it may have some.
func unlabelled(s Source) bool {
	u, ok := s.(interface{ Unlabelled() bool })
	return ok && u.Unlabelled()
}

// Cause says in one word why a sample could not be read.
type Cause string

const (
	Missing    Cause = "missing"     // no such file or object, or a link to nothing
	Permission Cause = "permission"  // the file may not be read
	Outside    Cause = "outside"     // the path leaves the source's root
	Empty      Cause = "empty"       // the file has no bytes
	TooLarge   Cause = "too_large"   // the file is larger than the limit
	NotRegular Cause = "not_regular" // a directory, fifo, socket or device
	Changed    Cause = "changed"     // the file was changed while it was read
	IO         Cause = "io"          // the storage or the system failed
	Part       Cause = "part"        // a part of the sample is not there, or there are two for one place
	Value      Cause = "value"       // a label or a column's value is not of its type, or longer than its room
	Deadline   Cause = "deadline"    // the storage gave no good answer in time
	Checksum   Cause = "checksum"    // the bytes are not those that the storage's checksum says, or the record's own
	Program    Cause = "source"      // the program that brings the samples failed to, by its own word or by the end of its thread
)

// TimeDependent reports whether the same read might have gone well at another time, so that a replay has to be told.
func (c Cause) TimeDependent() bool {
	return c == Changed || c == IO || c == Deadline || c == Checksum || c == Program
}

// Error is why one sample could not be read.
type Error struct {
	Index  int64  // of the sample
	Key    string // its path as the source knows it
	In     string // the shard that holds it, or empty
	Cause  Cause
	Detail string // got and want, or empty
	Err    error  // what the system said, or nil
}

func (e *Error) Error() string {
	s := fmt.Sprintf("source: sample %d %q", e.Index, store.Shown(e.Key))
	if e.In != "" {
		s += fmt.Sprintf(" of %q", store.Shown(e.In))
	}
	s += ": " + string(e.Cause)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// TimeDependent reports whether the cause is.
func (e *Error) TimeDependent() bool { return e.Cause.TimeDependent() }
