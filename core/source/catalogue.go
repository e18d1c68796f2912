package source

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

// A catalogue is the index.json of a data set of MDS or of litData, the state.json of one that Hugging Face's datasets has saved, or the split.yaml of one of Megatron-Energon: it lists the shards beside it,
// or in directories below.
const (
	CatalogueName     = "index.json"
	maxCatalogueBytes = 256 << 20
	maxConfigBytes    = 1 << 20 // of what it says of all shards, which takes many times that in memory
)

// IsListed tells the names of shards that a catalogue lists, whatever they are compressed by.
func IsListed(name string) bool {
	return strings.Contains(name, mdsEnding) || litDataFile.MatchString(name)
}

// listedShard is what a catalogue says of a shard.
type listedShard struct {
	bytes, samples int64
	packed         packedShard
	columns        *sampleColumns // of litData
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

// endsAsShard says that a name ends as those of shards do.
func endsAsShard(name string) bool {
	ending := filepath.Ext(name)
	return slices.Contains([]string{".tar", ".zip", ".parquet", mdsEnding, recEnding}, ending) || slices.Contains(arrowEndings, ending) || strings.HasPrefix(ending, ".tfrecord") || isArrayRecord(ending)
}

// catalogueOf is the catalogue that a name means: its own, or that of a directory, of which LMDB's is its file; "": the name is a shard's.
func catalogueOf(name string) string {
	if isEnergon(name) {
		return name
	}
	if store.IsURL(name) {
		path, query := parted(name)
		switch path = strings.TrimSuffix(path, "/"); {
		case strings.HasSuffix(path, "/"+CatalogueName), strings.HasSuffix(path, "/"+SavedName):
			return path + query
		case strings.HasSuffix(strings.TrimSuffix(name, query), "/"):
			return path + "/" + CatalogueName + query
		}
		return ""
	}
	catalogues := []string{CatalogueName, SavedName, savedSplits, lmdbName}
	if slices.Contains(catalogues, filepath.Base(name)) {
		return name
	}
	if endsAsShard(name) {
		return "" // spares a look at each of many
	}
	for _, catalogue := range slices.Concat(catalogues, energonNames) {
		inside := filepath.Join(name, catalogue)
		if st, err := os.Stat(inside); err == nil && st.Mode().IsRegular() {
			return inside
		}
	}
	return ""
}

// ListsShards reports whether a local directory, or a file, is a data set whose shards a catalogue lists.
func ListsShards(path string) bool {
	catalogue := catalogueOf(path)
	name := baseName(catalogue)
	return name == CatalogueName || name == SavedName || isEnergon(catalogue)
}

// CatalogueFormat is the format of the shards that the catalogue of a local directory lists, or the one of that name: MDS, litData, Arrow or Energon, or that it is LMDB's. Of a URL that names one it is
// not asked for, and is its name; "" of anything else.
func CatalogueFormat(path string) string {
	name := catalogueOf(path)
	switch {
	case filepath.Base(name) == lmdbName:
		return "LMDB"
	case isEnergon(name):
		return "Energon"
	case name == "", store.IsURL(path) && baseName(path) != CatalogueName && baseName(path) != SavedName: // a prefix may be a folder's
		return ""
	case store.IsURL(path):
		return baseName(path)
	}
	f, err := os.OpenFile(name, openFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 64 << 10
	head, err := io.ReadAll(io.LimitReader(f, most))
	has := func(key string) bool { return err == nil && bytes.Contains(head, []byte(`"`+key+`"`)) }
	switch {
	case has("shards") && has("raw_data"):
		return "MDS"
	case has("chunks") && has("chunk_bytes"):
		return "litData"
	case has(savedFiles):
		return "Arrow"
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
		if filepath.Base(catalogue) == lmdbName {
			all = append(all, catalogue)
			continue
		}
		if all, err = c.appendCatalogue(ctx, all, catalogue); err != nil {
			return nil, fmt.Errorf("%q: %w", store.Shown(catalogue), err)
		}
	}
	if c.Split != "" && !c.chose {
		return nil, lacking("split: got %q, and none of the shards is a data set that lists its splits (Megatron-Energon's, save_to_disk's); name the split's own files, such as train-*.tar", c.Split)
	}
	return all, nil
}

// appendCatalogue appends the shards that a catalogue lists.
func (c *ShardsConfig) appendCatalogue(ctx context.Context, names []string, catalogue string) ([]string, error) {
	most, energon := int64(maxCatalogueBytes), isEnergon(catalogue)
	if energon {
		most = maxEnergonBytes
	}
	text, err := readFile(ctx, catalogue, most, c.Store, c.Progress)
	if err != nil {
		return nil, fileError(catalogue, err)
	}
	dir, query := filepath.Dir(catalogue), ""
	if store.IsURL(catalogue) {
		dir, query = parted(catalogue)
		dir = strings.TrimSuffix(dir, "/")
		dir = dir[:strings.LastIndexByte(dir, '/')+1]
	}
	switch name := baseName(catalogue); {
	case energon:
		c.chose = true
		return appendEnergon(names, text, cmp.Or(c.Split, energonSplit), over(dir), query)
	case name == SavedName:
		return appendSaved(names, text, dir, query)
	case name == savedSplits:
		split, err := savedSplit(text, c.Split, dir)
		if err != nil {
			return nil, err
		}
		c.chose = true
		return c.appendCatalogue(ctx, names, split)
	}
	return c.appendListed(names, text, dir, query)
}

// appendListed appends the shards of a catalogue's text, which lie below a directory.
func (c *ShardsConfig) appendListed(names []string, text []byte, dir, query string) ([]string, error) {
	all, err := parseCatalogue(text)
	if err != nil {
		return nil, err
	}
	add := func(key string, k int, one *listedShard, name string, err error) error {
		if err == nil && len(names) == maxShards {
			err = fmt.Errorf("got more than %d shards", maxShards)
		}
		if err != nil {
			return fmt.Errorf("%s[%d]: %w", key, k, err)
		}
		names = append(names, name)
		c.said[name] = *one
		return nil
	}
	for k := range all.shards {
		one, name, err := all.shards[k].listed(dir, query)
		if err := add("shards", k, &one, name, err); err != nil {
			return nil, err
		}
	}
	if all.chunks == nil {
		return names, nil
	}
	columns, err := all.config.columns()
	if err != nil {
		return nil, err
	}
	for k := range all.chunks {
		one, name, err := all.chunks[k].listed(&all.config, dir, query)
		one.columns = columns
		if err := add("chunks", k, &one, name, err); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// catalogue is what one holds: shards of MDS, or chunks of litData and what these are.
type catalogue struct {
	shards []catalogueEntry
	chunks []litDataChunk
	config litDataConfig
}

// parseCatalogue reads one.
func parseCatalogue(text []byte) (all catalogue, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := wantToken(d, json.Delim('{')); err != nil {
		return all, err
	}
	found := ""
	for d.More() {
		key, err := d.Token()
		switch {
		case err != nil:
		case key == "shards":
			found = "shards"
			all.shards, err = entries[catalogueEntry](d, found)
		case key == "chunks":
			found = "chunks"
			all.chunks, err = entries[litDataChunk](d, found)
		case key == "config":
			var config json.RawMessage
			if err = d.Decode(&config); err == nil && len(config) > maxConfigBytes {
				err = fmt.Errorf("its config has %d bytes, want at most %d", len(config), maxConfigBytes)
			} else if err == nil {
				err = json.Unmarshal(config, &all.config)
			}
		default:
			var other json.RawMessage
			err = noCatalogue(d.Decode(&other))
		}
		if err != nil {
			return all, noCatalogue(err)
		}
	}
	if err := wantToken(d, json.Delim('}')); err != nil {
		return all, err
	}
	if found == "" {
		return all, errors.New("it lists neither shards, as an index.json of MDS does, nor chunks, as litData's")
	}
	return all, nil
}

// entries reads a list of shards.
func entries[T any](d *json.Decoder, key string) ([]T, error) {
	if err := wantToken(d, json.Delim('[')); err != nil {
		return nil, err
	}
	all := []T{}
	for d.More() {
		var e T
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", key, len(all), noCatalogue(err))
		}
		if len(all) == maxShards {
			return nil, fmt.Errorf("got more than %d %s", maxShards, key)
		}
		all = append(all, e)
	}
	return all, wantToken(d, json.Delim(']'))
}

func wantToken(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		err = fmt.Errorf("got %v, want %v", got, want)
	}
	return noCatalogue(err)
}

// catalogueError says of an error what was being read.
type catalogueError struct{ error }

func (e *catalogueError) Error() string {
	return "no index.json of MDS or litData, or damaged: " + e.error.Error()
}
func (e *catalogueError) Unwrap() error { return e.error }

// noCatalogue says of an error what was being read.
func noCatalogue(err error) error {
	if err == nil {
		return nil
	}
	var known *catalogueError
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it is cut off")
	}
	return &catalogueError{err}
}

// listed is what is known of a shard whose catalogue is in a directory, and where it lies.
func (e *catalogueEntry) listed(dir, query string) (one listedShard, name string, err error) {
	switch {
	case e.Format != "mds":
		return one, "", fmt.Errorf("got the format %.20q, want mds; have a program of yours bring its samples, or write them into tar shards once", e.Format)
	case e.Samples < 0 || e.Raw.Bytes < 0 || e.Zip.Bytes < 0:
		return one, "", fmt.Errorf("got %d samples in %d bytes, and %d compressed", e.Samples, e.Raw.Bytes, e.Zip.Bytes)
	}
	one = listedShard{bytes: e.Raw.Bytes, samples: e.Samples}
	if name, err = below(e.Raw.Name, dir, query); err == nil && e.Zip.Name != "" {
		one.packed, err = packedBeside(name, e.Zip.Name, e.Compression, dir, query)
		one.packed.bytes = e.Zip.Bytes
	}
	return one, name, err
}

// listed is what is known of a chunk whose catalogue is in a directory, and where it lies. A compressed one has that in its name.
func (e *litDataChunk) listed(c *litDataConfig, dir, query string) (one listedShard, name string, err error) {
	switch {
	case e.Samples < 0 || e.Bytes < 0:
		return one, "", fmt.Errorf("got %d samples in %d bytes", e.Samples, e.Bytes)
	case !isNull(e.Dim):
		return one, "", fmt.Errorf("its samples are cut out of tokens (dim %.20s), want whole ones; %s", e.Dim, byProgram)
	}
	one = listedShard{bytes: e.Bytes, samples: e.Samples}
	if c.Level == litDataBatches {
		name, err = below(e.Name, dir, query)
		one.bytes, one.packed = anyBytes, packedShard{name, e.Bytes, packedFrames}
		return one, name, err
	}
	by, _, _ := strings.Cut(c.Compression, ":")
	raw := strings.Replace(e.Name, "."+by+".", ".", 1)
	if by == "" {
		raw = e.Name
	}
	if name, err = below(raw, dir, query); err == nil && raw != e.Name {
		one.packed, err = packedBeside(name, e.Name, by, dir, query)
		one.packed.bytes = anyBytes
	}
	return one, name, err
}

// packedBeside is the compressed form of a shard; none where the shard is there unpacked, as the libraries leave it in their local directories.
func packedBeside(raw, name, compression, dir, query string) (packed packedShard, err error) {
	packed.by, _, _ = strings.Cut(compression, ":")
	if unpackers[packed.by] == nil {
		return packed, fmt.Errorf("got the compression %.20q, want zstd, gz, bz2, br or snappy; unpack its files beside themselves", packed.by)
	}
	if packed.name, err = below(name, dir, query); err != nil || !store.IsURL(raw) && unix.Access(raw, unix.F_OK) == nil {
		return packedShard{}, err
	}
	return packed, nil
}

// below is where a file of a catalogue in a directory lies.
func below(name, dir, query string) (string, error) {
	clean, err := checkMember([]byte(name))
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
	case sh.version.size != said.bytes && said.bytes != anyBytes:
		return fmt.Errorf("got %d bytes, want %d, as %s says; write or copy it again", sh.version.size, said.bytes, CatalogueName)
	case sh.index != nil && sh.index.n != said.samples:
		return fmt.Errorf("got %d samples, want %d, as %s says; write or copy it again", sh.index.n, said.samples, CatalogueName)
	}
	return nil
}
