package load

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
)

// A description that is right for other pictures is not what is wrong with one that it does not fit.
func TestAPictureOfAnImpossibleSizeIsABadSample(t *testing.T) {
	thin := painted(t, 1, 16000, 1)
	for _, c := range []struct {
		section, want string
		sample        bool
	}{
		{`{"transform": [{"resize": 224}]}`, "load: a picture of 1 x 16000: image.transform: got an output of 224x3584000x3, want one of less than 2 GiB a row", true},
		{`{"transform": [{"resize": 20}]}`, "load: a picture of 1 x 16000: it becomes one of 20 x 320000, want sides of at most 16384; resize it by two sides (resize: [H, W]), or crop it", true},
		{`{"transform": [{"pad": 200}]}`, "load: a picture of 1 x 16000: image.transform.pad: got rows of 401 x 16400 with it, want sides of at most 16384", true},
		{`{"patches": {"size": 14}}`, "sample: image.patches: given with a transform that does not resize by pixels", false},
		{`{"transform": [{"normalize": {"mean": [1], "std": [1]}}]}`, "got 1 values, want 3", false},
	} {
		_, err := Load([]byte(`{"image": `+c.section+`}`), thin, nil)
		var described *spec.Error
		var bad *Error
		if errors.As(err, &described) == c.sample || errors.As(err, &bad) != c.sample || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %T, %v, want %q", c.section, err, err, c.want)
		}
		_, err = LoadBatch([]byte(`{"image": `+c.section+`}`), []Source{painted(t, 9, 9, 2), thin}, nil)
		if errors.As(err, &bad) != c.sample {
			t.Errorf("%s of a batch: %T, %v", c.section, err, err)
		}
	}
}

// caused is an error of a decoder.
type caused string

func (c caused) Error() string { return string(c) }
func (c caused) Cause() string { return string(c) }

// The decoders' packages name what the machine lacks alike, and it is found through what is put around.
func TestOutOfMemoryIsTold(t *testing.T) {
	for _, cause := range []string{media.CauseNoMemory, audio.CauseNoMemory, av.CauseNoMemory} {
		if err := named(errorOf(fmt.Errorf("sample 3 of 4: %w", caused(cause))), "a.png"); !OutOfMemory(err) {
			t.Errorf("%v: not told", err)
		}
	}
	if OutOfMemory(nil) || OutOfMemory(&Error{Err: caused(media.CauseTruncated)}) {
		t.Error("told of what is no lack of memory")
	}
}
