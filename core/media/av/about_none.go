//go:build noffmpeg

package av

// About refuses.
func About() (*Facts, error) {
	return nil, NewError("FFmpeg", StatusUnsupported, "this build has none; use the build with it")
}

// SetLogLevel does nothing.
func SetLogLevel(int) {}
