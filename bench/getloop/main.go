// Command getloop reads pictures from an S3 server as fast as it can, by itself or with core/source, and prints what it reached as a
// line of JSON. bench/store.py runs it.
//
//	getloop put   -endpoint URL -bucket B -dir DIR      upload a directory
//	getloop plain -endpoint URL -bucket B -dir DIR      a loop of GETs over presigned URLs that were made before the clock starts
//	getloop ours  -endpoint URL -bucket B -dir DIR      core/source, as the engine's fetch stage uses it
//	getloop serve -dir DIR                              a plain HTTP server that keeps connections; plain and ours use it without -bucket
//
// DIR is the directory that was uploaded: its .jpg files are read as objects, or the .jpg members of its .tar files by range. Both loops
// read the same bytes in the same order over as many connections, each into memory that is used again.
package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

const (
	region     = "us-east-1"
	signedFor  = time.Hour
	aheadBatch = 32 // samples that the engine plans at a time
)

type options struct {
	endpoint, bucket, dir string
	connections, passes   int
	shuffle               bool
	key, secret           string
}

// A job is one picture: an object, or a range of one.
type job struct {
	url       string // presigned
	off, size int64
	whole     bool
}

// A loop reads the picture of a place, with the memory of one of its connections, and says how long it is.
type loop interface {
	ahead(places []int64)
	read(place int64, connection int) (int64, error)
}

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("want put, plain, ours or serve"))
	}
	o := options{key: os.Getenv("AWS_ACCESS_KEY_ID"), secret: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	f := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	f.StringVar(&o.endpoint, "endpoint", "", "the server")
	f.StringVar(&o.bucket, "bucket", "", "its bucket")
	f.StringVar(&o.dir, "dir", "", "what was uploaded")
	f.IntVar(&o.connections, "connections", 16, "requests at a time")
	f.IntVar(&o.passes, "passes", 1, "how often everything is read")
	f.BoolVar(&o.shuffle, "shuffle", false, "read in a random order, else as the data lie")
	fail(f.Parse(os.Args[2:]))
	switch os.Args[1] {
	case "put":
		fail(o.put())
	case "plain":
		l, n, err := o.plain()
		fail(err)
		fail(o.measure(l, n))
	case "ours":
		l, n, err := o.ours()
		fail(err)
		fail(o.measure(l, n))
	case "serve":
		fail(o.serve())
	default:
		fail(fmt.Errorf("got %q, want put, plain, ours or serve", os.Args[1]))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "getloop:", err)
		os.Exit(1)
	}
}

// measure reads n pictures, passes times, and prints how fast.
func (o *options) measure(l loop, n int64) error {
	places := make([]int64, 0, n*int64(o.passes))
	r := rand.New(rand.NewPCG(1, 2))
	for range o.passes {
		from := len(places)
		for i := range n {
			places = append(places, i)
		}
		if o.shuffle {
			r.Shuffle(int(n), func(a, b int) { places[from+a], places[from+b] = places[from+b], places[from+a] })
		}
	}
	var bytes atomic.Int64
	began, used := time.Now(), cpu()
	err := o.run(l, places, &bytes)
	seconds, used := time.Since(began).Seconds(), cpu()-used
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"samples": float64(len(places)), "bytes": float64(bytes.Load()), "seconds": seconds, "samples_per_second": float64(len(places)) / seconds,
		"mib_per_second": float64(bytes.Load()) / seconds / (1 << 20), "cpu_seconds_per_1000": used / float64(len(places)) * 1000,
	})
}

func (o *options) run(l loop, places []int64, bytes *atomic.Int64) error {
	queue, errs := make(chan int64, o.connections), make(chan error, o.connections)
	var all sync.WaitGroup
	for c := range o.connections {
		all.Add(1)
		go func() {
			defer all.Done()
			for place := range queue {
				n, err := l.read(place, c)
				if err != nil {
					select {
					case errs <- fmt.Errorf("picture %d: %w", place, err):
					default:
					}
				}
				bytes.Add(n)
			}
		}()
	}
	for batch := range slices.Chunk(places, aheadBatch) {
		l.ahead(batch)
		for _, p := range batch {
			queue <- p
		}
	}
	close(queue)
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// cpu is the processor time of this process so far, in seconds.
func cpu() float64 {
	var u unix.Rusage
	fail(unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// -- core/source -----------------------------------------------------------------------------------

type ours struct {
	source  source.Source
	buffers []*source.Buffer
}

func (o *options) ours() (loop, int64, error) {
	client, err := store.New(store.Options{Endpoint: o.endpoint})
	if err != nil {
		return nil, 0, err
	}
	tars, err := filepath.Glob(filepath.Join(o.dir, "*.tar"))
	if err != nil {
		return nil, 0, err
	}
	var s source.Source
	if len(tars) > 0 {
		c := source.ShardsConfig{Store: client}
		for _, t := range tars {
			c.Shards = append(c.Shards, o.url()+"/"+filepath.Base(t))
		}
		s, err = source.OpenShards(context.Background(), c)
	} else {
		s, err = source.OpenFolder(source.FolderConfig{Dir: o.url(), Store: client})
	}
	if err != nil {
		return nil, 0, err
	}
	l := &ours{source: s}
	var pool source.Pool
	for range o.connections {
		l.buffers = append(l.buffers, pool.Get())
	}
	return l, s.Len(), nil
}

// url is where the data lie, as core/source names it.
func (o *options) url() string {
	if o.bucket == "" {
		return o.endpoint
	}
	return "s3://" + o.bucket
}

func (l *ours) ahead(places []int64) {
	if p, ok := l.source.(source.Planned); ok {
		p.Ahead(places)
	}
}

func (l *ours) read(place int64, connection int) (int64, error) {
	b := l.buffers[connection]
	err := l.source.Read(context.Background(), place, b)
	return int64(len(b.Bytes())), err
}

// -- a plain loop ----------------------------------------------------------------------------------

type plain struct {
	client *http.Client
	jobs   []job
	memory [][]byte // of each connection
}

func (o *options) plain() (loop, int64, error) {
	l := &plain{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.connections, DisableCompression: true}}}
	longest := int64(0)
	err := o.walk(func(path, key string, size int64) error {
		jobs, err := o.jobs(path, key, size)
		for _, j := range jobs {
			longest = max(longest, j.size)
		}
		l.jobs = append(l.jobs, jobs...)
		return err
	})
	for range o.connections {
		l.memory = append(l.memory, make([]byte, longest))
	}
	return l, int64(len(l.jobs)), err
}

// jobs are the pictures of a file.
func (o *options) jobs(path, key string, size int64) ([]job, error) {
	url, err := o.presign(key)
	if err != nil || strings.HasSuffix(path, ".jpg") {
		return []job{{url: url, size: size, whole: true}}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var jobs []job
	for archive := tar.NewReader(f); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return jobs, nil
		}
		if err != nil {
			return nil, err
		}
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(h.Name, ".jpg") {
			jobs = append(jobs, job{url: url, off: at, size: h.Size})
		}
	}
}

func (o *options) presign(key string) (string, error) {
	if o.bucket == "" {
		return o.endpoint + "/" + key, nil
	}
	r, err := http.NewRequest(http.MethodGet, o.endpoint+"/"+o.bucket+"/"+key, nil)
	if err != nil {
		return "", err
	}
	return signer.PreSignV4(*r, o.key, o.secret, "", region, int64(signedFor.Seconds())).URL.String(), nil
}

func (l *plain) ahead([]int64) {}

func (l *plain) read(place int64, connection int) (int64, error) {
	j := &l.jobs[place]
	r, err := http.NewRequest(http.MethodGet, j.url, nil)
	if err != nil {
		return 0, err
	}
	if !j.whole {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", j.off, j.off+j.size-1))
	}
	a, err := l.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusPartialContent {
		return 0, errors.New(a.Status)
	}
	n, err := io.ReadFull(a.Body, l.memory[connection][:j.size])
	return int64(n), err
}

// serve prints where it listens, and serves until it is killed.
func (o *options) serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return http.Serve(l, http.FileServer(http.Dir(o.dir)))
}

// -- upload ----------------------------------------------------------------------------------------

func (o *options) put() error {
	if err := o.send("", nil); err != nil {
		return err
	}
	return o.walk(func(path, key string, _ int64) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return o.send(key, data)
	})
}

// send makes an object, or the bucket.
func (o *options) send(key string, data []byte) error {
	r, err := http.NewRequest(http.MethodPut, o.endpoint+"/"+strings.TrimSuffix(o.bucket+"/"+key, "/"), strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	a, err := http.DefaultClient.Do(signer.SignV4(*r, o.key, o.secret, "", region))
	if err != nil {
		return err
	}
	defer a.Body.Close()
	_, err = io.Copy(io.Discard, a.Body)
	if a.StatusCode != http.StatusOK {
		err = fmt.Errorf("put %q: %s", key, a.Status)
	}
	return err
}

// walk calls each for the files of the directory, in the order of their keys.
func (o *options) walk(each func(path, key string, size int64) error) error {
	type file struct {
		path, key string
		size      int64
	}
	var files []file
	err := filepath.WalkDir(o.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jpg" && filepath.Ext(path) != ".tar" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		key, err := filepath.Rel(o.dir, path)
		files = append(files, file{path, filepath.ToSlash(key), info.Size()})
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.key, b.key) })
	for _, f := range files {
		if err := each(f.path, f.key, f.size); err != nil {
			return err
		}
	}
	return nil
}
