package array

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// numbers is an array's elements of 32 bits in the order of their indexes.
func numbers(t testing.TB, a *Array) (all []int32) {
	t.Helper()
	dst := make([]byte, len(a.Data))
	a.CopyTo(dst)
	for at := 0; at < len(dst); at += 4 {
		all = append(all, int32(binary.LittleEndian.Uint32(dst[at:])))
	}
	return all
}

var counted = []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}

// Whatever the order of indexes and bytes in the file, the copy has NumPy's elements row-major and little-endian.
func TestEveryOrderBecomesRowMajorLittleEndian(t *testing.T) {
	for name, dense := range map[string]bool{"c.npy": true, "fortran.npy": false, "big.npy": false, "big_fortran.npy": false, "version2.npy": true} {
		a, err := ParseNPY(file(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(a.Shape, tensor.Shape{2, 3, 4}) || a.DType != tensor.I32 || a.Dense() != dense || cap(a.Data) != len(a.Data) {
			t.Errorf("%s: got %+v", name, a)
		}
		if got := numbers(t, &a); !slices.Equal(got, counted) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestShapesAndTypesAreNumPys(t *testing.T) {
	for name, want := range map[string]struct {
		shape tensor.Shape
		dtype tensor.DType
		data  []byte
		bools bool
	}{
		"scalar.npy": {tensor.Shape{}, tensor.F64, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, false},
		"empty.npy":  {tensor.Shape{0, 3}, tensor.F32, []byte{}, false},
		"bool.npy":   {tensor.Shape{3}, tensor.U8, []byte{1, 0, 1}, true},
		"f16.npy":    {tensor.Shape{2}, tensor.F16, []byte{0, 0x38, 0, 0xc0}, false},
	} {
		a, err := ParseNPY(file(t, name))
		if err != nil || !slices.Equal(a.Shape, want.shape) || a.DType != want.dtype || !bytes.Equal(a.Data, want.data) || a.Bool != want.bools {
			t.Errorf("%s: got %+v, %v", name, a, err)
		}
	}
}

func TestTypesThatAreNoTensorsAreRefusedByName(t *testing.T) {
	for name, want := range map[string]string{"objects.npy": "objects", "complex.npy": "complex", "text.npy": "text", "structure.npy": "structure"} {
		if _, err := ParseNPY(file(t, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// headed is an .npy file with a header of one's own.
func headed(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint16([]byte(npyMagic+"\x01\x00"), uint16(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestDamagedHeadersAreRefused(t *testing.T) {
	good := "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
	if _, err := ParseNPY(headed(good, 24)); err != nil {
		t.Fatal(err)
	}
	if a, err := ParseNPY(headed(`{"shape":(2L,3L),"descr":"<f4","fortran_order":True}`, 30)); err != nil || len(a.Data) != 24 || !a.Fortran {
		t.Errorf("another order of keys, Python 2's numbers, bytes behind: got %+v, %v", a, err)
	}
	whole := headed(good, 24)
	for want, b := range map[string][]byte{
		"no .npy file":                nil,
		"want \"\\x93NUMPY\"":         []byte("PK\x03\x04 and so on"),
		"format version 9.0":          append([]byte(npyMagic+"\x09\x00"), whole[8:]...),
		"bytes of the header, want":   whole[:20],
		"at most 1048576":             append([]byte(npyMagic+"\x02\x00\xff\xff\xff\xff"), whole[10:]...),
		"truncated: got 23 bytes":     headed(good, 23),
		"want a dictionary":           headed("(1)", 0),
		"is there twice":              headed(strings.Replace(good, "'shape'", "'descr': '<f4', 'shape'", 1), 24),
		"want 'descr', 'fortran_orde": headed("{'descr': '<f4'}", 24),
		"got the key \"colour\"":      headed("{'colour': 3}", 24),
		"more after the dictionary":   headed(good+"x", 24),
		"want True or False":          headed(strings.Replace(good, "False", "0", 1), 24),
		"want a tuple":                headed(strings.Replace(good, "(2, 3)", "(-2, 3)", 1), 24),
		"more than 2^63-1":            headed(strings.Replace(good, "(2, 3)", "(4611686018427387904, 3)", 1), 24),
		"more than 32 dimensions":     headed(strings.Replace(good, "(2, 3)", "("+strings.Repeat("1,", 40)+")", 1), 24),
		"floats of 8 to 64 bits":      headed(strings.Replace(good, "<f4", "<f16", 1), 24),
		"descr: got \"f4\"":           headed(strings.Replace(good, "<f4", "f4", 1), 24),
	} {
		if _, err := ParseNPY(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A parse after the first takes no memory, so a reader of many arrays of one shape has none to give back.
func TestParseUsesItsShapeAgain(t *testing.T) {
	b := file(t, "c.npy")
	var a Array
	if err := a.Parse(b); err != nil {
		t.Fatal(err)
	}
	shape := &a.Shape[0]
	if err := a.Parse(b); err != nil || shape != &a.Shape[0] {
		t.Errorf("got another shape, %v", err)
	}
}

func TestArchiveHasItsArrays(t *testing.T) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		z, err := OpenNPZ(file(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range z.Names() {
			a, err := z.Array(member)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, member, err)
			}
			if slices.Equal(a.Shape, tensor.Shape{2, 3, 4}) {
				if got := numbers(t, &a); !slices.Equal(got, counted) {
					t.Errorf("%s: %s: got %v", name, member, got)
				}
			}
		}
		if z.Names()[0] != "a" || z.Names()[1] != "b" {
			t.Errorf("%s: got %v", name, z.Names())
		}
		if _, err := z.Array("q"); err == nil || !strings.Contains(err.Error(), `no member "q.npy"; there are a, b`) {
			t.Errorf("got %v", err)
		}
	}
}

// A stored array lies in the archive's own memory; a bit of it turned over is found.
func TestStoredMembersAreViewedAndCompared(t *testing.T) {
	b := file(t, "stored.npz")
	z, err := OpenNPZ(b)
	if err != nil {
		t.Fatal(err)
	}
	a, err := z.Array("a")
	if err != nil {
		t.Fatal(err)
	}
	a.Data[0] ^= 1
	if _, err := z.Array("a"); err == nil || !strings.Contains(err.Error(), "CRC-32") {
		t.Errorf("got %v", err)
	}
}

// zipped is an archive of one member that says whatever its header says.
func zipped(t testing.TB, change func(*zip.FileHeader), data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	h := &zip.FileHeader{Name: "a.npy", Method: zip.Deflate, CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))}
	change(h)
	m, err := w.CreateRaw(h)
	if err == nil {
		_, err = m.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestMembersThatLieAreRefused(t *testing.T) {
	for want, change := range map[string]func(*zip.FileHeader){
		"it is encrypted":      func(h *zip.FileHeader) { h.Flags |= encrypted },
		"method 12":            func(h *zip.FileHeader) { h.Method = 12 },
		"which cannot be":      func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 50 },
		"truncated: got":       func(h *zip.FileHeader) { h.Method, h.UncompressedSize64 = zip.Store, 1<<20 },
		"flate: corrupt input": func(*zip.FileHeader) {},
	} {
		z, err := OpenNPZ(zipped(t, change, []byte("\xff\xff\xff\xff\xff\xff\xff\xff")))
		if err == nil {
			_, err = z.Array("a")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := OpenNPZ([]byte("no zip")); err == nil {
		t.Error("took what is no archive")
	}
}

// Whatever the bytes, parsing and copying end without a panic, and what is viewed lies within them.
func FuzzNPY(f *testing.F) {
	for _, name := range []string{"c.npy", "big_fortran.npy", "scalar.npy", "empty.npy", "version2.npy", "objects.npy"} {
		f.Add(file(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseNPY(b)
		if err != nil {
			return
		}
		if n, err := a.Shape.Bytes(a.DType); err != nil || n != int64(len(a.Data)) || len(a.Data) > len(b) {
			t.Fatalf("%v of %v in %d bytes", a.Shape, a.DType, len(a.Data))
		}
		a.CopyTo(make([]byte, len(a.Data)))
	})
}

func FuzzNPZ(f *testing.F) {
	f.Add(file(f, "stored.npz"))
	f.Add(file(f, "deflated.npz"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		z, err := OpenNPZ(b)
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			if a, err := z.Array(name); err == nil {
				a.CopyTo(make([]byte, len(a.Data)))
			}
		}
	})
}
