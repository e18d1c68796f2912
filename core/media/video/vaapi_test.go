//go:build !noffmpeg

package video

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// onVAAPI is onDevice with the stand-in of VA-API, which decodes VP9 alone.
func onVAAPI(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(inDevice) != "" {
		return true
	}
	path := filepath.Join(t.TempDir(), "stats")
	hidden := "CUDA_VISIBLE_DEVICES=" // a real device, which auto would take
	runApart(t, "^"+t.Name()+"$", append([]string{"LD_PRELOAD=" + standInFile(t, "vaapi/libva-fake.so"), "FAKE_VA_STATS=" + path, "SPDL_TEST_KIND=vaapi", hidden}, env...))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range []string{"", "displays", "configurations", "contexts", "surfaces", "buffers", "images"} {
		if n := binary.LittleEndian.Uint64(b[8*i:]); n > 0 && (n > 1 || what != "displays") {
			t.Errorf("got %d %s at the end, want at most one display and nothing else", n, what)
		}
	}
	return false
}

// VA-API gives the processor's bytes and times of what it decodes; the rest is refused by name, or the processor's with auto.
func TestVAAPIGivesTheProcessorsFrames(t *testing.T) {
	if onVAAPI(t) {
		givesTheProcessorsFrames(t, "vaapi", func(name string) bool { return name == vp9 || name == "ten_bits.webm" })
	}
}

func TestAPictureThatVAAPICannotDecodeIsAnError(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_FAULT=EndPicture:5:23") {
		failsOnce(t, "device", "Failed to end picture decode issue: 23", "the device that decodes failed")
	}
}

func TestAFrameThatIsNotCopiedFromVAAPIIsAnError(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_FAULT=GetImage:3:1") {
		failsOnce(t, "device", "Failed to read image from surface", "copying a frame from the device")
	}
}

func TestAContextThatVAAPICannotMakeIsAnError(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_FAULT=CreateContext:1:2") {
		failsOnce(t, "device", "Failed to create decode context: 2", "the device makes no decoder for this stream")
	}
}

// The first surface is one that FFmpeg tries.
func TestASurfaceThatVAAPICannotMakeIsAnError(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_FAULT=CreateSurfaces:1:2") {
		failsOnce(t, "device", "Failed to create surface: 2")
	}
}

func TestAutoLeavesASampleAtWhichVAAPIFailsToTheProcessor(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_FAULT=EndPicture:5:23") {
		fallsBack(t, false, true)
	}
}

func TestAutoLeavesToTheProcessorWhatVAAPICannot(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_FAULT=CreateContext:1:2") {
		fallsBack(t, false, true)
	}
}

func TestAutoLeavesACodecOfVAAPIToTheProcessor(t *testing.T) {
	if onVAAPI(t, "FAKE_VA_PROFILES= ") {
		fallsBack(t, false, false)
	}
}

func TestADisplayThatVAAPICannotOpenIsRefusedByName(t *testing.T) {
	if !onVAAPI(t, "FAKE_VA_FAULT=Initialize:1:1") {
		return
	}
	for range 2 { // a kind that could not be opened is not tried again
		refusedByName(t, "vaapi", "Failed to initialise VAAPI")
	}
	fallsBack(t, false)
}

func TestManyDecodersShareVAAPI(t *testing.T) {
	if onVAAPI(t) {
		share(t, "vaapi")
	}
}
