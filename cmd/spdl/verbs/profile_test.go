package verbs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/telemetry"
)

// Profile shows each stage alone with several numbers of workers and says which one is the limit; as JSON the same.
func TestProfileShowsWhichStageIsTheLimit(t *testing.T) {
	_ = home(t)
	dir := pictures(t, 20)
	writeFile(t, dir+"/red/bad.jpg", "no picture")
	out := good(t, "profile", dir, "--size", "16", "--cpus", "1", "--seconds", "0.02")
	for _, want := range []string{"fetch   workers", "decode  workers", "efficiency", " 100 %", "█", "*",
		" is the limit: ", " bad", "collect       1", "publish       1", "in the whole ring"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var got struct {
		Verdict string
		Stages  []telemetry.StageSpeed
	}
	text := good(t, "profile", dir, "--size", "16", "--cpus", "1", "--seconds", "0.02", "--json")
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Stages) < 6 || got.Verdict == "" {
		t.Errorf("%v in %s", err, text)
	}
	for _, s := range got.Stages {
		if s.PerS <= 0 || !s.Whole && s.Efficiency <= 0 || s.Whole != (s.Stage == "collect" || s.Stage == "order" || s.Stage == "publish") {
			t.Errorf("%+v", s)
		}
	}
}

// What cannot be profiled is refused with its name.
func TestProfileRefuses(t *testing.T) {
	_ = home(t)
	refused(t, exitUsage, "profile: nothing to read", "profile")
	refused(t, exitUsage, "--seconds 0, want 0.01 to 3600", "profile", pictures(t, 2), "--seconds", "0")
	refused(t, exitUsage, "--seconds NaN", "profile", pictures(t, 2), "--seconds", "NaN")
	refused(t, exitNotFound, "no such file or folder", "profile", "/absent/folder")
	broken := t.TempDir()
	writeFile(t, broken+"/a/1.jpg", "no picture")
	refused(t, exitFailed, "profile: decode: no sample worked, the last: ", "profile", broken, "--seconds", "0.01")
}
