package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// magics tell the format by content; names of files are not looked at.
var magics = []struct{ format, magic string }{
	{"png", "\x89PNG\r\n\x1a\n"},
	{"gif", "GIF87a"},
	{"gif", "GIF89a"},
	{"tiff", "II*\x00"},
	{"tiff", "MM\x00*"},
	{"tiff", "II+\x00"}, // BigTIFF
	{"tiff", "MM\x00+"},
	{"jpeg2000", "\x00\x00\x00\x0cjP  \r\n\x87\n"},
	{"jpeg2000", "\xff\x4f\xff\x51"},
	{"qoi", "qoif"},
	{"psd", "8BPS"},
	{"dds", "DDS "},
	{"exr", "\x76\x2f\x31\x01"},
	{"sgi", "\x01\xda\x00\x01"},
	{"sgi", "\x01\xda\x01\x01"},
	{"sgi", "\x01\xda\x00\x02"}, // of two bytes a sample
	{"sgi", "\x01\xda\x01\x02"},
	{"sunraster", "\x59\xa6\x6a\x95"},
}

// others tell sounds and videos by what lies at a place, in this order: their sections read them.
var others = []struct {
	at            int
	magic         string
	what, section string
}{
	{8, "WAVE", "a WAV file", "audio"},
	{0, "fLaC", "a FLAC file", "audio"},
	{0, "OggS", "an Ogg file", "audio"},
	{0, "ID3", "a sound with ID3 tags", "audio"},
	{0, "\xff\xfb", "an MP3 file", "audio"},
	{0, "\xff\xf3", "an MP3 file", "audio"},
	{0, "\xff\xf1", "an AAC file", "audio"},
	{8, "AIF", "an AIFF file", "audio"},
	{0, ".snd", "an AU file", "audio"},
	{0, "caff", "a CAF file", "audio"},
	{4, "ftypM4A", "an M4A file", "audio"},
	{4, "ftyp", "an MP4 or QuickTime file", "video"},
	{0, "\x1aE\xdf\xa3", "a Matroska or WebM file", "video"},
	{8, "AVI ", "an AVI file", "video"},
	{0, "FLV\x01", "an FLV file", "video"},
	{0, "\x00\x00\x01\xba", "an MPEG file", "video"},
}

// notAnImage is the error of data that sniff does not know.
func notAnImage(data []byte) error {
	for _, o := range others {
		if bytes.HasPrefix(data[min(o.at, len(data)):], []byte(o.magic)) {
			return &FormatError{cause: CauseNotAnImage, Detail: fmt.Sprintf("it is %s, which the section %s reads, in Python spdl.io.load_%[2]s", o.what, o.section)}
		}
	}
	const read = "JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF, HEIC, JPEG 2000, QOI, PSD, DDS, OpenEXR, SGI, Sun raster, PCX, PBM, PGM, PPM and PAM"
	return &FormatError{cause: CauseNotAnImage, Detail: fmt.Sprintf("it begins with %+q; read are %s", data[:min(len(data), 12)], read)}
}

// endings are what files of a format are called by, where that is not its name.
var endings = map[string]string{"tiff": "tif", "jpeg2000": "jp2", "heif": "heic", "sunraster": "ras"}

// Ending is what a file with these bytes may be called by, without the dot; "" of JPEG and WebP, which are told elsewhere, and of what is no picture.
func Ending(data []byte) string {
	format := sniff(data)
	if ending := endings[format]; ending != "" {
		return ending
	}
	return format
}

// sniff names the format of data, "" if it is none we know.
func sniff(data []byte) string {
	for _, m := range magics {
		if len(data) >= len(m.magic) && string(data[:len(m.magic)]) == m.magic {
			return m.format
		}
	}
	if len(data) < 7 { // a PBM of a pixel
		return ""
	}
	if data[0] == 'P' && isSpace(data[2]) {
		return sniffNetpbm(data[1])
	}
	if len(data) < 12 {
		return ""
	}
	switch {
	case string(data[4:8]) == "ftyp":
		return sniffBox(data[8:12])
	case string(data[:2]) == "BM" && len(data) > 26 && binary.LittleEndian.Uint32(data[14:]) <= 124:
		return "bmp"
	case data[0] == 10 && data[1] <= 5 && data[2] <= 1 && data[3] <= 8 && len(data) > 128:
		return "pcx"
	}
	return ""
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }

func sniffNetpbm(digit byte) string {
	switch digit {
	case '1', '4':
		return "pbm"
	case '2', '5':
		return "pgm"
	case '3', '6':
		return "ppm"
	case '7':
		return "pam"
	}
	return ""
}

// sniffBox names still pictures in ISO boxes by their brand.
func sniffBox(brand []byte) string {
	switch string(brand) {
	case "avif", "avis":
		return "avif"
	case "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "miaf":
		return "heif"
	}
	return ""
}

// headerSize reads the picture's size where it is cheap to; 0, 0 elsewhere.
func headerSize(format string, d []byte) (w, h int) {
	switch {
	case format == "png" && len(d) >= 24:
		return int(binary.BigEndian.Uint32(d[16:])), int(binary.BigEndian.Uint32(d[20:]))
	case format == "gif":
		return gifSize(d)
	case format == "bmp" && len(d) >= 26 && binary.LittleEndian.Uint32(d[14:]) >= 40:
		h := int(int32(binary.LittleEndian.Uint32(d[22:])))
		return int(int32(binary.LittleEndian.Uint32(d[18:]))), max(h, -h)
	}
	return 0, 0
}
