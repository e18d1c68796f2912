package source

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/zeebo/xxh3"
)

// FuzzKeptParquet: what is kept of a Parquet file, even with a right check sum, gives bytes of the file's own length, or none.
func FuzzKeptParquet(f *testing.F) {
	object := objectReader{o: &store.Object{Size: 1000, ETag: "1"}}
	k := &keptReader{object: object, version: versionOfObject(object.o), path: f.TempDir() + "/kept"}
	k.keep(make([]byte, 100), 900)
	k.keep(make([]byte, 30), 4)
	_, err := k.save()
	must(f, err)
	data, err := os.ReadFile(k.path)
	must(f, err)
	f.Add(data)
	beyond := bytes.Clone(data)
	binary.LittleEndian.PutUint64(beyond[keptHead+16+30:], 980)
	f.Add(beyond)
	f.Fuzz(func(t *testing.T, data []byte) {
		k := &keptReader{object: object, version: versionOfObject(object.o)}
		if !k.parse(mendKept(data, k.version)) {
			return
		}
		all := 0
		for _, s := range k.known {
			if all += len(s.data); s.from < 0 || s.from+int64(len(s.data)) > k.version.size {
				t.Fatalf("%d bytes from %d on, of %d", len(s.data), s.from, k.version.size)
			}
		}
		if all != k.bytes || all > len(data) {
			t.Fatalf("%d bytes of %d, counted %d", all, len(data), k.bytes)
		}
		p := make([]byte, 7)
		for off := int64(0); off < k.version.size; off += 3 {
			if n := min(int64(len(p)), k.version.size-off); !k.find(p[:n], off) {
				continue // the object would be asked
			}
			if n, err := k.ReadAt(p, off); n == 0 || err != nil && err != io.EOF {
				t.Fatalf("at %d: %d bytes, %v", off, n, err)
			}
		}
	})
}

// mendKept makes the head right, so that the fuzzer gets beyond it.
func mendKept(data []byte, v version) []byte {
	le, head := binary.LittleEndian, len(keptMagic)
	if data = bytes.Clone(data); len(data) < keptHead {
		return data
	}
	copy(data, keptMagic)
	le.PutUint64(data[head+8:], uint64(v.size))
	le.PutUint64(data[head+16:], v.tag)
	le.PutUint64(data[head:], xxh3.Hash(data[head+8:]))
	return data
}

// FuzzKeptLists: no file of lists, even with right check sums, leads outside of its rows.
func FuzzKeptLists(f *testing.F) {
	const rows, columns = 3, 2
	var key [listKey]byte
	path := f.TempDir() + "/a" + listEnding
	w := listWriter{path: path, key: key, rows: rows}
	must(f, w.begin(f.TempDir(), 100))
	for range columns {
		w.column()
		must(f, w.take(&texts{bytes: []byte("abcdef"), ends: []int64{1, 1, 6}}))
	}
	l, err := w.finish()
	must(f, err)
	must(f, l.Close())
	data, err := os.ReadFile(path)
	must(f, err)
	f.Add(data)
	back := bytes.Clone(data)
	binary.LittleEndian.PutUint64(back[len(back)-8:], 3) // the last row of a column ends before it begins
	f.Add(back)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := t.TempDir() + "/a" + listEnding
		write(t, path, string(mendLists(data, rows, columns)))
		l := openListFile(path, key, rows, columns)
		if l == nil {
			return
		}
		defer l.Close()
		r := newRows([]Column{listOf("a", tensor.U8, 9), listOf("b", tensor.U8, 9)})
		for c := range columns {
			l.columns[c].file = l
			r.parts[c] = []listPart{l.columns[c]}
		}
		for c := range columns {
			for i := range int64(rows) {
				var b Buffer
				if err := r.list(c, i, &b); err == nil && len(b.Value(0)) > len(data) {
					t.Fatalf("column %d, row %d: %d bytes of a file of %d", c, i, len(b.Value(0)), len(data))
				}
			}
		}
	})
}

// mendLists makes the head right, so that the fuzzer gets beyond it.
func mendLists(data []byte, rows, columns int) []byte {
	le, size := binary.LittleEndian, 8*rows*columns
	if data = bytes.Clone(data); len(data) < listHead+size {
		return data
	}
	clear(data[copy(data, listMagic):][:listKey])
	numbers := data[len(listMagic)+listKey:]
	for k, v := range []uint64{uint64(rows), uint64(columns), uint64(len(data) - size), xxh3.Hash(data[len(data)-size:])} {
		le.PutUint64(numbers[8*k:], v)
	}
	le.PutUint64(numbers[4*8:], xxh3.Hash(data[:listHead-8]))
	return data
}

// FuzzTable: no table leads out of its directory or gives a label that is no class, in whatever form it is.
func FuzzTable(f *testing.F) {
	f.Add("path,label,text,n,ids\na.jpg,cat,\"x, \"\"y\"\"\r\nz\",3,\"[1, 2]\"\nb.jpg,dog,,-4.0e1,[]\n")
	f.Add("path\tlabel\ttext\tn\tids\r\na.jpg\tcat\tx\t3\t[1]\r\n\n")
	f.Add(`{"path": "a/b.jpg", "label": 3, "text": "\ud83d\ude00", "n": 1e3, "ids": [1, 2]}` + "\n\n" + `{"path": "c.jpg", "label": null, "n": 5, "ids": []}`)
	f.Add("\ufeffpath,label,text,n,ids\n../a.jpg,1,,1,[]\n")
	columns := []Column{{Name: "text"}, {Name: "n", Type: Int64}, listOf("ids", tensor.I32, 3)}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range []string{"t.csv", "t.tsv", "t.jsonl"} {
			for _, names := range []bool{false, true} {
				file := dir + "/" + form
				write(t, file, text)
				s, err := OpenList(ListConfig{File: file, Heading: true, LabelNames: names, Columns: columns})
				if err != nil {
					continue
				}
				var b Buffer
				for i := range s.Len() {
					if key := s.Key(i, nil); len(key) == 0 || len(key) >= maxPath || key[0] == '/' || hasDotDot(key) || bytes.ContainsAny(key, "\x00\t\n") {
						t.Errorf("%s: sample %d: key %q", form, i, key)
					}
					if label := s.Label(i); names && (label < -1 || label >= int64(len(s.Classes()))) {
						t.Errorf("%s: sample %d: label %d of %d classes", form, i, label, len(s.Classes()))
					}
					if err := s.Read(background, i, &b); err == nil {
						t.Errorf("%s: sample %d: read, where there is no file", form, i)
					}
				}
				must(t, s.Close())
			}
		}
	})
}
