package engine

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// Pictures that the device decodes: the stand-in for nvJPEG decodes as the processor does, so every byte of a batch has to be the processor's.

// withJPEGs is withDevice, whose device decodes JPEGs.
func withJPEGs(t *testing.T, env ...string) {
	t.Helper()
	withDevice(t, env...)
	t.Setenv("SPDL_NVJPEG_LIBRARY", filepath.Join(toolsDir, "cuda", "libnvjpeg.so"))
}

// coloured is a picture that shows where it was cut, and how it was turned.
func coloured(w, h, seed int) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetRGBA(x, y, color.RGBA{R: byte(x*255/w + seed), G: byte(y * 255 / h), B: byte((x*y + 31*seed) % 256), A: 255})
		}
	}
	return m
}

func colouredJPEG(t *testing.T, w int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, coloured(w, 60, 3), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// damagedJPEG has a marker within its scan.
func damagedJPEG(t *testing.T, w int) []byte {
	t.Helper()
	data := colouredJPEG(t, w)
	copy(data[len(data)/2:], bytes.Repeat([]byte{0xff, 0xc4}, 20))
	return data
}

// album is a folder of pictures of many sizes, of which others than plain JPEGs are some.
func album(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		var b bytes.Buffer
		m := coloured(17+i*13%90, 12+i*29%70, i)
		var err error
		switch i % 10 {
		case 4:
			err = png.Encode(&b, m)
		case 7:
			_, err = b.Write(picture(t, grey(i), 40)) // one component
		default:
			err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 70 + i%25})
		}
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, fmt.Sprintf("class%d", i%2), fmt.Sprintf("%03d.jpg", i)), b.Bytes())
	}
	return dir
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

const byNVJPEG = "device: {decode: nvjpeg, jpeg_bytes: 8192}\n"

// decodedBatch is what is compared of a batch.
type decodedBatch struct {
	rows          int
	index, status []byte
	image         []byte
}

// decodedBy takes an epoch: its pictures from the device, where it has some.
func decodedBy(t *testing.T, consumer *shm.Reader) (all []decodedBatch) {
	t.Helper()
	for {
		l, err := consumer.Acquire(testContext(t))
		if err == shm.EndEpoch {
			return all
		}
		if err != nil {
			t.Fatalf("after %d batches: %v", len(all), err)
		}
		b := decodedBatch{rows: l.Rows, index: slices.Clone(hostBytes(t, consumer, l, "index")), status: slices.Clone(hostBytes(t, consumer, l, "status"))}
		if l.DeviceSlot >= 0 {
			b.image = onDeviceBytes(t, consumer, l, "image@cuda")
		} else {
			b.image = slices.Clone(hostBytes(t, consumer, l, "image"))
		}
		all = append(all, b)
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// decodedHere is what the processor makes of a description, and what it counts.
func decodedHere(t *testing.T, s *spec.Spec) ([]decodedBatch, BadStats) {
	t.Helper()
	r := start(t, s, nil)
	all, bad := decodedBy(t, r.attach(shm.AttachOptions{})), r.Stats().Rings[0].Bad
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	return all, bad
}

func sameBatches(t *testing.T, got, want []decodedBatch) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d batches, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.rows != w.rows || !bytes.Equal(g.index, w.index) || !bytes.Equal(g.status, w.status) {
			t.Fatalf("batch %d: got %d rows of %v, status %v; want %d of %v, %v", i, g.rows, g.index, g.status, w.rows, w.index, w.status)
		}
		for row := range w.rows {
			n := len(w.image) / w.rows
			if !bytes.Equal(g.image[row*n:(row+1)*n], w.image[row*n:(row+1)*n]) {
				t.Errorf("batch %d row %d, sample %d: the device's pixels are not the processor's", i, row, w.index[8*row])
			}
		}
	}
}

func TestTheDeviceDecodesWhatTheProcessorDoes(t *testing.T) {
	dir := album(t, 60)
	for name, transform := range map[string]string{
		"random crops":  "[{random_resized_crop: {size: [24, 20], scale: [0.2, 1]}}, {horizontal_flip: 0.5}]",
		"bicubic":       "[{random_resized_crop: {size: 16, interpolation: bicubic}}, {horizontal_flip: 0.5}]",
		"anywhere":      "[{random_crop: {size: [24, 30], padding: 9}}, {horizontal_flip: 0.5}]",
		"of a resize":   "[{resize: 32}, {random_crop: 28}]",
		"short side":    "[{resize: 32}, {center_crop: 28}]",
		"a size":        "[{resize: [50, 9]}]",
		"zeros around":  "[{center_crop: [64, 48]}, {horizontal_flip: 1}]",
		"as large":      "[{resize: {size: 40, interpolation: bicubic}}, {center_crop: [24, 30]}]",
		"scaled up":     "[{resize: [120, 130]}]",
		"far too small": "[{resize: [2, 3]}]", // for the device: the processor's
	} {
		t.Run(name, func(t *testing.T) {
			withJPEGs(t, "FAKE_CUDA_LATENCY_US=50")
			more := "batch: 8\norder: {epochs: 1, shuffle: true, seed: 5}\n"
			img := "{transform: " + transform + "}"
			want, _ := decodedHere(t, describeImage(t, dir, img, more))
			r := start(t, describeImage(t, dir, img, more+byNVJPEG), nil)
			sameBatches(t, decodedBy(t, r.attach(shm.AttachOptions{})), want)
			if s := r.Stats().Rings[0]; s.Upload.Refused != 0 || s.Upload.Ended != 0 || s.Ring.Device.Uploaded != uint64(len(want)) || s.Upload.BatchBytes == 0 {
				t.Errorf("got %+v, %+v; want %d uploads by one uploader, none refused", s.Ring.Device, s.Upload, len(want))
			}
		})
	}
}

// What lies in the slot is a file where the device decodes it, and pixels where it does not.
func TestHostMemoryHasFilesForTheDevice(t *testing.T) {
	withJPEGs(t)
	dir := t.TempDir()
	var small, large, other bytes.Buffer
	for b, side := range map[*bytes.Buffer]int{&small: 20, &large: 300} {
		if err := jpeg.Encode(b, coloured(side, side, 1), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := png.Encode(&other, coloured(20, 20, 1)); err != nil {
		t.Fatal(err)
	}
	for i, b := range []*bytes.Buffer{&small, &large, &other} {
		writeFile(t, filepath.Join(dir, "a", fmt.Sprintf("%d.jpg", i)), b.Bytes())
	}
	if large.Len() <= 8192 {
		t.Fatalf("the large file has %d bytes, want more than there is room for", large.Len())
	}
	r := start(t, describe(t, dir, "batch: 3\norder: {epochs: 1, shuffle: false}\n"+byNVJPEG), nil)
	consumer := r.attach(shm.AttachOptions{})
	l, err := consumer.Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var values []byte
	var offsets []int64
	for i, tensor := range consumer.Schema() {
		if tensor.TensorName() == "image" {
			values, offsets = l.Tensor(i), slices.Clone(l.Offsets(i))
		}
	}
	const pixels = 8 * 8 * 3
	n := int64(small.Len())
	if want := []int64{0, n, n + pixels, n + 2*pixels}; !slices.Equal(offsets, want) {
		t.Fatalf("got offsets %v, want %v: a file, and pixels of what is too large for its room and of a PNG", offsets, want)
	}
	if !bytes.Equal(values[:n], small.Bytes()) {
		t.Error("the file is not as it was read")
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// One file that the device refuses costs its batch a second turn, and nothing else.
func TestFilesThatTheDeviceRefusesAreDecodedHere(t *testing.T) {
	dir := album(t, 60)
	more := "batch: 8\norder: {epochs: 1, shuffle: true, seed: 2}\n"
	want, _ := decodedHere(t, describe(t, dir, more))
	const width = 17 + 2*13 // of album's picture 2, and of nobody else
	for name, c := range map[string]struct {
		env     []string
		refused uint64
	}{
		"one":                    {[]string{fmt.Sprintf("FAKE_NVJPEG_REFUSES= %d ", width)}, 1},
		"in batches alone":       {[]string{fmt.Sprintf("FAKE_NVJPEG_HALTS= %d ", width)}, 0},
		"without a decoder":      {[]string{"FAKE_NVJPEG_HARDWARE=0"}, 0},
		"with a handle of none":  {[]string{"FAKE_NVJPEG_HARDWARE=none", "FAKE_CUDA_LATENCY_US=300"}, 0},
		"read in another way":    {[]string{fmt.Sprintf("FAKE_NVJPEG_MISTAKES= %d ", width)}, 1},
		"some after others":      {[]string{fmt.Sprintf("FAKE_NVJPEG_MISTAKES= %d ", width), "FAKE_NVJPEG_REFUSES= 56 82 "}, 3},
		"a batch, once":          {[]string{"FAKE_CUDA_FAULT=DecodeBatched:2:6"}, 0},
		"two of the third, once": {[]string{"FAKE_CUDA_FAULT=" + strings.Join([]string{"DecodeBatched:3:5", "Decode:1:5", "Decode:2:8"}, ",")}, 0},
		"a head, once":           {[]string{"FAKE_CUDA_FAULT=GetImageInfo:9:6"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			withJPEGs(t, c.env...)
			r := start(t, describe(t, dir, more+byNVJPEG), nil)
			sameBatches(t, decodedBy(t, r.attach(shm.AttachOptions{})), want)
			if s := r.Stats().Rings[0]; s.Upload.Refused != c.refused || s.Upload.Ended != 0 {
				t.Errorf("got %+v, want %d files refused by one uploader", s.Upload, c.refused)
			}
		})
	}
}

// A file that is damaged behind its head is the device's to find. What it finds is a bad sample as any other, under every policy.
func TestDamageThatTheDeviceFindsIsABadSample(t *testing.T) {
	const width = 77
	for _, policy := range []string{"skip", "mask", "substitute"} {
		t.Run(policy, func(t *testing.T) {
			dir := album(t, 24)
			writeFile(t, filepath.Join(dir, "class0", "010.jpg"), damagedJPEG(t, width))
			writeFile(t, filepath.Join(dir, "class1", "003.jpg"), []byte("no picture")) // a hole that the engine finds before it
			more := "batch: 6\norder: {epochs: 1, shuffle: false}\nbad_sample: {policy: " + policy + ", max_count: 10}\n"
			img := "{transform: [{resize: [64, 64]}]}"
			want, bad := decodedHere(t, describeImage(t, dir, img, more))
			withJPEGs(t, fmt.Sprintf("FAKE_NVJPEG_REFUSES= %d ", width))
			r := start(t, describeImage(t, dir, img, more+"device: {decode: nvjpeg, jpeg_bytes: 65536}\n"), nil)
			sameBatches(t, decodedBy(t, r.attach(shm.AttachOptions{})), want)
			got := r.Stats().Rings[0]
			if got.Bad.Total != 2 || fmt.Sprint(got.Bad.Causes) != fmt.Sprint(bad.Causes) || got.Upload.Refused != 1 {
				t.Errorf("got %+v and %+v; want the processor's %+v, and one file refused", got.Bad, got.Upload, bad)
			}
		})
	}
}

// A file that kills every uploader has its tries; then its batch is decoded here.
func TestAFileThatKillsUploadersIsDecodedHere(t *testing.T) {
	dir := album(t, 60)
	more := "batch: 4\norder: {epochs: 1, shuffle: false}\n"
	want, _ := decodedHere(t, describe(t, dir, more))
	for name, c := range map[string]struct {
		widths string
		files  int
	}{"one": {" 82 ", 1}, "neighbours": {" 82 44 ", 2}} { // of the second and the third batch
		t.Run(name, func(t *testing.T) { killsUploaders(t, describe(t, dir, more+byNVJPEG), c.widths, c.files, want) })
	}
}

func killsUploaders(t *testing.T, s *spec.Spec, widths string, files int, want []decodedBatch) {
	t.Helper()
	withJPEGs(t, "FAKE_NVJPEG_CRASHES="+widths, "FAKE_CUDA_LATENCY_US=10000") // the batch before is in flight when it does
	r := start(t, s, nil)
	consumer := r.attach(shm.AttachOptions{})
	inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
		if got := onDeviceBytes(t, consumer, l, "image@cuda"); got != nil && !bytes.Equal(got, want[l.Ticket].image) {
			t.Errorf("ticket %d: the device's pixels are not the processor's", l.Ticket)
		}
	}), len(want))
	if s := r.Stats().Rings[0]; s.Upload.Ended < 3 || s.Upload.Refused == 0 || s.Upload.Refused > 4*uint64(files) {
		t.Errorf("got %+v, want three uploaders that died of each of %d files, and their batches decoded here, no others", s.Upload, files)
	}
}

// A batch that is left without rows is no refused one, and what was refused once is not asked for again.
func TestARefusedFileThatIsDamagedIsJudgedOnce(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		data := colouredJPEG(t, 40+i)
		if i == 2 || i == 5 {
			data = damagedJPEG(t, 40+i)
		}
		writeFile(t, filepath.Join(dir, "a", fmt.Sprintf("%d.jpg", i)), data)
	}
	for _, rows := range []int{1, 3} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			withJPEGs(t, "FAKE_NVJPEG_REFUSES= 42 ", "FAKE_NVJPEG_MISTAKES= 45 ")
			more := fmt.Sprintf("batch: %d\norder: {epochs: 2, shuffle: false}\nbad_sample: {max_count: 4}\ndevice: {decode: nvjpeg, jpeg_bytes: 65536, slots: 2}\n", rows)
			r := start(t, describeImage(t, dir, "{transform: [{resize: [50, 50]}]}", more), nil)
			consumer := r.attach(shm.AttachOptions{})
			for range 2 {
				for i, b := range decodedBy(t, consumer) {
					if want := rows - map[bool]int{true: 1}[(i+1)*rows%3 == 0]; b.rows != want {
						t.Errorf("batch %d: got %d rows, want %d", i, b.rows, want)
					}
				}
			}
			if s := r.Stats().Rings[0]; s.Bad.Total != 4 || s.Upload.Refused != 2 || s.Upload.Ended != 0 {
				t.Errorf("got %+v, %+v; want two bad samples in each of two epochs, refused once", s.Bad, s.Upload)
			}
		})
	}
}

// A batch whose pixels do not fit at a time is decoded in groups; a device's own decoder writes at once, whatever its stream has to do yet.
func TestPicturesThatDoNotFitTogetherAreDecodedInTurn(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		m := image.NewYCbCr(image.Rect(0, 0, 5000, 4800), image.YCbCrSubsampleRatio420)
		for k := range m.Y {
			m.Y[k] = byte(50*i + k%5000/40)
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, nil); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "a", fmt.Sprintf("%d.jpg", i)), b.Bytes())
	}
	img, more := "{transform: [{resize: [320, 320]}]}", "batch: 3\norder: {epochs: 1, shuffle: false}\n"
	want, _ := decodedHere(t, describeImage(t, dir, img, more))
	for _, hardware := range []string{"1", "0"} {
		withJPEGs(t, "FAKE_CUDA_LATENCY_US=20000", "FAKE_NVJPEG_HARDWARE="+hardware)
		r := startAgain(t, describeImage(t, dir, img, more+"device: {decode: nvjpeg, jpeg_bytes: 4194304}\n"), nil)
		sameBatches(t, decodedBy(t, r.attach(shm.AttachOptions{})), want)
		if s := r.Stats().Rings[0]; s.Upload.Refused != 0 || s.Upload.Ended != 0 {
			t.Errorf("got %+v, want none refused", s.Upload)
		}
	}
}

// Killed at any step of a batch that it gives back, the uploader is started again, and every batch is the processor's.
func TestUploaderKilledOverRefusedFilesLosesNothing(t *testing.T) {
	dir := album(t, 60)
	more := "batch: 4\norder: {epochs: 1, shuffle: true, seed: 4}\n"
	want, _ := decodedHere(t, describe(t, dir, more))
	for _, point := range []string{"upload.refused:2", "upload.claimed:4", "upload.copying:6", "upload.recorded:3", "upload.complete:3", "upload.released:2"} {
		t.Run(point, func(t *testing.T) {
			withJPEGs(t, "SPDL_FAULT="+point+":kill", "FAKE_NVJPEG_REFUSES= 43 56 82 ") // the files 2, 3 and 5
			s := describe(t, dir, more+"device: {decode: nvjpeg, jpeg_bytes: 8192, slots: 2, restarts: 50}\n")
			r := start(t, s, nil)
			consumer := r.attach(shm.AttachOptions{})
			tickets := epochOnDevice(t, consumer, func(l *shm.Lease) {
				got := onDeviceBytes(t, consumer, l, "image@cuda")
				if got != nil && !bytes.Equal(got, want[l.Ticket].image) {
					t.Errorf("ticket %d: the device's pixels are not the processor's", l.Ticket)
				}
			})
			inOrder(t, tickets, len(want))
			if s := r.Stats().Rings[0]; s.Upload.Ended == 0 || s.Upload.Refused < 3 { // more where it was killed before anybody knew
				t.Errorf("got %+v, want uploaders that were killed and three files refused or more", s.Upload)
			}
		})
	}
}

func TestDamageThatTheDeviceFindsIsJudged(t *testing.T) {
	const width = 77
	dir := album(t, 24)
	writeFile(t, filepath.Join(dir, "class0", "010.jpg"), damagedJPEG(t, width))
	withJPEGs(t, fmt.Sprintf("FAKE_NVJPEG_REFUSES= %d ", width))
	r := start(t, describe(t, dir, "batch: 6\norder: {epochs: 1, shuffle: false}\nbad_sample: {policy: fail}\n"+byNVJPEG), nil)
	consumer := r.attach(shm.AttachOptions{})
	for {
		l, err := consumer.Acquire(testContext(t))
		if err != nil {
			if !strings.Contains(err.Error(), "010.jpg") {
				t.Fatalf("got %v, want the file's name", err)
			}
			return
		}
		if l.Ticket > 1 {
			t.Fatalf("got ticket %d behind the batch with the damaged file", l.Ticket)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADeviceWithoutNVJPEGIsNamed(t *testing.T) {
	withDevice(t)
	t.Setenv("SPDL_NVJPEG_LIBRARY", "/nonexistent/libnvjpeg.so")
	r := start(t, describe(t, folder(t, 8, nil), "batch: 4\norder: {epochs: 1}\n"+byNVJPEG), nil)
	consumer := r.attach(shm.AttachOptions{})
	if l, err := consumer.Acquire(testContext(t)); err == nil || !strings.Contains(err.Error(), "no nvJPEG") || !strings.Contains(err.Error(), "leave out decode") || strings.Contains(err.Error(), "otherwise") {
		t.Fatalf("got %v, %v; want an error that names nvJPEG and the remedy", l, err)
	}
}
