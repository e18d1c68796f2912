package source

import (
	linked "container/list"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// keptChunkBytes bounds the chunks of several records that are kept unpacked, for all shards of a source.
const keptChunkBytes = 128 << 20

// stretchStored is how many bytes of chunks, as they are stored, are read best together: of some such stretches what is unpacked is kept.
const stretchStored = 8 << 20

// stretch finds where stretches of chunks begin in a shard. Where chunks have one record each there is one.
func (s *shards) stretch(ctx context.Context, sh *shard) error {
	var few [8]indexMember
	at, begins := int64(-1), int64(0)
	for i := range sh.index.n {
		members, err := s.members(ctx, sh, i, few[:0])
		if err != nil || i == 0 && !members[0].several {
			return err
		}
		m := members[0]
		switch end := m.off + int64(m.size); {
		case at < 0:
			begins = m.off
		case m.off != at && end-begins > stretchStored:
			sh.stretches, begins = append(sh.stretches, i), m.off
		}
		at = m.off
	}
	return nil
}

// chunkRead is what a buffer has beside it for a record: its chunk, as it is stored and unpacked. Its memory is used again.
type chunkRead struct {
	stored, unpacked Buffer
	chunk            recordChunk
	parser           exampleParser
}

// beneath is what the buffer has beside it for records.
func (b *Buffer) beneath() *chunkRead {
	if b.chunk == nil {
		b.chunk = &chunkRead{stored: Buffer{pool: b.pool}, unpacked: Buffer{pool: b.pool}}
		b.chunk.chunk.memory = &b.chunk.unpacked
	}
	return b.chunk
}

// planChunk plans to read the chunk that the sample lies in.
func (b *Buffer) planChunk() {
	m := b.members[0]
	b.pieces = append(b.pieces[:0], piece{off: m.off, size: int64(m.size)})
}

// joinParts lets all shards of ArrayRecords know the parts that the first records of any have.
func joinParts(all []shard) {
	var parts []string
	chunked := func(sh *shard) bool { return sh.index.partNamed(arrayPart) >= 0 && sh.index.partNamed(rawPart) < 0 }
	for i := range all {
		if x := all[i].index; chunked(&all[i]) {
			parts = append(parts, x.parts...)
		}
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	for i := range all {
		if x := all[i].index; chunked(&all[i]) {
			for _, part := range parts {
				if len(x.parts) < maxParts && x.partNamed(part) < 0 {
					x.parts = append(x.parts, part)
				}
			}
		}
	}
}

// record reads the chunk that the sample lies in, and makes b.members the parts of its record, which is not to be changed.
func (s *shards) record(ctx context.Context, sh *shard, b *Buffer) ([]byte, error) {
	m, labelled := b.members[0], len(b.members) > 1
	if int(m.part) != sh.chunk {
		return nil, &Error{Cause: IO, Err: errIndex}
	}
	c, err := s.chunkOf(ctx, sh, m, b)
	if err != nil {
		return nil, err
	}
	if m.value < 0 || m.value >= int64(c.n()) {
		return nil, chunkFailed(m, fmt.Errorf("damaged: it has %d records, want %d or more, as the footer says; write or copy the file again", c.n(), m.value+1))
	}
	record := c.record(int(m.value))
	b.members = b.members[:0]
	if part, raw := sh.partID[rawPart]; raw {
		b.members = append(b.members, indexMember{size: uint32(len(record)), part: uint16(part)})
		return record, nil
	}
	members, err := b.beneath().parser.parse(record, sh.partID)
	if err != nil {
		return nil, &Error{Cause: Value, Detail: fmt.Sprintf("its record %d of the chunk at %d: %v", m.value, m.off, err)}
	}
	for _, m := range members {
		switch {
		case sh.labelled && !labelled && int(m.part) == sh.label:
			return nil, &Error{Cause: IO, Detail: "its chunk was damaged when the labels of the shard were read, and is not now; remove what is kept of the shard ($SPDL_CACHE_DIR/index), and start again"}
		case m.part == lateLabel:
			return nil, &Error{Cause: Value, Detail: "it has a label, and the first records of the shard have none, so that no label was looked for; write labels into all records, or have labels: none leave them out"}
		}
	}
	b.members = append(b.members, members...)
	return record, nil
}

// lateLabel is the part of a label in a record of a shard whose first records have none.
const lateLabel = math.MaxUint16

// chunkOf is a chunk unpacked. One of several records is kept: of those who want it one reads it, and the others wait.
func (s *shards) chunkOf(ctx context.Context, sh *shard, m indexMember, b *Buffer) (*recordChunk, error) {
	if !m.several {
		own := b.beneath()
		return &own.chunk, s.readChunk(ctx, sh, m, b, own.stored.room(int(m.size)), &own.chunk)
	}
	k, first := s.chunks.take(sh, m.off)
	if !first {
		select {
		case <-k.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if k.err == nil {
			return &k.recordChunk, nil
		}
		alone := &recordChunk{} // whose error, if there is one, is this sample's own
		return alone, s.readChunk(ctx, sh, m, b, make([]byte, m.size), alone)
	}
	k.err = s.readChunk(ctx, sh, m, b, make([]byte, m.size), &k.recordChunk)
	s.chunks.settle(k)
	return &k.recordChunk, k.err
}

// readChunk reads a chunk into memory that is its own.
func (s *shards) readChunk(ctx context.Context, sh *shard, m indexMember, b *Buffer, data []byte, c *recordChunk) error {
	b.members = append(b.members[:0], m)
	b.planChunk()
	if err := s.fetch(ctx, sh, b, data); err != nil {
		return err
	}
	if err := c.take(data, m.off); err != nil {
		return chunkFailed(m, err)
	}
	return nil
}

// chunkFailed is a bad sample's, whose chunk is not as it has to be.
func chunkFailed(m indexMember, err error) error {
	cause := Value
	var known *badChunk
	if errors.As(err, &known) {
		cause = known.cause
	}
	return &Error{Cause: cause, Detail: fmt.Sprintf("its chunk at %d: %v", m.off, err)}
}

// keptChunks are those of several records that were read last.
type keptChunks struct {
	mu    sync.Mutex // guards the rest
	of    map[recordsPlace]*linked.Element
	all   linked.List // of *keptChunk; the one used last is the last
	bytes int64       // of those that are settled
}

// recordsPlace is where a chunk begins.
type recordsPlace struct {
	shard *shard
	at    int64
}

// keptChunk is one that is there, or is being read.
type keptChunk struct {
	place recordsPlace
	ready chan struct{}

	recordChunk       // written before ready is closed
	err         error // likewise
	settled     bool  // guarded by keptChunks.mu
}

// take is the chunk at a place of a shard, and whether the caller is to read it.
func (c *keptChunks) take(sh *shard, at int64) (k *keptChunk, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place := recordsPlace{sh, at}
	if e := c.of[place]; e != nil {
		c.all.MoveToBack(e)
		return e.Value.(*keptChunk), false
	}
	if c.of == nil {
		c.of = map[recordsPlace]*linked.Element{}
	}
	k = &keptChunk{place: place, ready: make(chan struct{})}
	c.of[place] = c.all.PushBack(k)
	return k, true
}

// settle says that a chunk is there, or that it failed, which the next one may not. Those used longest ago go for it.
func (c *keptChunks) settle(k *keptChunk) {
	close(k.ready)
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.err != nil {
		c.remove(c.of[k.place])
		return
	}
	k.settled = true
	c.bytes += k.size()
	for e := c.all.Front(); e != nil && c.bytes > keptChunkBytes; {
		next := e.Next()
		if old := e.Value.(*keptChunk); old.settled && old != k {
			c.bytes -= old.size()
			c.remove(e)
		}
		e = next
	}
}

func (c *keptChunks) remove(e *linked.Element) {
	delete(c.of, c.all.Remove(e).(*keptChunk).place)
}
