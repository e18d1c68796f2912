package av

import "fmt"

// Causes of a bad sample; core/media's of the same name mean the same.
const (
	CauseEmpty         = "empty"           // no bytes
	CauseNotMedia      = "not_media"       // bytes of no container that we read
	CauseNoStream      = "no_stream"       // a container without the stream that was asked for
	CauseTruncated     = "truncated"       // the data stop early
	CauseCorrupt       = "corrupt"         // the data do not decode
	CauseRead          = "read"            // the file could not be read
	CauseUnsupported   = "unsupported"     // a container or codec that we do not decode
	CauseTooManyPixels = "too_many_pixels" // a frame larger than the limit
	CauseTooMuch       = "too_much"        // more streams, packets or frames than the limits
	CauseTooSlow       = "too_slow"        // the budget of time is used up
	CauseNoMemory      = "no_memory"       // the machine has none left
	CauseFilter        = "filter"          // the description's filters do not take the frames
	CauseDevice        = "device"          // the device that decodes failed; the sample may be sound
)

// The statuses of av.h; a test holds the two together.
const (
	StatusOK            = 0
	StatusEnd           = 1
	StatusAgain         = 2
	StatusTruncated     = -1
	StatusCorrupt       = -2
	StatusEmpty         = -3
	StatusNotMedia      = -4
	StatusNoStream      = -5
	StatusRead          = -6
	StatusUnsupported   = -10
	StatusTooManyPixels = -20
	StatusNoMemory      = -22
	StatusTooMuch       = -24
	StatusTooSlow       = -25
	StatusFilter        = -26
	StatusDevice        = -27
)

var causes = map[int]struct{ cause, words string }{
	StatusTruncated:     {CauseTruncated, "the data stop early"},
	StatusCorrupt:       {CauseCorrupt, "the data are damaged"},
	StatusEmpty:         {CauseEmpty, "no bytes"},
	StatusNotMedia:      {CauseNotMedia, "no container that is read here"},
	StatusNoStream:      {CauseNoStream, "no such stream"},
	StatusRead:          {CauseRead, "reading"},
	StatusUnsupported:   {CauseUnsupported, "unsupported"},
	StatusTooManyPixels: {CauseTooManyPixels, "too many pixels"},
	StatusNoMemory:      {CauseNoMemory, "out of memory"},
	StatusTooMuch:       {CauseTooMuch, "more than the limits"},
	StatusTooSlow:       {CauseTooSlow, "too slow"},
	StatusFilter:        {CauseFilter, "the filter"},
	StatusDevice:        {CauseDevice, "the device that decodes failed"},
}

// Error says why a sample's video or audio could not be had.
type Error struct {
	Kind   string // "video" or "audio"
	Detail string // the decoder's words, if it had any
	status int
}

// NewError is the error of a failing status of av.h.
func NewError(kind string, status int, detail string) *Error {
	return &Error{Kind: kind, Detail: detail, status: status}
}

// Cause is one of the causes above.
func (e *Error) Cause() string { return causes[e.status].cause }

func (e *Error) Error() string {
	s := fmt.Sprintf("media: %s: %s", e.Kind, causes[e.status].words)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// FilterError says what is wrong with a description of filters.
type FilterError struct {
	Kind string // "video" or "audio"
	Text string
	Why  string // FFmpeg's words, or ours
}

func (e *FilterError) Error() string { return fmt.Sprintf("filter: %.80q: %s", e.Text, e.Why) }

// StreamError says that packets are of another stream than they must be.
type StreamError struct{ Got, Want Codec }

func (e *StreamError) Error() string {
	return fmt.Sprintf("packets of %v, want %v", e.Got, e.Want)
}
