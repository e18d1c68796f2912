package verbs

import (
	"bytes"
	"testing"
	"time"

	"github.com/spdl/spdl/core/engine"
)

// The making of indexes is told now and then, and nothing of a data set whose indexes are there.
func TestOpeningIsToldWhileIndexesAreMade(t *testing.T) {
	var out bytes.Buffer
	o := (&app{err: &out}).newOpening(engine.NewLog(&out, engine.Info))
	o.tell("train", 1, 1024, 1) // too early to be worth a word
	o.began = o.began.Add(-2 * openingLog)
	o.tell("train", 36, 1024, 0)
	if out.Len() > 0 {
		t.Fatalf("told %q", out.String())
	}
	o.tell("train", 37, 1024, 37)
	o.tell("train", 38, 1024, 38)
	wants(t, out.String(), "train: indexing 37 of 1,024 shards\n")
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 1 {
		t.Errorf("%d lines within %v:\n%s", n, time.Second, out.String())
	}
	o.end()
}
