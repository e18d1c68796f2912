package av

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The statuses of Go are those of av.h, and every failing one has a cause and words.
func TestStatusesAreTheHeaders(t *testing.T) {
	header, err := os.ReadFile("av.h")
	if err != nil {
		t.Fatal(err)
	}
	inGo := map[string]int{
		"OK": StatusOK, "END": StatusEnd, "AGAIN": StatusAgain, "TRUNCATED": StatusTruncated, "CORRUPT": StatusCorrupt,
		"EMPTY": StatusEmpty, "NOT_MEDIA": StatusNotMedia, "NO_STREAM": StatusNoStream, "READ": StatusRead,
		"UNSUPPORTED": StatusUnsupported, "TOO_MANY_PIXELS": StatusTooManyPixels, "NO_MEMORY": StatusNoMemory,
		"TOO_MUCH": StatusTooMuch, "TOO_SLOW": StatusTooSlow, "FILTER": StatusFilter, "DEVICE": StatusDevice,
	}
	found := regexp.MustCompile(`MEDIA_AV_([A-Z_]+) = (-?\d+),`).FindAllStringSubmatch(string(header), -1)
	if len(found) != len(inGo) {
		t.Errorf("av.h has %d statuses, Go %d", len(found), len(inGo))
	}
	for _, m := range found {
		want, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		got, ok := inGo[m[1]]
		if !ok || got != want {
			t.Errorf("%s: got %d, want %d as av.h has it", m[1], got, want)
		}
		if e := NewError("video", want, ""); want < 0 && (e.Cause() == "" || !strings.HasPrefix(e.Error(), "media: video: ")) {
			t.Errorf("%s: got cause %q and words %q", m[1], e.Cause(), e)
		}
	}
}
