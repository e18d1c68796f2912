package media

import "fmt"

// Causes of a bad sample, the same in counters, journals and messages.
const (
	CauseEmpty         = "empty"           // no bytes
	CauseNotAnImage    = "not_an_image"    // bytes of no image format we know
	CauseTruncated     = "truncated"       // the data stop early
	CauseCorrupt       = "corrupt"         // the data do not decode
	CauseUnsupported   = "unsupported"     // an image, in a format or variant we do not decode
	CauseTooManyPixels = "too_many_pixels" // larger than MaxPixels
	CauseTooManyScans  = "too_many_scans"  // a progressive JPEG made to burn time
	CauseNoMemory      = "no_memory"       // the machine has none left
	CauseTooLarge      = "too_large"       // a row has no room for what the picture becomes
	CauseTooSmall      = "too_small"       // what it becomes is too small for what is done to it
	CauseTooOblong     = "too_oblong"      // one side is too long for the other
)

// FormatError says that the bytes are wrong.
type FormatError struct {
	Format        string // "jpeg", "png", ...; empty if unknown
	Width, Height int    // 0 where the header was not reached
	Detail        string // the decoder's words, if it had any
	cause         string
}

// Cause is CauseEmpty, CauseNotAnImage, CauseTruncated or CauseCorrupt.
func (e *FormatError) Cause() string { return e.cause }

func (e *FormatError) Error() string {
	return describe(e.Format, e.Width, e.Height, e.cause, e.Detail)
}

// UnsupportedError says that the bytes may be right, but we do not decode them.
type UnsupportedError struct {
	Format string
	Detail string
}

// Cause is CauseUnsupported.
func (e *UnsupportedError) Cause() string { return CauseUnsupported }

func (e *UnsupportedError) Error() string {
	return describe(e.Format, 0, 0, CauseUnsupported, e.Detail)
}

// LimitError says that decoding would pass a limit of ours.
type LimitError struct {
	Format        string
	Width, Height int    // of the picture, where known
	Detail        string // for CauseTooManyPixels: what became of the picture ahead of its crop; empty: nothing. Else what is wanted
	MaxPixels     uint64 // the limit, for CauseTooManyPixels
	cause         string
}

// Cause is one of CauseTooManyPixels to CauseTooOblong.
func (e *LimitError) Cause() string { return e.cause }

func (e *LimitError) Error() string {
	detail := e.Detail
	if e.cause == CauseTooManyPixels {
		detail += fmt.Sprintf("want at most %d pixels; raise image.max_pixels to take it", e.MaxPixels)
	}
	return describe(e.Format, e.Width, e.Height, e.cause, detail)
}

func describe(format string, w, h int, cause, detail string) string {
	s := "media: "
	if format != "" {
		s += format
		if w > 0 {
			s += fmt.Sprintf(" %dx%d", w, h)
		}
		s += ": "
	}
	s += words[cause]
	if detail != "" {
		s += ": " + detail
	}
	return s
}

var words = map[string]string{
	CauseEmpty:         "no bytes",
	CauseNotAnImage:    "not an image",
	CauseTruncated:     "the data stop early",
	CauseCorrupt:       "the data are damaged",
	CauseUnsupported:   "unsupported",
	CauseTooManyPixels: "too many pixels",
	CauseTooManyScans:  "too many scans",
	CauseNoMemory:      "out of memory",
	CauseTooLarge:      "too large",
	CauseTooSmall:      "too small",
	CauseTooOblong:     "too oblong",
}
