package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

// A sample of an archive: which of its members are wanted, what is read of the archive for them, and where they lie in the buffer then.

// mergeGap are bytes that are read in vain rather than with a read of their own.
const mergeGap = 64 << 10

// piece is a range of an archive that is read at once, into the buffer's memory from at on.
type piece struct{ off, size, at int64 }

// chosen is the member that is a medium.
type chosen struct {
	member indexMember
	rank   uint32 // 0: there is none yet
	medium int    // of several pictures
}

func (s *shards) read(ctx context.Context, sh *shard, k int64, b *Buffer) error {
	b.drop()
	if err := ctx.Err(); err != nil {
		return err
	}
	members, err := s.members(ctx, sh, k, b.members[:0])
	if err != nil {
		return err
	}
	b.members = members
	var record []byte
	if sh.chunk >= 0 {
		if record, err = s.record(ctx, sh, b); err != nil {
			return err
		}
	}
	bytes, err := s.want(sh, b)
	if err == errLabel {
		return s.wrongLabel(ctx, sh, b)
	}
	if err != nil {
		return err
	}
	// Behind what is read there is room for parts that have to move apart.
	data := b.room(int(bytes) + max(len(b.chosen)+len(b.pictures)-1, 0)*Padding)[:bytes]
	if sh.chunk >= 0 {
		for _, p := range b.pieces {
			copy(data[p.at:p.at+p.size], record[p.off:])
		}
	} else if err := s.fetch(ctx, sh, b, data); err != nil {
		return err
	}
	if err := s.checkRecord(sh, k, b); err != nil {
		return err
	}
	if err := s.fill(sh, b); err != nil {
		return err
	}
	return s.holdChosen(sh, b)
}

// holdChosen declares the chosen members to be the sample's parts, the large ones where they lie. Decoders need Padding zero bytes behind each, so what follows nearer, as
// in zip archives, moves up, the last first.
func (s *shards) holdChosen(sh *shard, b *Buffer) error {
	for k := range b.chosen {
		if s.media[k].Many > 0 {
			for _, c := range b.pictures {
				if c.medium == k {
					at, end := b.locate(c.member)
					b.parts = append(b.parts, stretch{int(at), int(end - at)})
				}
			}
			continue
		}
		member := b.chosen[k].member
		if s.staysInPlace(sh, member) {
			if err := s.placePiece(sh, b, member); err != nil {
				return err
			}
			continue
		}
		at, end := b.locate(member)
		if member.split {
			if other := slices.IndexFunc(b.chosen[:k], func(c chosen) bool { return c.member == member }); other >= 0 {
				b.parts = append(b.parts, b.parts[other])
				continue
			}
			file, err := rejoined(b.mem[at:end], sh.encoded[member.part])
			if err != nil {
				return err
			}
			at = end - int64(len(file))
			copy(b.mem[at:end], file)
		}
		b.parts = append(b.parts, stretch{int(at), int(end - at)})
	}
	b.spread()
	for k, p := range b.parts {
		if b.InPlace(k) == nil {
			clear(b.mem[p.at+p.n:][:Padding])
		}
	}
	s.bundle(b)
	return nil
}

// move is where a part of a sample goes.
type move struct{ part, to int }

// spread moves parts up so that each ends Padding bytes before the next begins. Media of one member stay one stretch.
func (b *Buffer) spread() {
	if len(b.parts) < 2 {
		return
	}
	moves := b.moves[:0]
	for k, p := range b.parts {
		if b.InPlace(k) == nil {
			moves = append(moves, move{k, p.at})
		}
	}
	slices.SortFunc(moves, func(x, y move) int { return x.to - y.to })
	same := func(i int) bool { return i > 0 && b.parts[moves[i].part].at == b.parts[moves[i-1].part].at }
	end := 0
	for i := range moves {
		if same(i) {
			moves[i].to = moves[i-1].to
			continue
		}
		moves[i].to = max(moves[i].to, end)
		end = moves[i].to + b.parts[moves[i].part].n + Padding
	}
	for i := len(moves) - 1; i >= 0; i-- {
		p := &b.parts[moves[i].part]
		if !same(i) {
			copy(b.mem[moves[i].to:], b.mem[p.at:p.at+p.n])
		}
		p.at = moves[i].to
	}
	b.moves = moves
}

// want chooses, among b.members, what the media are, and plans what is read for them and the columns, so many bytes in all.
func (s *shards) want(sh *shard, b *Buffer) (bytes int64, err error) {
	b.chosen = slices.Grow(b.chosen[:0], len(s.media))[:len(s.media)]
	clear(b.chosen)
	b.pictures = b.pictures[:0]
	labelled := false
	for _, member := range b.members {
		for m := range s.media {
			if s.media[m].Many > 0 {
				s.add(sh, b, m, member)
			} else if err := s.choose(sh, b, m, member); err != nil {
				return 0, err
			}
		}
		if int(member.part) == sh.label {
			labelled = sh.numbers(member)
			if floats := sh.encoded[member.part] != nil && sh.encoded[member.part].name == recLabels; !labelled && (s.strict || !floats) {
				return 0, errLabel
			}
		}
	}
	for m := range s.media {
		if s.media[m].Many > 0 {
			err = s.checkSeveral(sh, b, m)
		} else {
			err = s.checkChosen(sh, b, m)
		}
		if err != nil {
			return 0, err
		}
	}
	if s.strict && !labelled && s.named == nil {
		return 0, &Error{Cause: Part, Detail: "no label; the parts are " + sh.partsOf(b)}
	}
	b.pieces = b.pieces[:0]
	for _, member := range b.members {
		if room := sh.room[member.part]; room >= 0 && int(member.size) > room {
			return 0, &Error{Cause: Value, Detail: fmt.Sprintf("part %q: got %d bytes, want at most %d; raise max_bytes of the column",
				partShown(sh.index.parts[member.part]), member.size, room)}
		} else if room >= 0 || s.checks(sh, member) || b.isChosen(member.part) && !s.staysInPlace(sh, member) {
			bytes = b.plan(member, bytes)
		}
	}
	return bytes, nil
}

// errLabel is want's of a sample whose label is no number: the index has no more of it.
var errLabel = errors.New("the label is no whole number")

// wrongLabel reads what the label says, where that is short, for the message.
func (s *shards) wrongLabel(ctx context.Context, sh *shard, b *Buffer) error {
	label := b.members[slices.IndexFunc(b.members, func(m indexMember) bool { return int(m.part) == sh.label })]
	got := fmt.Sprintf("%d bytes", label.size)
	if e := sh.encoded[sh.label]; e != nil && e.name == recLabels {
		return &Error{Cause: Value, Detail: fmt.Sprintf("label: %q is not one whole number; label[0] is the first of several, and a column has others: {name: labels, from: label, type: list, dtype: f32, max_length: 10}",
			partShown(sh.index.parts[sh.label]))}
	} else if e != nil {
		return &Error{Cause: Value, Detail: fmt.Sprintf("label: column %q is no whole number that i64 holds", partShown(sh.index.parts[sh.label]))}
	}
	if strings.HasSuffix(sh.index.parts[sh.label], wholesMark) {
		return &Error{Cause: Value, Detail: fmt.Sprintf("label: feature %q has not one whole number but none, or several", partShown(sh.index.parts[sh.label]))}
	}
	if label.size > 0 && label.size <= maxNumberText {
		b.pieces = b.pieces[:0]
		text := b.room(int(b.plan(label, 0)))
		if err := s.fetch(ctx, sh, b, text); err != nil {
			return err
		}
		got = strconv.Quote(string(text))
	}
	return &Error{Cause: Value, Detail: fmt.Sprintf("label: part %q is no whole number: got %s, want one of 64 bits in decimal, such as 17, in at most %d bytes",
		partShown(sh.index.parts[sh.label]), got, maxNumberText)}
}

// choose takes a member for a medium, if it is a better one than what is chosen.
func (s *shards) choose(sh *shard, b *Buffer, m int, member indexMember) error {
	rank, best := sh.rank[m][member.part], &b.chosen[m]
	if rank > 0 && rank == best.rank {
		return &Error{Cause: Part, Detail: fmt.Sprintf("got two pictures, %q and %q; say which in %s",
			partShown(sh.index.parts[best.member.part]), partShown(sh.index.parts[member.part]), s.keyOf(m))}
	}
	if rank > 0 && (best.rank == 0 || rank < best.rank) {
		*best = chosen{member: member, rank: rank}
	}
	return nil
}

// checkChosen refuses a sample without a medium, or with one that cannot be it.
func (s *shards) checkChosen(sh *shard, b *Buffer, m int) error {
	member := &b.chosen[m].member
	switch {
	case b.chosen[m].rank == 0 && len(s.media) == 1 && s.media[m].From == nil:
		return &Error{Cause: Part, Detail: "no part is a picture; the parts are " + sh.partsOf(b)}
	case b.chosen[m].rank == 0 && len(s.media) == 1:
		return &Error{Cause: Part, Detail: "no part is " + strings.Join(s.media[m].From, " or ") + "; the parts are " + sh.partsOf(b)}
	case b.chosen[m].rank == 0:
		return &Error{Cause: Part, Detail: about(s.media, m) + "no part is it; the parts are " + sh.partsOf(b)}
	case member.size == 0:
		detail := about(s.media, m) + "got 0 bytes"
		if e := sh.encoded[member.part]; e != nil && e.columnar {
			detail += ", or null; where a column beside it names a file instead, as in Hugging Face's {bytes, path}, write the data set with save_to_disk, which puts the files into it"
		}
		return &Error{Cause: Empty, Detail: detail}
	case int64(member.size) > s.maxBytes && !s.staysInPlace(sh, *member):
		return &Error{Cause: TooLarge, Detail: fmt.Sprintf("%sgot %d bytes, want at most %d", about(s.media, m), member.size, s.maxBytes)}
	}
	return nil
}

// isChosen says that a part is a medium of the sample.
func (b *Buffer) isChosen(part uint16) bool {
	is := func(c chosen) bool { return c.rank > 0 && c.member.part == part }
	return slices.ContainsFunc(b.chosen, is) || slices.ContainsFunc(b.pictures, is)
}

// partsOf names the parts of the sample that is planned.
func (sh *shard) partsOf(b *Buffer) string {
	var parts []string
	for _, m := range b.members {
		parts = append(parts, sh.index.parts[m.part])
	}
	return describeParts(partsShown(parts))
}

// plan adds a member to what is read, to the piece before it if it is near, or in it. total is the bytes planned so far.
func (b *Buffer) plan(m indexMember, total int64) int64 {
	if n := len(b.pieces); n > 0 {
		last := &b.pieces[n-1]
		end := last.off + last.size
		if m.off >= last.off && m.off+int64(m.size) <= end {
			return total
		}
		if m.off >= end && m.off-end <= mergeGap {
			grow := m.off + int64(m.size) - end
			last.size += grow
			return total + grow
		}
	}
	b.pieces = append(b.pieces, piece{off: m.off, size: int64(m.size), at: total})
	return total + int64(m.size)
}

// locate is where a planned member lies in the buffer's memory.
func (b *Buffer) locate(m indexMember) (at, end int64) {
	for _, p := range b.pieces {
		if m.off >= p.off && m.off+int64(m.size) <= p.off+p.size {
			at = p.at + m.off - p.off
			return at, at + int64(m.size)
		}
	}
	panic("source: a member was not planned") // want planned it
}

// fetch reads the planned pieces into data.
func (s *shards) fetch(ctx context.Context, sh *shard, b *Buffer, data []byte) error {
	if len(b.pieces) == 0 { // every column has a default
		return nil
	}
	if sh.object == nil {
		return s.root.readPieces(ctx, b, copy(b.path[:maxPath-1], sh.path), sh.version, data)
	}
	if done, err := s.fetchPlanned(ctx, b.extent(sh), b.pieces, data); done || err != nil {
		return err
	}
	for k, p := range b.pieces {
		if len(b.pieces) > 1 {
			if done, err := s.fetchPlanned(ctx, extent{sh, p.off, p.size}, b.pieces[k:k+1], data); err != nil {
				return err
			} else if done {
				continue
			}
		}
		if err := s.store.ReadAt(ctx, sh.object, data[p.at:p.at+p.size], p.off); err != nil {
			return storeError(err)
		}
	}
	return nil
}

// fill copies the columns' values out of the buffer's memory.
func (s *shards) fill(sh *shard, b *Buffer) error {
	for c := range s.columns {
		found := false
		for m := 0; m < len(b.members) && !found; m++ {
			if found = int(b.members[m].part) == sh.column[c]; found {
				at, end := b.locate(b.members[m])
				var err error
				column, part, stays := &s.columns[c], b.mem[at:end], len(s.media) == 0 && !b.members[m].split
				if mark, e := sh.marks[c], sh.encoded[sh.column[c]]; e != nil {
					if e.bit {
						part, err = e.bitsOf(b.members[m], part)
					} else if b.members[m].split {
						part, err = rejoined(bytes.Clone(part), e)
					}
					if err == nil {
						err = b.setEncoded(column, part, e, stays)
					}
				} else if mark != "" && mark != bytesMark {
					err = b.setFeature(column, part, mark)
				} else {
					err = b.setPart(column, part, stays)
				}
				if err != nil {
					return err
				}
			}
		}
		if !found {
			why := func() string {
				if part := sh.column[c]; part >= 0 && sh.encoded[part] != nil && sh.encoded[part].columnar {
					what := "it is null"
					if s.columns[c].Type == List {
						what += ", or a list with a null in it"
					}
					return what + "; give the column a default, or write a value"
				}
				if why := sh.markedOtherwise(b, s.columns[c].From, sh.marks[c]); why != "" {
					return why
				}
				return fmt.Sprintf("no part %q; the parts are %s", s.columns[c].From, sh.partsOf(b))
			}
			if err := b.setDefault(&s.columns[c], why); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeError is a store's error in this package's words.
func storeError(err error) error {
	var e *store.Error
	if !errors.As(err, &e) {
		return err
	}
	var all []string
	if e.URL != "" {
		all = append(all, strconv.Quote(store.Shown(e.URL)))
	}
	if e.Detail != "" {
		all = append(all, e.Detail)
	}
	detail := strings.Join(all, ": ")
	if e.Attempts > 1 {
		detail = strings.TrimSpace(fmt.Sprintf("%s (after %d attempts)", strings.TrimSpace(detail), e.Attempts))
	}
	return &Error{Cause: Cause(e.Cause), Detail: detail, Err: e.Err}
}

// readPieces reads b.pieces of the file b.path[:n], which must be of one version before and after.
func (r *root) readPieces(ctx context.Context, b *Buffer, n int, v version, data []byte) error {
	fd, err := r.openArchive(b, n, v)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, p := range b.pieces {
		if err := pread(ctx, fd, data[p.at:p.at+p.size], p.off, v.size, nil); err != nil {
			return err
		}
	}
	return unchanged(fd, &b.stat[0], &b.stat[1])
}

// openArchive opens the file b.path[:n], which must be of one version, and has b.stat[0] say what it is.
func (r *root) openArchive(b *Buffer, n int, v version) (int, error) {
	fd, err := r.open(b, n)
	if err != nil {
		return -1, err
	}
	now := &b.stat[0]
	if err = unix.Fstat(fd, now); err != nil {
		err = readError(err)
	} else if versionOf(now) != v {
		err = &Error{Cause: Changed, Detail: fmt.Sprintf("the archive had %d bytes when it was opened and has %d, written later", v.size, now.Size)}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
