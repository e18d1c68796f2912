package audio

// Causes of a bad sample, the same in counters, journals and messages. What FFmpeg refuses has core/media/av's.
const (
	CauseEmpty       = "empty"       // no bytes
	CauseNoFrames    = "no_frames"   // a header, and no sound behind it
	CauseNotAudio    = "not_audio"   // bytes of no format we know
	CauseTruncated   = "truncated"   // the data stop before the header's size
	CauseCorrupt     = "corrupt"     // the header contradicts itself, or the data do not decode
	CauseUnsupported = "unsupported" // audio, in a format or variant we do not decode
	CauseTooLarge    = "too_large"   // more frames than the row holds or than MaxFrames
	CauseTooShort    = "too_short"   // fewer frames than one spectrum needs
	CauseOutside     = "outside"     // the window begins after the last frame
	CauseRead        = "read"        // the file could not be read
	CauseNoMemory    = "no_memory"   // the machine has none left
	CauseTooSlow     = "too_slow"    // Budget is used up
)

var words = map[string]string{
	CauseEmpty:       "no bytes",
	CauseNoFrames:    "no frames",
	CauseNotAudio:    "not audio",
	CauseTruncated:   "the data stop early",
	CauseCorrupt:     "the data are damaged",
	CauseUnsupported: "unsupported",
	CauseTooLarge:    "too many frames",
	CauseTooShort:    "too few frames",
	CauseOutside:     "the window begins after the end",
	CauseRead:        "reading",
	CauseNoMemory:    "out of memory",
	CauseTooSlow:     "too slow",
}

// Error says why a sample gave no row.
type Error struct {
	Format string // "pcm", or FFmpeg's name of the container, "wav" for one; empty if unknown
	Detail string // got, want and the remedy
	cause  string
	err    error
}

// Cause is one of the causes above.
func (e *Error) Cause() string { return e.cause }

// Unwrap is the operating system's error behind CauseRead.
func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	s := "audio: "
	if e.Format != "" {
		s += e.Format + ": "
	}
	s += words[e.cause]
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}
