//go:build !noffmpeg

package media

/*
#include "ffmpeg.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// readNetpbm hands PGM, PPM and PAM to FFmpeg with samples of whole bytes, which it leaves as they are: of other largest values it makes black
// of white where it multiplies beyond the byte, and rounds in ways of its own. What the samples mean is the layout's to say.
func readNetpbm(format string, data []byte) (source, error) {
	s := source{data: data}
	var most int
	var head, rest []byte
	if format == "pam" {
		head, rest, most = pamHead(data)
	} else {
		head, rest, most = pnmHead(data)
	}
	if head == nil || most == 255 || format == "pam" && most == 1 { // not to be read, and left to FFmpeg to refuse; or nothing to do
		return s, nil
	}
	if most < 1 || most > 65535 {
		return s, &FormatError{Format: format, Detail: fmt.Sprintf("largest value %d, want 1 to 65535", most), cause: CauseCorrupt}
	}
	s.layout.largest = C.int32_t(most)
	s.data = append(head, rest...)
	return s, nil
}

// wholeBytes is the largest value of as many bytes as most takes.
func wholeBytes(most int) int {
	if most < 256 {
		return 255
	}
	return 65535
}

// pnmHead is a new head for what lies behind it, and the largest value that the old one names: magic, width, height and that, with comments
// between them, and one blank.
func pnmHead(data []byte) (head, rest []byte, most int) {
	var words [4]string
	at := 0
	for i := range words {
		for at < len(data) && (isSpace(data[at]) || data[at] == '#') {
			if data[at] == '#' {
				for at < len(data) && data[at] != '\n' && data[at] != '\r' {
					at++
				}
				continue
			}
			at++
		}
		from := at
		for at < len(data) && !isSpace(data[at]) && data[at] != '#' {
			at++
		}
		words[i] = string(data[from:at])
	}
	most, err := strconv.Atoi(words[3])
	if err != nil || at >= len(data) {
		return nil, nil, 0
	}
	return fmt.Appendf(nil, "%s\n%s %s\n%d\n", words[0], words[1], words[2], wholeBytes(most)), data[at+1:], most
}

var pamLargest = regexp.MustCompile(`\nMAXVAL[ \t]+([0-9]{1,9})[ \t]*\n`)

func pamHead(data []byte) (head, rest []byte, most int) {
	const end = "\nENDHDR"
	n := bytes.Index(data, []byte(end))
	if n < 0 {
		return nil, nil, 0
	}
	m := pamLargest.FindSubmatchIndex(data[:n+1])
	if m == nil {
		return nil, nil, 0
	}
	most, _ = strconv.Atoi(string(data[m[2]:m[3]])) // digits
	return fmt.Appendf(nil, "%s%d", data[:m[2]], wholeBytes(most)), data[m[3]:], most
}
