package engine

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// file is a part of a sample under test: its name and its bytes.
type file struct {
	name string
	data []byte
}

// talkies are n samples of a picture of one grey, a sound of i + 1 samples and a text.
func talkies(t testing.TB, n int) (all []file) {
	for i := range n {
		name := fmt.Sprintf("%03d", i)
		all = append(all, file{name + ".jpg", picture(t, grey(i), 24)}, file{name + ".txt", []byte("text of " + name)}, file{name + ".wav", wav(i + 1)})
	}
	return all
}

// The places that samples of several parts can lie in, each as the source of a description, which is audio.from after the bar.
var places = map[string]func(t testing.TB, dir string, files []file) string{
	"tar": func(t testing.TB, dir string, files []file) string {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, f := range files {
			must(w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o644}))
			_, err := w.Write(f.data)
			must(err)
		}
		must(w.Close())
		must(os.WriteFile(filepath.Join(dir, "a.tar"), b.Bytes(), 0o644))
		return "{shards: " + dir + "/a.tar, columns: [txt]}|null"
	},
	"zip": func(t testing.TB, dir string, files []file) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, f := range files {
			part, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store})
			must(err)
			_, err = part.Write(f.data)
			must(err)
		}
		must(w.Close())
		must(os.WriteFile(filepath.Join(dir, "a.zip"), b.Bytes(), 0o644))
		return "{shards: " + dir + "/a.zip, columns: [txt]}|null"
	},
	"folder": func(t testing.TB, dir string, files []file) string {
		for _, f := range files {
			must(os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644))
		}
		return "{folder: " + dir + ", columns: [txt]}|wav"
	},
	"table": func(t testing.TB, dir string, files []file) string {
		table := "path,txt,sound\n"
		for _, f := range files {
			must(os.WriteFile(filepath.Join(dir, f.name), f.data, 0o644))
			if stem, ok := strings.CutSuffix(f.name, ".jpg"); ok {
				table += fmt.Sprintf("%s.jpg,text of %s,%s.wav\n", stem, stem, stem)
			}
		}
		must(os.WriteFile(filepath.Join(dir, "a.csv"), []byte(table), 0o644))
		return "{list: " + dir + "/a.csv, columns: [txt]}|sound"
	},
}

// describeTalkies describes files in a place: pictures, and sounds of room for 8 samples.
func describeTalkies(t testing.TB, place string, files []file, more string) *spec.Spec {
	t.Helper()
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	source, from, _ := strings.Cut(places[place](t, t.TempDir(), files), "|")
	if from != "null" {
		from = ", from: " + from
	} else {
		from = ""
	}
	text := fmt.Sprintf("name: %s\nsource: %s\nimage: {transform: [resize: [8, 8]]}\naudio: {rate: 8000, length: 8, select: [0], shape: padded%s}\n%s", testName(), source, from, more)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// talkie is what a batch says of a row: the grey of its picture, its sound's length and last sample, and its text.
type talkie struct {
	grey, length, last int
	text               string
}

// talkiesIn are the rows of a batch of describeTalkies: image, index, key, status, label, audio, length, txt.
func talkiesIn(l *shm.Lease) (all []talkie) {
	sounds, lengths := l.Tensor(firstSide), batch.Int64s(l.Tensor(firstSide+1))
	text, offsets := l.Tensor(firstSide+2), l.Offsets(firstSide+2)
	for i := range l.Rows {
		one := talkie{grey: int(l.Tensor(sampleTensor)[i*192]), length: int(lengths[i]), text: string(text[offsets[i]:offsets[i+1]])}
		if n := one.length; n > 0 {
			one.last = int(math.Float32frombits(binary.LittleEndian.Uint32(sounds[4*(8*i+n-1):])) * 1024)
		}
		all = append(all, one)
	}
	return all
}

// wantTalkie is sample i.
func (c talkie) is(i int) bool {
	near := int(grey(i)) - c.grey
	return near >= -2 && near <= 2 && c.length == i+1 && c.last == i+1 && c.text == fmt.Sprintf("text of %03d", i)
}

// A sample of several parts is decoded part by part, each by its own rule into its own tensors, wherever the parts lie: as members of an
// archive, as files beside each other, or named by columns of a table.
func TestSampleOfSeveralPartsIsDecodedPartByPart(t *testing.T) {
	for place := range places {
		t.Run(place, func(t *testing.T) {
			r := start(t, describeTalkies(t, place, talkies(t, 7), "batch: 4\norder: {epochs: 2}\n"), nil)
			reader := r.attach(shm.AttachOptions{})
			for came := 0; came < 14; {
				l, err := reader.Acquire(testContext(t))
				if err == shm.EndEpoch {
					continue
				}
				if err != nil {
					t.Fatal(err, r.Stats().Rings[0].Bad)
				}
				longest := int64(0)
				for row, one := range talkiesIn(l) {
					i := int(batch.Int64s(l.Tensor(indexTensor))[row])
					if longest = max(longest, int64(i+1)); !one.is(i) {
						t.Errorf("sample %d: got %+v", i, one)
					}
				}
				if got := fmt.Sprint(l.Shape(sampleTensor), l.Shape(firstSide)); got != fmt.Sprint([]int{l.Rows, 8, 8, 3}, []int64{int64(l.Rows), 1, longest}) {
					t.Errorf("shapes %s", got)
				}
				came += l.Rows
				must(l.Release())
			}
		})
	}
}

// One part that cannot be had makes the sample a bad one, and the message names the medium.
func TestOneBadPartIsOneBadSample(t *testing.T) {
	for place := range places {
		t.Run(place, func(t *testing.T) {
			files := talkies(t, 4)
			files[2].data = []byte("no sound at all, but long enough to be one: 44 bytes or more")
			files[3].data = []byte("no picture")
			files = slices.Delete(files, 8, 9) // 002.wav is not there
			s := describeTalkies(t, place, files, "batch: 4\norder: {epochs: 1, shuffle: false}\nbad_sample: {policy: mask}\n")
			r := start(t, s, nil)
			l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			got := talkiesIn(l)
			if l.NBad != 3 || !got[3].is(3) {
				t.Fatalf("%d bad: %+v", l.NBad, got)
			}
			for i := range 3 {
				if got[i] != (talkie{}) || l.Tensor(statusTensor)[i] != batch.Masked || batch.Float64s(l.Tensor(firstSide)[32*i:])[0] != 0 {
					t.Errorf("row %d: got %+v, want a masked row: zero in every tensor", i, got[i])
				}
			}
			last := strings.Join(r.Stats().Rings[0].Bad.Last, "\n")
			for _, want := range []string{`sample 0 "000`, `": audio: `, `sample 1 "001`, `": image: `, `sample 2 "002`, "audio: "} {
				if !strings.Contains(last, want) {
					t.Errorf("the messages do not say %q:\n%s", want, last)
				}
			}
			must(l.Release())
		})
	}
}

// Samples of several parts come out of every cache as they went in: encoded ones, rows in memory, rows in a file.
func TestCachesKeepSamplesOfSeveralParts(t *testing.T) {
	for cache, used := range map[string]func(s SourceStats) uint64{
		"{dir: %s}":                        func(s SourceStats) uint64 { return s.Cache.Hits },
		"{rows_bytes: 1MiB}":               func(s SourceStats) uint64 { return s.Rows.Hits },
		"{rows_bytes: 1MiB, rows_dir: %s}": func(s SourceStats) uint64 { return s.Rows.Hits },
	} {
		for place := range places {
			t.Run(place, func(t *testing.T) {
				cache := cache
				if strings.Contains(cache, "%s") {
					cache = fmt.Sprintf(cache, t.TempDir())
				}
				r := start(t, describeTalkies(t, place, talkies(t, 6), "batch: 3\norder: {epochs: 3, seed: 1}\nring: {hash: xxh3}\ncache: "+cache+"\n"), nil)
				reader := r.attach(shm.AttachOptions{})
				for came := 0; came < 18; {
					l, err := reader.Acquire(testContext(t))
					if err == shm.EndEpoch {
						continue
					}
					if err != nil {
						t.Fatal(err, r.Stats().Rings[0].Bad)
					}
					for row, one := range talkiesIn(l) {
						if i := int(batch.Int64s(l.Tensor(indexTensor))[row]); !one.is(i) {
							t.Errorf("%s: epoch %d: sample %d: got %+v", cache, l.Epoch, i, one)
						}
					}
					came += l.Rows
					must(l.Release())
				}
				if hits := used(r.Stats().Rings[0].Source); hits == 0 {
					t.Errorf("%s: nothing came out of the cache", cache)
				}
			})
		}
	}
}

// What a dead worker of a stage left of a batch of several media is decoded again in all of them; and an engine that begins at a step
// makes the batch of that step with the same hash.
func TestBatchesOfSeveralMediaAreMadeAgain(t *testing.T) {
	leavesNothing(t)
	files := talkies(t, 8)
	text := "batch: 4\norder: {epochs: 1, seed: 3}\nring: {hash: xxh3, groups: [{name: augment, kind: stage}, {name: train}]}\n"
	r := startAgain(t, describeTalkies(t, "tar", files, text), nil)
	spoiler := r.attach(shm.AttachOptions{Group: "augment"})
	l, err := spoiler.Acquire(testContext(t))
	must(err)
	for i := range 3 {
		clear(l.Tensor(firstSide + i))
	}
	clear(l.Tensor(sampleTensor))
	must(spoiler.Close())
	worker := r.attach(shm.AttachOptions{Group: "augment"})
	train := r.attach(shm.AttachOptions{Group: "train"})
	for passed := 0; passed < 2; { // in whatever order: one may be ready while the other is made again
		if take(t, worker) != nil {
			passed++
		}
	}
	hashes := map[uint64]uint64{}
	for range 2 {
		l, err := train.Acquire(testContext(t))
		must(err)
		for row, one := range talkiesIn(l) {
			if i := int(batch.Int64s(l.Tensor(indexTensor))[row]); !one.is(i) {
				t.Errorf("sample %d: got %+v", i, one)
			}
		}
		hashes[l.Step] = l.Hash
		must(l.Release())
	}
	must(r.end())
	again := startAgain(t, describeTalkies(t, "folder", files, "batch: 4\norder: {epochs: 1, seed: 3}\nring: {hash: xxh3}\n"), &Options{Step: 1})
	second, err := again.attach(shm.AttachOptions{}).Acquire(testContext(t))
	must(err)
	if second.Hash != hashes[1] || second.Hash == hashes[0] {
		t.Errorf("step 1: hash %x, want %x", second.Hash, hashes[1])
	}
	must(second.Release())
}

// Two fields of one kind have names of their own, each its own part, and what is random is drawn alike for both: a picture and its
// mask are cropped and flipped together, two pictures have the same colours.
func TestFieldsOfOneKindAreCroppedTogether(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	var files []file
	for i := range 4 {
		noise := noisy(t, i)
		files = append(files, file{fmt.Sprintf("%d.left.png", i), noise}, file{fmt.Sprintf("%d.right.png", i), noise})
	}
	source, _, _ := strings.Cut(places["tar"](t, dir, files), ", columns")
	random := "transform: [random_resized_crop: 16, horizontal_flip: 0.5, vertical_flip: 0.5, random_rotation: 20, random_affine: {degrees: 9, translate: [0.1, 0.2]}, rand_augment: 9, " +
		"color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}, grayscale: 0.2, gaussian_blur: 5, equalize: 0.3, random_erasing: 0.3]"
	text := fmt.Sprintf("name: %s\nsource: %s}\nbatch: 4\nfields:\n  left: {image: {from: left.png, %s}}\n  right: {image: {from: right.png, dtype: f32, layout: NCHW, %s}}\n",
		testName(), source, random, random)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, s, nil)
	reader := r.attach(shm.AttachOptions{})
	var names []string
	for _, record := range reader.Schema() {
		name, _, _ := strings.Cut(string(record.Name[:]), "\x00")
		names = append(names, name)
	}
	if fmt.Sprint(names) != "[left index key status label right]" {
		t.Fatal(names)
	}
	l, err := reader.Acquire(testContext(t))
	must(err)
	left, right := l.Tensor(sampleTensor), l.Tensor(firstSide)
	for i := range 4 * 16 * 16 {
		row, pixel := i/256, i%256
		for c := range 3 {
			got := math.Float32frombits(binary.LittleEndian.Uint32(right[4*(row*768+c*256+pixel):]))
			if want := left[row*768+pixel*3+c]; byte(got*255+0.5) != want {
				t.Fatalf("row %d, pixel %d, channel %d: right %v, left %d", row, pixel, c, got*255, want)
			}
		}
	}
	must(l.Release())
}

// A field with draws of its own is another view of the sample: the one that its seed, XOR FNV-1a of its name, gives, whatever other fields
// there are. The others are what they would be without it.
func TestFieldsWithDrawsOfTheirOwn(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	var files []file
	for i := range 4 {
		files = append(files, file{fmt.Sprintf("%d.png", i), noisy(t, i)})
	}
	source, _, _ := strings.Cut(places["tar"](t, dir, files), ", columns")
	const picture = "image: {from: png, transform: [random_resized_crop: 16, horizontal_flip: 0.5, color_jitter: {brightness: 0.4}]}"
	views := func(seed uint64, fields ...string) map[string]string {
		text := fmt.Sprintf("name: %s%d\nsource: %s}\nbatch: 4\norder: {seed: %d, shuffle: false}\nfields:\n", testName(), len(fields), source, seed)
		for _, f := range fields {
			name, own, _ := strings.Cut(f, " ")
			text += fmt.Sprintf("  %s: {%s%s}\n", name, picture, own)
		}
		s, err := spec.Parse([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		t.Run(fmt.Sprint(seed, fields), func(t *testing.T) {
			l, err := start(t, s, nil).attach(shm.AttachOptions{}).Acquire(testContext(t))
			must(err)
			for k, f := range fields {
				name, _, _ := strings.Cut(f, " ")
				all[name] = string(l.Tensor(fieldTensor(k)))
			}
			must(l.Release())
		})
		return all
	}
	got := views(7, "first", "second , draw: own", "third , draw: own", "fourth , draw: alike")
	if got["first"] != got["fourth"] || got["first"] == got["second"] || got["second"] == got["third"] || got["first"] == got["third"] {
		t.Error("views that should be alike differ, or others are alike")
	}
	if alone := views(7, "first"); alone["first"] != got["first"] {
		t.Error("the first field is another beside those with draws of their own")
	}
	if two := views(7, "first", "third , draw: own"); two["third"] != got["third"] {
		t.Error("the third field is another without the second")
	}
	if by := views(7^0xa49985ef4cee20bd, "first"); by["first"] != got["second"] {
		t.Errorf("the second field is not drawn by the seed and its name, %#x", ownDraws("second"))
	}
}

// Pictures, videos and sounds may be all in one sample, and a sound may be of the video's own file.
func TestPictureVideoAndSoundInOneSample(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	var files []file
	for i := range 3 {
		files = append(files, file{fmt.Sprintf("%d.jpg", i), picture(t, grey(i), 24)}, file{fmt.Sprintf("%d.wav", i), wav(i + 1)}, file{fmt.Sprintf("%d.y4m", i), y4m(i + 2)})
	}
	source, _, _ := strings.Cut(places["tar"](t, dir, files), ", columns")
	text := fmt.Sprintf("name: %s\nsource: %s}\nbatch: 3\norder: {shuffle: false}\nimage: {transform: [resize: [8, 8]]}\n"+
		"video: {frames: 6, select: {kind: all}, shape: ragged, transform: [resize: [4, 4]]}\naudio: {rate: 8000, length: 8, select: [0], shape: padded}\n", testName(), source)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	leavesNothing(t)
	e, err := New(s, nil)
	if err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	l, err := serve(t, e).attach(shm.AttachOptions{}).Acquire(testContext(t))
	must(err)
	// image, index, key, status, label, video, frames, pts, duration, audio, length
	got := fmt.Sprint(l.Shape(sampleTensor), l.Shape(firstSide), batch.Int64s(l.Tensor(firstSide+1)), l.Shape(firstSide+2), l.Shape(firstSide+4), batch.Int64s(l.Tensor(firstSide+5)))
	if want := "[3 8 8 3] [432] [2 3 4] [9] [3 1 3] [1 2 3]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	must(l.Release())
}

// noisy is a PNG whose pixels differ.
func noisy(t testing.TB, seed int) []byte {
	m := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	chance := rand.New(rand.NewPCG(uint64(seed), 1))
	for k := range m.Pix {
		m.Pix[k] = byte(chance.IntN(256))
		if k%4 == 3 {
			m.Pix[k] = 255
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Profile runs the stages alone on samples of several media, too.
func TestProfileOfSeveralMedia(t *testing.T) {
	all, err := Profile(testContext(t), describeTalkies(t, "tar", talkies(t, 5), "limits: {cpus: 1, fetch: 1}\n"), 20*time.Millisecond, nil)
	must(err)
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.Stage] = true
		if s.Failures > 0 {
			t.Errorf("%+v", s)
		}
	}
	if !seen["fetch"] || !seen["decode"] {
		t.Errorf("got %+v", all)
	}
}
