// Package bucket serves a directory as a store that speaks S3, or Google Cloud Storage's XML API, to tests: whole objects, ranges and listings.
package bucket

import (
	"encoding/xml"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Bucket is a running one. It ends with its test.
type Bucket struct {
	URL      string       // of the store
	Listings atomic.Int64 // how many were asked for
}

type object struct {
	Key  string
	Size int64
	ETag string
}

// Serve serves a directory as a bucket of that name. Of others there is nothing.
func Serve(t testing.TB, name, dir string) *Bucket {
	t.Helper()
	b := &Bucket{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch key, is := strings.CutPrefix(r.URL.Path, "/"+name+"/"); {
		case is && key != "":
			w.Header().Set("ETag", `"1"`)
			http.ServeFile(w, r, filepath.Join(dir, key))
		case is || r.URL.Path == "/"+name:
			b.Listings.Add(1)
			_ = xml.NewEncoder(w).Encode(list(dir, r.URL.Query().Get("prefix"))) // who has gone needs none
		default:
			b.Listings.Add(1)
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.URL = server.URL
	return b
}

// list is a listing of the files below a directory whose keys begin so.
func list(dir, prefix string) any {
	var answer struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	_ = fs.WalkDir(os.DirFS(dir), ".", func(key string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(key, prefix) {
			return err
		}
		info, err := e.Info()
		if err == nil {
			answer.Contents = append(answer.Contents, object{key, info.Size(), `"1"`})
		}
		return err
	})
	return answer
}
