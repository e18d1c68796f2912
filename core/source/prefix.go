package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

// prefix is a folder in an object store: what lies below s3://BUCKET/PREFIX/ or gs://BUCKET/PREFIX/, or in a directory of the Hub, when it is opened. An object that is written
// again afterwards is a bad sample, and so is one that is gone; what is written later beside a sample is not seen.
type prefix struct {
	folder
	store   *store.Client
	base    string // URL, with a slash at its end
	objects []facts

	endings []string // of the objects that lie beside the samples', or are these
	beside  []facts  // of each sample, one for each ending
}

// facts are what is known of one object: 24 bytes and its ETag.
type facts struct {
	size int64 // absent: there is no such object
	etag string
}

const absent = -1

func openPrefix(c FolderConfig, f folder, extensions []string) (*prefix, error) {
	p := &prefix{folder: f, store: c.Store, base: strings.TrimRight(store.Plain(c.Dir), "/") + "/"}
	if p.root.maxBytes = c.MaxFileBytes; p.root.maxBytes == 0 {
		p.root.maxBytes = DefaultMaxFileBytes
	}
	p.root.inPlace = c.InPlace
	for k := range p.media {
		p.endings = append(p.endings, p.media[k].From[0])
	}
	for i := range p.columns {
		p.endings = append(p.endings, p.columns[i].From)
	}
	slices.Sort(p.endings)
	p.endings = slices.Compact(p.endings)
	w := newWalker(&p.folder, extensions)
	w.lieBeside(besides(c, extensions))
	// Most stores list keys in the order of their bytes, which is that of a tree walked by path.
	last, sorted := "", true
	err := c.Store.List(context.Background(), p.base, func(o store.Object) error {
		sorted, last = sorted && last <= o.URL, o.URL
		return p.enter(w, o)
	})
	if err == nil && !sorted {
		err = p.sort()
	}
	if err == nil && len(p.endings) > 0 {
		err = p.pair(w)
	}
	if err != nil {
		return nil, err
	}
	if len(p.offsets) == 0 {
		return nil, fmt.Errorf("%w: found %s; want objects ending in %s%s", ErrNoSamples, w.found(), strings.Join(extensions, ", "), w.archives())
	}
	if err := w.misspelt(); err != nil {
		return nil, err
	}
	p.label(c.Labels)
	c.Progress.Step()
	return p, settleArrays(context.Background(), p, p.columns)
}

// without is the folder without its files.
func (f *folder) without() folder {
	return folder{root: f.root, media: f.media, columns: f.columns, alone: f.alone}
}

// sort brings the objects into the order of their names.
func (p *prefix) sort() error {
	names, order := make([]string, len(p.objects)), make([]int, len(p.objects))
	for i := range names {
		names[i], order[i] = string(p.Key(int64(i), nil)), i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	objects := p.objects
	p.folder, p.objects = p.without(), make([]facts, 0, len(objects))
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

// enter takes one object if it is wanted or may lie beside one that is, as the walker does with files.
func (p *prefix) enter(w *walker, o store.Object) error {
	name := strings.TrimPrefix(o.URL, p.base)
	dir, file := cutName(name)
	if file == "" { // a mark for a directory
		return nil
	}
	if strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		w.hidden++
		return nil
	}
	w.see([]byte(file))
	beside := slices.ContainsFunc(p.endings, func(e string) bool { return strings.HasSuffix(file, "."+e) })
	switch {
	case !w.wants([]byte(file)) && !beside:
		return nil
	case len(file) > maxFileName || len(name) >= maxPath:
		return fmt.Errorf("object %.200q: got a name of %d bytes, want at most %d", name, len(file), maxFileName)
	}
	p.objects = append(p.objects, facts{o.Size, o.ETag})
	return p.add(dir, []byte(file))
}

// pair makes samples of all that was entered, in the order of its names: the objects that are wanted and lie beside no other, each with what
// lies beside it.
func (p *prefix) pair(w *walker) error {
	all, objects := p.folder, p.objects
	p.folder, p.objects = p.without(), nil
	var path, name []byte
	for i := range all.offsets {
		path = all.Key(int64(i), path[:0])
		run, file := all.find(int64(i))
		if !w.isSample(&all, path, file, i) {
			continue
		}
		if err := p.add(run.dir, file); err != nil {
			return err
		}
		p.objects = append(p.objects, objects[i])
		for _, ending := range p.endings {
			name = p.appendColumn(name[:0], path, ending)
			if at, found := all.place(name, i); found {
				p.beside = append(p.beside, objects[at])
			} else {
				p.beside = append(p.beside, facts{size: absent})
			}
		}
	}
	return nil
}

// isSample says of file i of all, as the walker does of files that it has by directories, that it is wanted, and beside no other that is.
func (w *walker) isSample(all *folder, path, file []byte, i int) bool {
	if !w.isWanted(file) {
		return false
	}
	stem := w.stemBeside(file)
	if stem == nil {
		return true
	}
	// What begins so are its neighbours.
	begin := append(bytes.Clone(path[:len(path)-len(file)+len(stem)]), '.')
	var other []byte
	for at, _ := all.place(begin, i); at < len(all.offsets); at++ {
		if other = all.Key(int64(at), other[:0]); !bytes.HasPrefix(other, begin) {
			break
		}
		name := other[len(path)-len(file):]
		if bytes.IndexByte(other[len(begin):], '.') < 0 && bytes.IndexByte(name, '/') < 0 && w.isWanted(name) && w.stemBeside(name) == nil {
			return false
		}
	}
	return true
}

// place is where a path is, or would be, among files that are sorted. It is looked for from file near on, in steps that double.
func (f *folder) place(path []byte, near int) (at int, found bool) {
	var room [256]byte
	key := room[:0]
	compare := func(k int) int {
		key = f.Key(int64(k), key[:0])
		return bytes.Compare(key, path)
	}
	from, to, n := near, near+1, len(f.offsets)
	for step := 1; from > 0 && compare(from) > 0; step *= 2 {
		from, to = max(from-step, 0), from
	}
	for step := 1; to < n && compare(to) < 0; step *= 2 {
		from, to = to, min(to+step, n)
	}
	at = from + sort.Search(to-from, func(k int) bool { return compare(from+k) >= 0 })
	return at, at < n && compare(at) == 0
}

// fetched is one object of a sample.
type fetched struct {
	facts
	path   []byte
	inside bool   // it becomes a part of the sample's buffer; false: columns are made of it, and it goes into a buffer beside that
	at     int    // where in the sample's buffer
	column bool   // columns are made of it
	stays  bool   // it is not read but stays where it is, as it is large
	data   []byte // nil: it is not read
	err    error  // why
}

func (p *prefix) Read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	err := ctx.Err()
	if err == nil {
		files := p.files(i)
		p.makeRoom(files, b)
		p.fetch(ctx, files)
		err = p.compose(files, b)
	}
	if err != nil {
		b.drop()
		return name(err, p, i)
	}
	return nil
}

// files are the objects that sample i is made of: its own, nil where the samples are columns alone, and one for each ending, which may be its own.
func (p *prefix) files(i int64) []*fetched {
	n := len(p.endings)
	files := make([]*fetched, 1+n)
	own := p.Key(i, nil)
	if p.alone == nil {
		files[0] = &fetched{facts: p.objects[i], path: own, inside: true}
	}
	for k, ending := range p.endings {
		path := p.appendColumn(nil, own, ending)
		if files[1+k] = files[0]; p.alone != nil || !bytes.Equal(path, own) {
			medium := slices.ContainsFunc(p.media, func(m Medium) bool { return m.From[0] == ending })
			files[1+k] = &fetched{facts: p.beside[int(i)*n+k], path: path, inside: medium}
		}
		if slices.ContainsFunc(p.columns, func(c Column) bool { return c.From == ending }) {
			files[1+k].column = true
		}
	}
	return files
}

// makeRoom says where each object goes, or why it cannot be read. What the listing did not have is not asked for.
func (p *prefix) makeRoom(files []*fetched, b *Buffer) {
	end := 0
	for k, f := range files {
		switch {
		case f == nil || k > 0 && f == files[0]:
		case f.size == absent:
			f.err = readError(unix.ENOENT)
		case f.size == 0:
			f.err = &Error{Cause: Empty, Detail: "got 0 bytes"}
		case f.inside && !f.column && p.root.isLarge(f.size):
			f.stays = true
		case f.size > p.root.maxBytes:
			f.err = &Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", f.size, p.root.maxBytes)}
		case f.inside:
			f.at = end
			end = (end + int(f.size) + 2*Padding - 1) / Padding * Padding // as Buffer.end
		default:
			side := b.side(slices.IndexFunc(p.columns, func(c Column) bool { return c.From == p.endings[k-1] }))
			f.data = side.room(int(f.size))
		}
	}
	if end == 0 {
		return
	}
	mem := b.room(end)
	for _, f := range files {
		if f != nil && f.inside && f.err == nil && !f.stays {
			f.data = mem[f.at : f.at+int(f.size)]
		}
	}
}

// fetch reads what has room, all at a time.
func (p *prefix) fetch(ctx context.Context, files []*fetched) {
	var others sync.WaitGroup
	defer others.Wait()
	var last *fetched // read here and not in a goroutine of its own: often it is the only one
	for k, f := range files {
		if f == nil || f.data == nil || k > 0 && f == files[0] {
			continue
		}
		if last != nil {
			one := last
			others.Add(1)
			go func() {
				defer others.Done()
				p.read(ctx, one, one != files[0])
			}()
		}
		last = f
	}
	if last != nil {
		p.read(ctx, last, last != files[0])
	}
}

// read reads one object in the version that was listed. Of one that lies beside a sample nothing stands for it when it is gone: neither that
// there was none nor a default.
func (p *prefix) read(ctx context.Context, f *fetched, beside bool) {
	err := p.store.ReadAt(ctx, p.object(f), f.data, 0)
	if err == nil {
		return
	}
	f.err = storeError(err)
	var e *Error
	if beside && errors.As(f.err, &e) && e.Cause == Missing {
		e.Cause, e.Detail = Changed, "it was there when the folder was listed: "+e.Detail
	}
}

func (p *prefix) object(f *fetched) *store.Object {
	return &store.Object{URL: p.base + string(f.path), Size: f.size, ETag: f.etag}
}

// hold makes an object that was read, or stays where it is, the sample's next part.
func (p *prefix) hold(f *fetched, b *Buffer) {
	if f.stays {
		b.placeObject(p.store, p.object(f), 0, f.size)
		return
	}
	b.hold(f.at, int(f.size))
}

// compose makes the sample of what was read, or says what the first is that is wrong with it, as a folder on a disk does.
func (p *prefix) compose(files []*fetched, b *Buffer) error {
	if own := files[0]; own != nil {
		if own.err != nil {
			return own.err
		}
		p.hold(own, b)
	}
	of := func(ending string) *fetched { return files[1+slices.Index(p.endings, ending)] }
	for c := range p.columns {
		f := of(p.columns[c].From)
		if err := b.setRead(&p.columns[c], f.data, f.err); err != nil {
			return err
		}
	}
	for k := range p.media {
		switch f := of(p.media[k].From[0]); {
		case f == files[0]:
			b.again(0)
		case f.err != nil:
			return p.media[k].wrong(f.path, f.err)
		default:
			p.hold(f, b)
		}
	}
	return nil
}

// Identity is the sample's object and its version, and those of what lies beside it. That nothing does is known of the listing, too.
func (p *prefix) Identity(i int64, dst []byte) []byte {
	for c := range p.columns {
		dst = append(appendColumn(dst, &p.columns[c]), 0)
	}
	dst = append(p.Key(i, append(dst, p.base...)), 0)
	dst = p.objects[i].identity(dst)
	n := len(p.endings)
	for k := 0; k < n && dst != nil; k++ {
		dst = append(append(append(dst, 0), p.endings[k]...), 0)
		dst = p.beside[int(i)*n+k].identity(dst)
	}
	return dst
}

// identity appends an object's version, or nothing where the store does not tell it.
func (f *facts) identity(dst []byte) []byte {
	if f.size != absent && f.etag == "" {
		return nil
	}
	return append(strconv.AppendInt(dst, f.size, 10), f.etag...)
}

func (p *prefix) Close() error { return nil }
