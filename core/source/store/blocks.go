package store

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Large objects are read as somebody asks for parts of them, in blocks that all readers of a client share: ten clips of one film read its header once.
const (
	blockBytes  = 1 << 20
	mostAtOnce  = 8 // blocks of one request, of who reads on and on
	aheadBlocks = 4 // the next request is sent so many blocks before they are wanted

	expectedAtOnce = 2 // blocks of one request, of what is expected,
	expectedAhead  = 8 // of which so many are asked for before they are wanted

	peeksAtOnce = 8 // requests for short parts
)

// blocks are the parts of objects that a client has read last, or is reading.
type blocks struct {
	mu     sync.Mutex // guards the rest
	all    map[blockName]*block
	latest list.List // of *block that are there, the one used last in front
	bytes  int64
	most   int64          // that stay, beside what is being read
	ahead  sync.WaitGroup // requests that nobody waits for
}

type blockName struct {
	version string
	n       int64
}

// block is a part of one version of an object. When there is closed, either data are there or err is why they are not.
type block struct {
	name  blockName
	there chan struct{}
	data  []byte
	err   error
	place *list.Element // of latest; nil: it is being read
}

// Reader reads parts of one version of an object, in any order, as an io.ReaderAt, which several goroutines may use.
type Reader struct {
	client *Client
	object Object
	name   string // of its version

	mu   sync.Mutex      // guards the rest
	ctx  context.Context // of who reads, as ReadAt has none
	wait func(func())    // runs what waits for the network
	last int64           // the block that was wanted last
	run  int64           // how many blocks a request is for
	end  int64           // behind those of the latest one
	err  error

	expected []int64 // blocks that are to be read, in that order, from the latest one on
	asked    int     // how many of them have been asked for
}

// Reader makes a reader of an object.
func (c *Client) Reader(o *Object) *Reader {
	return &Reader{client: c, ctx: context.Background(), wait: func(f func()) { f() }, object: *o, name: o.version(), last: -2}
}

// version is a name that no other version of an object has.
func (o *Object) version() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d", o.URL, o.ETag, o.Modified, o.Size)
}

// Until has reads end with ctx, from now on. What waits for the network then is run by wait, which may do something before and behind it; nil: nothing.
func (r *Reader) Until(ctx context.Context, wait func(func())) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx = ctx; wait != nil {
		r.wait = wait
	}
}

// Err is why a read failed, the latest; nil: none did.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Expect says which parts are read next, each from its first byte to behind its last one, in this order: several requests for them are under way before
// they are wanted, and none for what lies behind them. It takes the place of what was expected before.
func (r *Reader) Expect(parts [][2]int64) {
	r.mu.Lock()
	r.expected, r.asked = nil, 0
	for _, p := range parts {
		for n := max(p[0], 0) / blockBytes; n*blockBytes < min(p[1], r.object.Size); n++ {
			if k := len(r.expected); k == 0 || r.expected[k-1] != n {
				r.expected = append(r.expected, n)
			}
		}
	}
	ctx := r.ctx
	r.mu.Unlock()
	r.askExpected(ctx)
}

// askExpected asks for blocks that are expected and that nobody has or reads, so that expectedAhead of them are there or under way, or fewer where
// little stays.
func (r *Reader) askExpected(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	bs := &r.client.blocks
	ahead := max(expectedAtOnce, min(expectedAhead, int(bs.most/blockBytes/8)))
	for r.asked < min(len(r.expected), ahead) {
		n, run := r.expected[r.asked], 1
		for run < expectedAtOnce && r.asked+run < len(r.expected) && r.expected[r.asked+run] == n+int64(run) {
			run++
		}
		bs.mu.Lock()
		mine := bs.enter(r, n, int64(run))
		bs.mu.Unlock()
		if r.asked += max(len(mine), 1); len(mine) > 0 {
			r.readAhead(ctx, mine)
		}
	}
}

// readAhead reads blocks that nobody waits for yet.
func (r *Reader) readAhead(ctx context.Context, mine []*block) {
	r.client.blocks.ahead.Add(1)
	go func() {
		defer r.client.blocks.ahead.Done()
		r.read(ctx, mine)
	}()
}

// ReadAt blocks until the bytes are there, each block of them for at most the client's Timeout. An error is a *Error, io.EOF or the context's.
func (r *Reader) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < r.object.Size {
		data, err := r.block(off / blockBytes)
		if err != nil {
			return n, r.failed(err)
		}
		got := copy(p[n:], data[off%blockBytes:])
		n, off = n+got, off+int64(got)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Peek fills each of several short parts, with the bytes from there on, which the object has. Nobody reads on from them: of what no block has they alone are
// asked for, several at a time, and nothing is kept. It blocks as ReadAt does.
func (r *Reader) Peek(to [][]byte, at []int64) error {
	r.mu.Lock()
	ctx, wait := r.ctx, r.wait
	r.mu.Unlock()
	errs := make([]error, len(to))
	wait(func() {
		var all sync.WaitGroup
		turns := make(chan struct{}, peeksAtOnce)
		for i := range to {
			turns <- struct{}{}
			all.Add(1)
			go func() {
				defer all.Done()
				errs[i] = r.peek(ctx, to[i], at[i])
				<-turns
			}()
		}
		all.Wait()
	})
	for _, err := range errs {
		if err != nil {
			return r.failed(err)
		}
	}
	return nil
}

// peek is Peek of one part.
func (r *Reader) peek(ctx context.Context, to []byte, at int64) error {
	if at < 0 || at+int64(len(to)) > r.object.Size {
		return io.ErrUnexpectedEOF
	}
	bs := &r.client.blocks
	for len(to) > 0 {
		bs.mu.Lock()
		b := bs.all[blockName{r.name, at / blockBytes}]
		bs.mu.Unlock()
		if b == nil {
			return r.client.ReadAt(ctx, &r.object, to, at)
		}
		select {
		case <-b.there:
		case <-ctx.Done():
			return ctx.Err()
		}
		if b.err != nil {
			return r.client.ReadAt(ctx, &r.object, to, at)
		}
		n := copy(to, b.data[at%blockBytes:])
		to, at = to[n:], at+int64(n)
	}
	return nil
}

func (r *Reader) failed(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	return err
}

// wants notes that block n is the next one. Who reads one behind the other gets twice as many with each request, run blocks, but for what is expected.
func (r *Reader) wants(n int64) (ctx context.Context, wait func(func()), run int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.expected, n)
	if at > 0 {
		r.expected, r.asked = r.expected[at:], max(r.asked-at, 0)
	}
	switch {
	case at >= 0:
		r.run, r.end = 1, n+1
	case n != r.last && n != r.last+1:
		r.run, r.end = 1, n+1
	case n >= r.end:
		r.run = min(2*r.run, mostAtOnce)
		r.end = n + r.run
	}
	r.last = n
	return r.ctx, r.wait, r.run
}

// block is block n. Of long runs the next one is on its way while this one is used.
func (r *Reader) block(n int64) (data []byte, err error) {
	ctx, wait, run := r.wants(n)
	r.askExpected(ctx)
	bs := &r.client.blocks
	for {
		b, mine, ahead := bs.claim(r, n, run)
		if ahead != nil {
			r.readAhead(ctx, ahead)
		}
		select {
		case <-b.there:
		default:
			wait(func() {
				if mine != nil {
					r.read(ctx, mine)
				}
				select {
				case <-b.there:
				case <-ctx.Done():
				}
			})
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// That somebody else was not to read on is no reason for this one.
		if !errors.Is(b.err, context.Canceled) {
			return b.data, b.err
		}
	}
}

// claim is block n. Those that nobody has or reads are the caller's to read: mine, where block n is the first of them, and ahead, while it uses that.
func (bs *blocks) claim(r *Reader, n, run int64) (b *block, mine, ahead []*block) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if b = bs.all[blockName{r.name, n}]; b == nil {
		mine = bs.enter(r, n, run)
		b = mine[0]
	} else if b.place != nil {
		bs.latest.MoveToFront(b.place)
	}
	for k := n + 1; run == mostAtOnce && k <= n+aheadBlocks && ahead == nil; k++ {
		if bs.all[blockName{r.name, k}] == nil {
			ahead = bs.enter(r, k, run)
		}
	}
	return b, mine, ahead
}

// enter says that the caller reads a run of blocks from n on, up to the object's end or one that is there already.
func (bs *blocks) enter(r *Reader, n, run int64) (mine []*block) {
	for k := n; k < n+run && k*blockBytes < r.object.Size && bs.all[blockName{r.name, k}] == nil; k++ {
		b := &block{name: blockName{r.name, k}, there: make(chan struct{})}
		bs.all[b.name] = b
		mine = append(mine, b)
	}
	return mine
}

// read reads blocks that lie one behind the other, with one request.
func (r *Reader) read(ctx context.Context, mine []*block) {
	at := mine[0].name.n * blockBytes
	data := make([]byte, min(int64(len(mine))*blockBytes, r.object.Size-at))
	err := r.client.ReadAt(ctx, &r.object, data, at)
	bs := &r.client.blocks
	bs.mu.Lock()
	defer bs.mu.Unlock()
	for _, b := range mine {
		n := min(len(data), blockBytes)
		b.err = err
		if err != nil { // whoever wants it asks again
			delete(bs.all, b.name)
		} else {
			bs.have(b, bytes.Clone(data[:n])) // not to keep the others with it
		}
		data = data[n:]
		close(b.there)
	}
	bs.forget()
}

// keep takes an object's first block, where nobody has or reads it.
func (bs *blocks) keep(o *Object, first []byte) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := &block{name: blockName{o.version(), 0}, there: make(chan struct{})}
	if bs.all[b.name] != nil {
		return
	}
	bs.all[b.name] = b
	bs.have(b, first)
	close(b.there)
	bs.forget()
}

// begin says whether the beginning of a version is there, or being read.
func (bs *blocks) begin(version string) bool {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return bs.all[blockName{version, 0}] != nil
}

// have makes a block one that is there.
func (bs *blocks) have(b *block, data []byte) {
	b.data, b.place = data, bs.latest.PushFront(b)
	bs.bytes += int64(len(data))
}

// forget drops the blocks that nobody used for longest, where they are too many.
func (bs *blocks) forget() {
	for bs.bytes > bs.most {
		last := bs.latest.Remove(bs.latest.Back()).(*block)
		delete(bs.all, last.name)
		bs.bytes -= int64(len(last.data))
	}
}
