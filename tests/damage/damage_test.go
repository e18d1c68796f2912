package damage

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
)

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wholes is one file of every format that has checksums.
func wholes(t *testing.T) map[string][]byte {
	var picture, zipped, tarred bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 40, 30))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i)
	}
	if err := png.Encode(&picture, m); err != nil {
		t.Fatal(err)
	}
	z, a := zip.NewWriter(&zipped), tar.NewWriter(&tarred)
	for _, name := range []string{"a.txt", "b/c.txt"} {
		text := []byte(strings.Repeat("text of "+name, 50))
		w := must[interface{ Write([]byte) (int, error) }](t)(z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))
		must[int](t)(w.Write(text))
		if err := a.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		must[int](t)(a.Write(text))
	}
	if z.Close() != nil || a.Close() != nil {
		t.Fatal("the archives are not whole")
	}
	return map[string][]byte{
		"png": picture.Bytes(), "zip": zipped.Bytes(), "tar": tarred.Bytes(),
		"flac": must[[]byte](t)(os.ReadFile("../../core/media/audio/testdata/mono.flac")),
		"ogg":  must[[]byte](t)(os.ReadFile("../../core/media/audio/testdata/opus.ogg")),
	}
}

// The checksums that are made right are those that the formats have, and all of them: wiped out, they come back.
func TestRepairMakesTheChecksumsThatEncodersMade(t *testing.T) {
	for format, whole := range wholes(t) {
		bad := exactly(whole)
		wiped := 0
		switch format {
		case "png":
			chunks(bad, func(_, sum []byte) { wiped += copy(sum, "\xa5\xa5\xa5\xa5") })
		case "flac":
			for _, at := range flacFrames(whole) {
				bad[at+flacHeader(whole[at:])] ^= 0xff
				wiped++
			}
			if wiped < 2 {
				t.Errorf("flac: %d frames", wiped)
			}
		case "ogg":
			for at := 0; at >= 0 && at < len(bad); {
				wiped += copy(bad[at+22:], "\xa5\xa5\xa5\xa5")
				next := bytes.Index(whole[at+4:], []byte("OggS"))
				if next < 0 {
					break
				}
				at += 4 + next
			}
		case "zip":
			wiped = copy(bad[bytes.Index(bad, []byte("PK\x01\x02"))+16:], "\xa5\xa5\xa5\xa5")
		case "tar":
			wiped = copy(bad[148:], "777777")
		}
		if wiped == 0 || bytes.Equal(bad, whole) {
			t.Errorf("%s: nothing was wiped", format)
		}
		Repair(whole, bad)
		if !bytes.Equal(bad, whole) {
			t.Errorf("%s: the repaired file is not the whole one", format)
		}
	}
}

// A PNG damaged below its compression still unpacks, to as many bytes.
func TestAPNGIsDamagedBelowItsCompression(t *testing.T) {
	whole, n := wholes(t)["png"], 0
	before := unpackPNG(whole)
	Flips(whole, 40, func(what string, bad []byte) {
		if !strings.HasPrefix(what, "flips below") {
			return
		}
		n++
		after := unpackPNG(bad)
		if after == nil || len(after.pixels) != len(before.pixels) || bytes.Equal(after.pixels, before.pixels) {
			t.Errorf("%s: does not unpack to other pixels", what)
		}
	})
	if n != 10 {
		t.Errorf("%d of 40 below the compression, want 10", n)
	}
}

// Every beginning comes once, none is the whole file, and flips come in the number asked for and are never the whole file repaired.
func TestCutsAndFlipsAreAsManyAsAsked(t *testing.T) {
	whole := wholes(t)["zip"]
	seen := map[int]bool{}
	Cuts(whole, 1<<20, func(_ string, bad []byte) { seen[len(bad)] = true })
	if len(seen) != len(whole) || seen[len(whole)] {
		t.Errorf("%d lengths of %d bytes", len(seen), len(whole))
	}
	n, other := 0, 0
	Flips(whole, 100, func(_ string, bad []byte) {
		n++
		if !bytes.Equal(bad, whole) {
			other++
		}
		if cap(bad) > len(bad)+16 {
			t.Errorf("%d bytes behind the file", cap(bad)-len(bad))
		}
	})
	if n != 100 || other < 90 {
		t.Errorf("%d files, %d of them damaged", n, other)
	}
}

// The environment says how many are tried.
func TestCountIsWhatTheEnvironmentSays(t *testing.T) {
	t.Setenv("SPDL_FAULT_LONG", "")
	t.Setenv("SPDL_DAMAGE", "")
	if n := Count(7); n != 7 {
		t.Errorf("got %d, want 7", n)
	}
	t.Setenv("SPDL_FAULT_LONG", "1")
	if n := Count(7); n != 10_000 {
		t.Errorf("got %d, want 10,000", n)
	}
	t.Setenv("SPDL_DAMAGE", "12")
	if n := Count(7); n != 12 {
		t.Errorf("got %d, want 12", n)
	}
}
