package pack

import (
	"net/http"
	"path"
	"regexp"
	"strings"
)

// byType are the endings of what http.DetectContentType tells of media.
var byType = map[string]string{
	"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/webp": "webp", "image/bmp": "bmp",
	"audio/wave": "wav", "audio/mpeg": "mp3", "audio/aiff": "aiff", "audio/basic": "au", "application/ogg": "ogg",
	"video/mp4": "mp4", "video/webm": "webm", "video/avi": "avi",
}

// byMagic are those of what it does not tell.
var byMagic = []struct{ magic, ending string }{
	{"fLaC", "flac"}, {"II*\x00", "tif"}, {"MM\x00*", "tif"}, {"\x1aE\xdf\xa3", "mkv"}, {"\x00\x00\x00\x0cjP  ", "jp2"},
}

// named is an ending as media have it.
var named = regexp.MustCompile(`^\.[a-z][a-z0-9]{1,4}$`)

// endingOf is what a file of that name and these bytes ends in: what its name does, if it has such an ending and not the label's, else what
// the bytes show; "" where they show nothing.
func endingOf(data []byte, name string) string {
	if ending := strings.ToLower(path.Ext(name)); named.MatchString(ending) && ending != ".cls" {
		return ending[1:]
	}
	for _, m := range byMagic {
		if strings.HasPrefix(string(data[:min(len(data), len(m.magic))]), m.magic) {
			return m.ending
		}
	}
	if len(data) > 12 && string(data[4:8]) == "ftyp" {
		switch string(data[8:12]) {
		case "avif", "avis":
			return "avif"
		case "heic", "heix", "mif1", "msf1":
			return "heic"
		}
	}
	return byType[http.DetectContentType(data)]
}
