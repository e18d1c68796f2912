package source

import (
	"archive/tar"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// benchSamples is how many pictures of 110 KB, the mean of ImageNet, the benchmarks read in a random order.
const benchSamples = 200

func benchRead(b *testing.B, s Source) {
	b.Helper()
	var buf Buffer
	order := rand.New(rand.NewPCG(1, 2)).Perm(int(s.Len()))
	b.ResetTimer()
	for n := range b.N {
		i := int64(order[n%len(order)])
		if p, ok := s.(Planned); ok {
			p.Ahead([]int64{i})
		}
		if err := s.Read(background, i, &buf); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(buf.Bytes())))
	}
}

func benchParts() (parts []part) {
	for i := range benchSamples {
		parts = append(parts, part{fmt.Sprintf("%05d.jpg", i), strings.Repeat("x", 110<<10)}, part{fmt.Sprintf("%05d.cls", i), "7"})
	}
	return parts
}

// Reading from the page cache: a folder, a tar archive, an archive behind a server on loopback, and the cache before it.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	for _, p := range benchParts() {
		if strings.HasSuffix(p.name, ".jpg") {
			write(b, filepath.Join(dir, "folder", p.name), p.content)
		}
	}
	archive := string(tarOf(b, tar.FormatGNU, benchParts()...))
	write(b, dir+"/s.tar", archive)
	c := ShardsConfig{Shards: []string{dir + "/s.tar"}}
	b.Run("folder", func(b *testing.B) { benchRead(b, openF(b, FolderConfig{Dir: dir + "/folder"})) })
	b.Run("tar", func(b *testing.B) { benchRead(b, openS(b, c)) })
	c.Shards, c.Store = []string{serveObjects(b, map[string]string{"/s.tar": archive}).URL + "/s.tar"}, storeClient(b, store.Options{})
	b.Run("http", func(b *testing.B) { benchRead(b, openS(b, c)) })
	b.Run("cache", func(b *testing.B) {
		s, err := openK(b, CacheConfig{Dir: dir + "/cache"}).Wrap(openS(b, c))
		if err != nil {
			b.Fatal(err)
		}
		var buf Buffer
		for i := range s.Len() {
			if err := s.Read(background, i, &buf); err != nil {
				b.Fatal(err)
			}
		}
		benchRead(b, s)
	})
}

// The same ranges from a server on loopback, several at a time: with a plain loop of GETs, and with a store's client, which retries,
// compares versions and may ask twice.
func BenchmarkParallelRanges(b *testing.B) {
	const size = 110 << 10
	o := serveObjects(b, map[string]string{"/o": strings.Repeat("x", benchSamples*size)})
	header := func(n uint64) string { at := n % benchSamples * size; return fmt.Sprintf("bytes=%d-%d", at, at+size-1) }
	parallel := func(b *testing.B, get func(n uint64, p []byte) error) {
		var next atomic.Uint64
		b.SetBytes(size)
		b.SetParallelism(4)
		b.RunParallel(func(pb *testing.PB) {
			for p := make([]byte, size); pb.Next(); {
				if err := get(next.Add(1), p); err != nil {
					b.Error(err)
				}
			}
		})
	}
	plain := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer plain.CloseIdleConnections()
	b.Run("plain", func(b *testing.B) {
		parallel(b, func(n uint64, p []byte) error {
			r, err := http.NewRequest(http.MethodGet, o.URL+"/o", nil)
			if err != nil {
				return err
			}
			r.Header.Set("Range", header(n))
			a, err := plain.Do(r)
			if err != nil {
				return err
			}
			defer a.Body.Close()
			_, err = io.ReadFull(a.Body, p)
			return err
		})
	})
	client := storeClient(b, store.Options{})
	object, err := client.Stat(background, o.URL+"/o")
	must(b, err)
	b.Run("store", func(b *testing.B) {
		parallel(b, func(n uint64, p []byte) error {
			return client.ReadAt(background, object, p, int64(n%benchSamples*size))
		})
	})
}

// Opening 10 million samples in 1,000 shards whose indexes are kept: files of the right size, and indexes of ours.
func BenchmarkOpenTenMillion(b *testing.B) {
	const nShards, perShard = 1000, 10000
	dir, kept := b.TempDir(), b.TempDir()
	build := newIndexBuilder()
	none := func(int64, int) ([]byte, error) { return []byte("7"), nil }
	for i := range perShard {
		at := int64(i) * (112 << 10)
		for k, name := range []string{"jpg", "cls"} {
			if err := build.add(fmt.Appendf(nil, "%08d.%s", i, name), at+int64(k)<<16, 1, none); err != nil {
				b.Fatal(err)
			}
		}
	}
	for n := range nShards {
		path := fmt.Sprintf("%s/s-%04d.tar", dir, n)
		write(b, path, "")
		if err := os.Truncate(path, perShard*(112<<10)); err != nil {
			b.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			b.Fatal(err)
		}
		sum := xxh3.HashString128(path).Bytes()
		if err := writeFile(filepath.Join(kept, hex.EncodeToString(sum[:])+indexEnding), build.encode(versionOf(&st))); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		s, err := OpenShards(background, ShardsConfig{Shards: []string{dir + "/s-{0000..0999}.tar"}, IndexDir: kept})
		if err != nil || s.Len() != nShards*perShard || len(s.(*shards).notes) > 0 {
			b.Fatal(err, s.(*shards).notes)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// Opening 200 Parquet files with labels and captions, in a store that takes 50 ms to answer: for the first time, and again.
func BenchmarkOpenParquetOfStore(b *testing.B) {
	const nFiles = 200
	dir, data := b.TempDir(), map[string]string{}
	for k := range nFiles {
		file := filepath.Join(dir, "x.parquet")
		writeParquet(b, file, pictureRows(100, 300), 100)
		text, err := os.ReadFile(file)
		must(b, err)
		data[fmt.Sprintf("/%03d.parquet", k)] = string(text)
	}
	o := serveObjects(b, data)
	o.fault = func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(50 * time.Millisecond)
		return false
	}
	c := ShardsConfig{Shards: []string{o.URL + "/{000..199}.parquet"}, Columns: []Column{{Name: "caption"}}, Store: storeClient(b, store.Options{})}
	open := func(b *testing.B) {
		s, err := OpenParquet(background, c)
		must(b, err)
		if s.Len() != nFiles*200 {
			b.Fatal(s.Len())
		}
		must(b, s.Close())
	}
	b.Run("first", func(b *testing.B) {
		for range b.N {
			c.IndexDir = b.TempDir()
			open(b)
		}
	})
	b.Run("again", func(b *testing.B) {
		c.IndexDir = b.TempDir()
		open(b)
		b.ResetTimer()
		for range b.N {
			open(b)
		}
	})
}

// Records of a picture of 110 KB from the page cache: the reading with the check of their data, and that check alone.
func BenchmarkReadRecords(b *testing.B) {
	var all []byte
	for i := range int64(benchSamples) {
		all = append(all, recordOf(example(feature("image", strings.Repeat("x", 110<<10)), feature("label", []int64{i})))...)
	}
	file := b.TempDir() + "/x.tfrecord"
	write(b, file, string(all))
	b.Run("read", func(b *testing.B) {
		benchRead(b, openS(b, ShardsConfig{Shards: []string{file}, IndexDir: b.TempDir()}))
	})
	record := all[recordHead : recordHead+110<<10]
	b.Run("check", func(b *testing.B) {
		b.SetBytes(int64(len(record)))
		for range b.N {
			_ = recordSum(record)
		}
	})
	large := make([]byte, 64<<20)
	b.Run("check of what no cache holds", func(b *testing.B) {
		b.SetBytes(int64(len(large)))
		for range b.N {
			_ = recordSum(large)
		}
	})
}

// Lists of 1,024 ids, in a random order, held in memory and out of a file that the page cache holds.
func BenchmarkReadListsOfParquet(b *testing.B) {
	const nRows = 8192
	rows := make([]tokens, nRows)
	for i := range rows {
		rows[i].Ids = make([]int64, 1024)
		for k := range rows[i].Ids {
			rows[i].Ids[k] = int64(i*k) % 50000
		}
	}
	file := filepath.Join(b.TempDir(), "t.parquet")
	writeParquet(b, file, rows, nRows)
	for name, held := range map[string]int64{"memory": 1 << 40, "disk": 0} {
		b.Run(name, func(b *testing.B) {
			before := listMemory
			defer func() { listMemory = before }()
			listMemory = held
			b.Setenv("SPDL_CACHE_DIR", b.TempDir())
			s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: []Column{listOf("ids", tensor.I32, 1024)}})
			must(b, err)
			defer s.Close()
			var buf Buffer
			order := rand.New(rand.NewPCG(1, 2)).Perm(nRows)
			b.SetBytes(4 * 1024)
			b.ResetTimer()
			for n := range b.N {
				must(b, s.Read(background, int64(order[n%nRows]), &buf))
			}
		})
	}
}

// BenchmarkReadArrays reads arrays of 64 KiB as columns alone, out of a folder and out of a tar archive.
func BenchmarkReadArrays(b *testing.B) {
	dir := b.TempDir()
	var parts []part
	for i := range 100 {
		array := npy(false, i, 4, 64, 128)
		write(b, fmt.Sprintf("%s/tree/%03d.npy", dir, i), array)
		parts = append(parts, part{fmt.Sprintf("%03d.npy", i), array})
	}
	write(b, dir+"/s.tar", string(tarOf(b, tar.FormatPAX, parts...)))
	columns := []Column{{Name: "npy", Type: Array}}
	b.Run("folder", func(b *testing.B) {
		benchRead(b, openF(b, FolderConfig{Dir: dir + "/tree", Media: none, Columns: columns}))
	})
	b.Run("tar", func(b *testing.B) {
		benchRead(b, openS(b, ShardsConfig{Shards: []string{dir + "/s.tar"}, Media: none, Columns: columns}))
	})
}
