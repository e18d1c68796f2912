package source

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/source/store"
)

// prefix is a folder in an object store: what lies below s3://BUCKET/PREFIX/ when it is opened. An object that is written
// again afterwards is a bad sample.
type prefix struct {
	folder
	store   *store.Client
	base    string // URL, with a slash at its end
	objects []facts
}

// facts are what is known of one object: 24 bytes and its ETag.
type facts struct {
	size int64
	etag string
}

func openPrefix(c FolderConfig, extensions []string) (*prefix, error) {
	p := &prefix{store: c.Store, base: strings.TrimRight(store.Plain(c.Dir), "/") + "/"}
	if p.root.maxBytes = c.MaxFileBytes; p.root.maxBytes == 0 {
		p.root.maxBytes = DefaultMaxFileBytes
	}
	w := newWalker(&p.folder, extensions)
	// Most stores list keys in the order of their bytes, which is that of a tree walked by path.
	last, sorted := "", true
	err := c.Store.List(context.Background(), p.base, func(o store.Object) error {
		sorted, last = sorted && last <= o.URL, o.URL
		return p.enter(w, o)
	})
	if err != nil {
		return nil, err
	}
	if len(p.offsets) == 0 {
		return nil, fmt.Errorf("%w: found %s; want objects ending in %s%s", ErrNoSamples, w.found(), strings.Join(extensions, ", "), w.archives())
	}
	if !sorted {
		if err := p.sort(); err != nil {
			return nil, err
		}
	}
	p.label(c.Labels)
	p.columns = partColumns(c.Columns)
	c.Progress.Step()
	return p, settleArrays(context.Background(), p, p.columns)
}

// sort brings the objects into the order of their names.
func (p *prefix) sort() error {
	names, order := make([]string, len(p.objects)), make([]int, len(p.objects))
	for i := range names {
		names[i], order[i] = string(p.Key(int64(i), nil)), i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	objects := p.objects
	p.folder, p.objects = folder{root: p.root}, make([]facts, 0, len(objects))
	for _, i := range order {
		dir, file := cutName(names[i])
		p.objects = append(p.objects, objects[i])
		if err := p.add(dir, []byte(file)); err != nil {
			return err
		}
	}
	return nil
}

// cutName parts a name behind its last slash.
func cutName(name string) (dir, file string) {
	slash := strings.LastIndexByte(name, '/') + 1
	return name[:slash], name[slash:]
}

// enter takes one object if it is wanted, as the walker does with files.
func (p *prefix) enter(w *walker, o store.Object) error {
	name := strings.TrimPrefix(o.URL, p.base)
	dir, file := cutName(name)
	switch {
	case file == "": // a mark for a directory
		return nil
	case strings.HasPrefix(name, ".") || strings.Contains(name, "/."):
		w.hidden++
		return nil
	case !w.wants([]byte(file)):
		return nil
	case len(file) > 255 || len(name) >= maxPath:
		return fmt.Errorf("object %.200q: got a name of %d bytes, want at most 255", name, len(file))
	}
	p.objects = append(p.objects, facts{o.Size, o.ETag})
	return p.add(dir, []byte(file))
}

func (p *prefix) Read(ctx context.Context, i int64, b *Buffer) error {
	if err := p.readAll(ctx, i, b); err != nil {
		b.drop()
		return name(err, p, i)
	}
	return nil
}

// readAll reads the object as the sample, or, where the samples are columns alone, as what these are made of.
func (p *prefix) readAll(ctx context.Context, i int64, b *Buffer) error {
	if len(p.columns) == 0 {
		return p.read(ctx, i, b)
	}
	b.drop()
	from := b.side(0)
	if err := p.read(ctx, i, from); err != nil {
		return err
	}
	for c := range p.columns {
		if err := b.setPart(&p.columns[c], from.Bytes(), true); err != nil {
			return err
		}
	}
	return nil
}

func (p *prefix) read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	f := &p.objects[i]
	switch {
	case f.size == 0:
		return &Error{Cause: Empty, Detail: "got 0 bytes"}
	case f.size > p.root.maxBytes:
		return &Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", f.size, p.root.maxBytes)}
	}
	o := store.Object{URL: p.base + string(p.Key(i, nil)), Size: f.size, ETag: f.etag}
	if err := p.store.ReadAt(ctx, &o, b.room(int(f.size)), 0); err != nil {
		return storeError(err)
	}
	b.hold(0, int(f.size))
	return nil
}

// Identity is the object and its version.
func (p *prefix) Identity(i int64, dst []byte) []byte {
	for c := range p.columns {
		dst = append(appendColumn(dst, &p.columns[c]), 0)
	}
	dst = append(p.Key(i, append(dst, p.base...)), 0)
	return append(strconv.AppendInt(dst, p.objects[i].size, 10), p.objects[i].etag...)
}

func (p *prefix) Close() error { return nil }
