package pack

import (
	"bytes"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/spdl/spdl/core/media"
)

// byType are the endings of what http.DetectContentType tells of media.
var byType = map[string]string{
	"image/jpeg": "jpg", "image/webp": "webp",
	"audio/wave": "wav", "audio/mpeg": "mp3", "audio/aiff": "aiff", "audio/basic": "au", "application/ogg": "ogg",
	"video/mp4": "mp4", "video/webm": "webm", "video/avi": "avi",
}

// named is an ending as media have it.
var named = regexp.MustCompile(`^\.[a-z][a-z0-9]{1,4}$`)

// endingOf is what a file of that name and these bytes ends in: what its name does, if it has such an ending and not the label's, else what
// the bytes show; "" where they show nothing.
func endingOf(data []byte, name string) string {
	if ending := strings.ToLower(path.Ext(name)); named.MatchString(ending) && ending != ".cls" {
		return ending[1:]
	}
	if ending := media.Ending(data); ending != "" {
		return ending
	}
	switch {
	case bytes.HasPrefix(data, []byte("fLaC")):
		return "flac"
	case bytes.HasPrefix(data, []byte("\x1aE\xdf\xa3")):
		return "mkv"
	}
	return byType[http.DetectContentType(data)]
}
