package verbs

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVersionNamesCommandLayoutAndLibraries(t *testing.T) {
	wants(t, good(t, "version"), "spdl "+Version+", layout 1.", "libjpeg", "libdeflate ", "libwebp ", "instruction set ")
	var v versions
	if err := json.Unmarshal([]byte(good(t, "version", "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version != Version || !strings.HasPrefix(v.Layout, "1.") || v.JPEG == "" || v.Deflate == "" || v.WebP == "" || v.ISA == "" || v.Go == "" {
		t.Errorf("got %+v", v)
	}
	if out := good(t, "--version"); out != "spdl "+Version+"\n" {
		t.Errorf("--version: %q", out)
	}
	refused(t, exitUsage, `version: got "now", want no argument`, "version", "now")
}
