package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

// A catalogue is the index.json of a data set of MDS: it lists the shards beside it, or in directories below.
const (
	catalogueName     = "index.json"
	maxCatalogueBytes = 256 << 20
)

// listedShard is what a catalogue says of a shard.
type listedShard struct {
	bytes, samples int64
	packed         packedShard
}

// catalogueEntry is a shard as the catalogue has it.
type catalogueEntry struct {
	Format      string        `json:"format"`
	Samples     int64         `json:"samples"`
	Compression string        `json:"compression"` // with a level behind a colon
	Raw         catalogueFile `json:"raw_data"`
	Zip         catalogueFile `json:"zip_data"`
}

type catalogueFile struct {
	Name  string `json:"basename"`
	Bytes int64  `json:"bytes"`
}

// catalogueOf is the catalogue that a name means: its own, or that of a directory; "": the name is a shard's.
func catalogueOf(name string) string {
	if store.IsURL(name) {
		path, query := parted(name)
		switch path = strings.TrimSuffix(path, "/"); {
		case strings.HasSuffix(path, "/"+catalogueName):
			return path + query
		case strings.HasSuffix(strings.TrimSuffix(name, query), "/"):
			return path + "/" + catalogueName + query
		}
		return ""
	}
	if filepath.Base(name) == catalogueName {
		return name
	}
	if filepath.Ext(name) == mdsEnding { // spares a look at each of many
		return ""
	}
	inside := filepath.Join(name, catalogueName)
	if st, err := os.Stat(inside); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return inside
}

// CatalogueFormat is the format of the shards that the index.json of a local directory lists, or the one of that name: MDS. Of a URL that names one it is
// not asked for, and is "index.json"; "" of anything else.
func CatalogueFormat(path string) string {
	name := catalogueOf(path)
	if store.IsURL(path) && baseName(path) == catalogueName {
		return catalogueName
	}
	if name == "" || store.IsURL(path) {
		return ""
	}
	f, err := os.OpenFile(name, openFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 64 << 10
	head, err := io.ReadAll(io.LimitReader(f, most))
	if err == nil && bytes.Contains(head, []byte(`"shards"`)) && bytes.Contains(head, []byte(`"raw_data"`)) {
		return "MDS"
	}
	return ""
}

// written writes catalogues among names of shards out.
func (c *ShardsConfig) written(ctx context.Context, names []string) (all []string, err error) {
	for _, name := range names {
		c.Progress.Step()
		catalogue := catalogueOf(name)
		if catalogue == "" {
			all = append(all, name)
			continue
		}
		if all, err = c.appendCatalogue(ctx, all, catalogue); err != nil {
			return nil, fmt.Errorf("%q: %w", store.Shown(catalogue), err)
		}
	}
	return all, nil
}

// appendCatalogue appends the shards that a catalogue lists.
func (c *ShardsConfig) appendCatalogue(ctx context.Context, names []string, catalogue string) ([]string, error) {
	text, err := readFile(ctx, catalogue, maxCatalogueBytes, c.Store, c.Progress)
	if err != nil {
		return nil, fileError(catalogue, err)
	}
	dir, query := filepath.Dir(catalogue), ""
	if store.IsURL(catalogue) {
		dir, query = parted(catalogue)
		dir = strings.TrimSuffix(strings.TrimSuffix(dir, "/"), catalogueName)
	}
	return names, eachListed(text, func(e *catalogueEntry) error {
		name, packed, err := e.files(dir, query)
		if err != nil {
			return err
		}
		if len(names) == maxShards {
			return fmt.Errorf("got more than %d shards", maxShards)
		}
		names = append(names, name)
		c.said[name] = listedShard{e.Raw.Bytes, e.Samples, packed}
		return nil
	})
}

// eachListed calls take with every shard of a catalogue.
func eachListed(text []byte, take func(e *catalogueEntry) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := wantToken(d, json.Delim('{')); err != nil {
		return err
	}
	found := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return noCatalogue(err)
		}
		if key != "shards" {
			var other json.RawMessage
			if err := d.Decode(&other); err != nil {
				return noCatalogue(err)
			}
			continue
		}
		if err := wantToken(d, json.Delim('[')); err != nil {
			return err
		}
		found = true
		for k := 0; d.More(); k++ {
			var e catalogueEntry
			err := d.Decode(&e)
			if err == nil {
				err = take(&e)
			} else {
				err = noCatalogue(err)
			}
			if err != nil {
				return fmt.Errorf("shards[%d]: %w", k, err)
			}
		}
		if err := wantToken(d, json.Delim(']')); err != nil {
			return err
		}
	}
	if err := wantToken(d, json.Delim('}')); err != nil {
		return err
	}
	if !found {
		return errors.New("it lists no shards, as an index.json of MDS does")
	}
	return nil
}

func wantToken(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		err = fmt.Errorf("got %v, want %v", got, want)
	}
	return noCatalogue(err)
}

// noCatalogue says of an error what was being read.
func noCatalogue(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is cut off")
	}
	return fmt.Errorf("no index.json of MDS, or damaged: %w", err)
}

// files are where the shard lies whose catalogue is in a directory, and where its compressed form, if that is all there is.
func (e *catalogueEntry) files(dir, query string) (name string, packed packedShard, err error) {
	switch {
	case e.Format != "mds":
		return "", packed, fmt.Errorf("got the format %.20q, want mds; have a program of yours bring its samples, or write them into tar shards once", e.Format)
	case e.Samples < 0 || e.Raw.Bytes < 0 || e.Zip.Bytes < 0:
		return "", packed, fmt.Errorf("got %d samples in %d bytes, and %d compressed", e.Samples, e.Raw.Bytes, e.Zip.Bytes)
	}
	if name, err = e.Raw.within(dir, query); err != nil || e.Zip.Name == "" {
		return name, packed, err
	}
	if !store.IsURL(dir) && unix.Access(name, unix.F_OK) == nil { // it was unpacked beside, as Streaming does it
		return name, packed, nil
	}
	packed.bytes = e.Zip.Bytes
	packed.by, _, _ = strings.Cut(e.Compression, ":")
	if unpackers[packed.by] == nil {
		return "", packed, fmt.Errorf("got the compression %.20q, want zstd, gz, bz2, br or snappy; unpack its files beside themselves", packed.by)
	}
	packed.name, err = e.Zip.within(dir, query)
	return name, packed, err
}

// within is where a file of a catalogue in a directory lies.
func (f *catalogueFile) within(dir, query string) (string, error) {
	clean, err := checkMember([]byte(f.Name))
	if err != nil {
		return "", err
	}
	if store.IsURL(dir) {
		return dir + string(clean) + query, nil
	}
	return filepath.Join(dir, filepath.FromSlash(string(clean))), nil
}

// asListed refuses a shard that is not as its catalogue says.
func (c *ShardsConfig) asListed(sh *shard) error {
	said, ok := c.said[sh.name]
	switch {
	case !ok:
		return nil
	case sh.version.size != said.bytes:
		return fmt.Errorf("got %d bytes, want %d, as %s says; write or copy it again", sh.version.size, said.bytes, catalogueName)
	case sh.index != nil && sh.index.n != said.samples:
		return fmt.Errorf("got %d samples, want %d, as %s says; write or copy it again", sh.index.n, said.samples, catalogueName)
	}
	return nil
}
