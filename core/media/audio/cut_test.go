package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// hasNamedCause reports whether that is the cause, whoever found it.
func hasNamedCause(err error, cause string) bool {
	var named interface{ Cause() string }
	return errors.As(err, &named) && named.Cause() == cause
}

func isTruncated(err error) bool { return hasNamedCause(err, CauseTruncated) }

// cutInPages says that an Ogg is truncated wherever in its last two pages it is cut.
func cutInPages(t *testing.T, w *Worker, whole []byte) {
	t.Helper()
	last := bytes.LastIndex(whole, []byte("OggS\x00"))
	from := bytes.LastIndex(whole[:last], []byte("OggS\x00"))
	for n := from + 1; n < len(whole); n++ {
		_, _, err := w.Wave(Source{Bytes: whole[:n]}, Draw{})
		if n != last && !isTruncated(err) {
			t.Fatalf("cut at byte %d of %d, pages at %d and %d: got %v", n, len(whole), from, last, err)
		}
	}
}

// An Opus that ends in a page is truncated, in every build, as a whole and where a window lies before the cut.
func TestCutOpusIsTruncated(t *testing.T) {
	whole := opusStereo.ogg(drawnOpus(rand.New(rand.NewPCG(31, 7)), opusStereo, 20, 60), opusFile{each: 5})
	w := workerOf(t, Config{})
	defer w.Close()
	cutInPages(t, w, whole)
	window := workerOf(t, Config{Window: Window{Duration: 0.02}})
	defer window.Close()
	if _, _, err := window.Wave(Source{Bytes: whole[:len(whole)-1]}, Draw{}); !isTruncated(err) {
		t.Errorf("a window before the cut: got %v", err)
	}
}

// Speech of Opus is FFmpeg's, where there is one, and no less truncated.
func TestCutSpeechIsTruncated(t *testing.T) {
	whole := testdata(t, "opus.ogg")
	w := workerOf(t, Config{})
	defer w.Close()
	for n := len(whole) / 2; n < len(whole); n += 97 {
		_, _, err := w.Wave(Source{Bytes: whole[:n]}, Draw{})
		if !isTruncated(err) && (haveFFmpeg || !hasCause(err, CauseUnsupported)) {
			t.Fatalf("cut at byte %d of %d: got %v", n, len(whole), err)
		}
	}
}

// pagesOf is an Ogg whose pages f changed.
func pagesOf(whole []byte, f func(page []byte)) []byte {
	whole = bytes.Clone(whole)
	for at := 0; at < len(whole); {
		size := oggHead + int(whole[at+26])
		for _, n := range whole[at+oggHead : at+size] {
			size += int(n)
		}
		page := whole[at : at+size]
		f(page)
		clear(page[22:26])
		binary.LittleEndian.PutUint32(page[22:], oggSum(0, page))
		at += size
	}
	return whole
}

// A recording of Ogg that ends with a whole page which is not marked as the last one is what it is; other Oggs than Opus', here one that begins
// with a skeleton, are truncated where they end in a page.
func TestOggOfFFmpegsEndsWithAWholePage(t *testing.T) {
	if !haveFFmpeg {
		t.Skip("FFmpeg's")
	}
	w := workerOf(t, Config{})
	defer w.Close()
	recording := pagesOf(testdata(t, "opus.ogg"), func(page []byte) { page[5] &^= oggLast })
	if _, info, err := w.Wave(Source{Bytes: recording}, Draw{}); err != nil || info.Frames < 24000 {
		t.Errorf("%+v, %v", info, err)
	}
	skeleton := slices.Concat([]byte("OggS\x00\x02"), make([]byte, 8), []byte("skel"), make([]byte, 8), []byte{1, 64}, []byte("fishead\x00\x03\x00"), make([]byte, 54))
	whole := slices.Concat(pagesOf(skeleton, func([]byte) {}), recording)
	if _, info, err := w.Wave(Source{Bytes: whole}, Draw{}); err != nil || info.Frames < 24000 {
		t.Errorf("behind a skeleton: %+v, %v", info, err)
	}
	cutInPages(t, w, whole)
	if _, info, err := w.Wave(Source{Bytes: append(whole, make([]byte, 150)...)}, Draw{}); err != nil || info.Frames < 24000 {
		t.Errorf("zeros behind it: %+v, %v", info, err)
	}
}

// soxFile is a sound of SoX's own format, whose header counts n samples; 0: it does not know.
func soxFile(n uint64, samples int) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(".SoX"), 28)
	b = binary.LittleEndian.AppendUint64(b, n)
	b = binary.LittleEndian.AppendUint64(b, 0x40bf400000000000) // 8000 Hz
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for i := range samples {
		b = binary.LittleEndian.AppendUint32(b, uint32(i)<<20)
	}
	return b
}

// flvFile is PCM in an FLV, in tags of 1,000 frames.
func flvFile(tags int) []byte {
	b := []byte("FLV\x01\x04\x00\x00\x00\x09\x00\x00\x00\x00")
	for i := range tags {
		const size = 1 + 2000
		ms := i * 1000 * 1000 / 11025
		b = append(b, 8, size>>16, size>>8&255, size&255, byte(ms>>16), byte(ms>>8), byte(ms), 0, 0, 0, 0, 3<<4|1<<2|1<<1)
		b = append(b, bytes.Repeat([]byte{byte(i), 7}, 1000)...)
		b = binary.BigEndian.AppendUint32(b, size+11)
	}
	return b
}

// Of what FFmpeg gives in silence as far as it goes, what the container says of its end is held against the file's.
func TestCutContainersOfFFmpegsAreTruncated(t *testing.T) {
	if !haveFFmpeg {
		t.Skip("FFmpeg's")
	}
	adpcm := testdata(t, "adpcm.wav")
	data := bytes.Index(adpcm, []byte("data"))
	piped := bytes.Clone(adpcm)
	binary.LittleEndian.PutUint32(piped[4:], 0xffffffff)
	binary.LittleEndian.PutUint32(piped[data+4:], 0xffffffff)
	nothing := bytes.Clone(adpcm)
	binary.LittleEndian.PutUint32(nothing[4:], 0)
	binary.LittleEndian.PutUint32(nothing[data+4:], 0)
	flv := flvFile(4)
	w := workerOf(t, Config{})
	defer w.Close()
	for _, test := range []struct {
		name, says string
		whole      []byte
		least      int // the shortest cut
	}{
		{"ADPCM in WAV", "chunk at byte", adpcm, data + 9},
		{"SoX", "sound at byte", soxFile(900, 900), 400},
		{"FLV", "packet at byte", flv, len(flv) - 1990},
	} {
		if _, _, err := w.Wave(Source{Bytes: test.whole}, Draw{}); err != nil {
			t.Errorf("%s, whole: %v", test.name, err)
		}
		for n := test.least; n < len(test.whole)-8; n += 101 {
			_, _, err := w.Wave(Source{Bytes: test.whole[:n]}, Draw{})
			if !isTruncated(err) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("%s cut at byte %d of %d: got %v", test.name, n, len(test.whole), err)
			}
		}
	}
	for name, whole := range map[string][]byte{
		"ADPCM written into a pipe": piped[:len(piped)-700], "ADPCM of no size": nothing[:len(nothing)-700], "SoX of no size": soxFile(0, 900)[:3000],
		"more behind the sound": slices.Concat(adpcm, []byte("LIST\xff\xff\x00\x00and no more")),
	} {
		if wave, _, err := w.Wave(Source{Bytes: whole}, Draw{}); err != nil || wave.Frames == 0 {
			t.Errorf("%s: %d frames, %v", name, wave.Frames, err)
		}
	}
}

// A page of Ogg with another checksum, one without its mark, and what stands between two pages are damage, in every build: FFmpeg passes them over, and the
// sound would be shorter by them. What stands behind the last page is no damage.
func TestDamagedPagesAreCorrupt(t *testing.T) {
	w := workerOf(t, Config{})
	defer w.Close()
	for name, whole := range map[string][]byte{
		"speech": testdata(t, "opus.ogg"), "music": testdata(t, "music.ogg"),
		"drawn": opusStereo.ogg(drawnOpus(rand.New(rand.NewPCG(32, 7)), opusStereo, 20, 60), opusFile{each: 5}),
	} {
		if name == "speech" && !haveFFmpeg {
			continue
		}
		var pages []int
		pagesOf(whole, func(page []byte) {
			pages = append(pages, bytes.Index(whole, page))
		})
		wrong := func(what string, at int, data []byte) {
			t.Helper()
			if _, _, err := w.Wave(Source{Bytes: data}, Draw{}); !hasNamedCause(err, CauseCorrupt) {
				t.Errorf("%s: %s at %d of %d: got %v, want cause corrupt", name, what, at, pages, err)
			}
		}
		for i, at := range pages {
			flipped := bytes.Clone(whole)
			flipped[at+22] ^= 4
			wrong("another checksum", at, flipped)
			if i > 1 {
				wrong("something between two pages", at, slices.Insert(bytes.Clone(whole), at, []byte("no page")...))
			}
			if i > 1 && i < len(pages)-1 {
				unmarked := bytes.Clone(whole)
				unmarked[at] = 'o'
				wrong("no mark", at, unmarked)
			}
		}
		if haveFFmpeg {
			wrong("many marks of pages", len(whole), append(bytes.Clone(whole), append(bytes.Repeat([]byte("no page: OggS\x00"), 1000), make([]byte, 1<<17)...)...))
		}
		if _, _, err := w.Wave(Source{Bytes: append(bytes.Clone(whole), "TAG and more"...)}, Draw{}); err != nil && (haveFFmpeg || !hasCause(err, CauseUnsupported)) {
			t.Errorf("%s: something behind the last page: %v", name, err)
		}
	}
}
