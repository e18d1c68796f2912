package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A medium of several pictures in an archive: the parts of a sample whose names have a number, or those that are named.

// order says which parts are pictures of a medium, and in which order: one without a number comes first.
func (s *shards) order(m *Medium, parts []string) []uint32 {
	ranks := make([]uint32, len(parts))
	for k, part := range parts {
		name := strings.TrimSuffix(part, bytesMark)
		if e := s.encodingMarked(part); e != nil {
			if name = partShown(part); !e.file() {
				continue
			}
		}
		for _, name := range []string{name, strings.TrimSuffix(name, ".bytes")} { // Hugging Face's {bytes, path}
			if ranks[k] == 0 {
				ranks[k] = m.rank(name)
			}
		}
		if column, n, is := listed(name); is && !m.Each && m.lists(column) {
			ranks[k] = uint32(n) + 2
		}
		if m.From == nil && claimed(s.media, name) {
			ranks[k] = 0
		}
	}
	return ranks
}

// rank is the place of a part among the medium's pictures; 0: it is none.
func (m *Medium) rank(part string) uint32 {
	if m.Each {
		return uint32(slices.Index(m.From, part) + 1)
	}
	from := m.From
	if from == nil {
		ending := part[strings.LastIndexByte(part, '.')+1:]
		if !slices.Contains(ImageExtensions, ending) {
			return 0
		}
		from = []string{ending, numberMark + "." + ending}
	}
	for _, pattern := range from {
		if n, is := numberIn(pattern, part); is && strings.Contains(pattern, numberMark) {
			return uint32(n) + 2
		} else if pattern == part {
			return 1
		}
	}
	return 0
}

// add takes a member as a picture of a medium, if it is one.
func (s *shards) add(sh *shard, b *Buffer, m int, member indexMember) {
	if rank := sh.rank[m][member.part]; rank > 0 && !(member.size == 0 && member.several) { // which is null, of Arrow
		b.pictures = append(b.pictures, chosen{member, rank, m})
	}
}

// checkSeveral puts the pictures of a medium in order, behind those of the media before it, and refuses those that cannot be it, or are too many.
func (s *shards) checkSeveral(sh *shard, b *Buffer, m int) error {
	medium := &s.media[m]
	slices.SortStableFunc(b.pictures, func(x, y chosen) int { return cmp.Or(x.medium-y.medium, cmp.Compare(x.rank, y.rank)) })
	first := slices.IndexFunc(b.pictures, func(c chosen) bool { return c.medium == m })
	if first < 0 {
		return nil
	}
	all := b.pictures[first:]
	if next := slices.IndexFunc(all, func(c chosen) bool { return c.medium != m }); next >= 0 {
		all = all[:next]
	}
	n, err := medium.tooMany(len(all))
	if err != nil {
		return err
	}
	for k := range n {
		member, part := &all[k].member, partShown(sh.index.parts[all[k].member.part])
		var cause Cause
		detail := ""
		switch {
		case k > 0 && all[k].rank == all[k-1].rank:
			return &Error{Cause: Part, Detail: fmt.Sprintf("%s: got two pictures of one number, %q and %q; want one", medium.Name, partShown(sh.index.parts[all[k-1].member.part]), part)}
		case member.split:
			cause, detail = Part, "it lies in several parts of a record, which is read as one picture only; leave many out"
		case member.size == 0:
			cause, detail = Empty, "got 0 bytes"
		case int64(member.size) > s.maxBytes:
			cause, detail = TooLarge, fmt.Sprintf("got %d bytes, want at most %d", member.size, s.maxBytes)
		default:
			continue
		}
		return medium.picture(&Error{Cause: cause, Detail: detail}, k, len(all), "part", []byte(part))
	}
	b.pictures = slices.Delete(b.pictures, first+n, first+len(all))
	return nil
}

// bundle makes one part of the pictures of each medium that has several.
func (s *shards) bundle(b *Buffer) {
	end := len(b.parts)
	for m := len(s.media) - 1; m >= 0; m-- {
		if s.media[m].Many == 0 {
			end--
			continue
		}
		n := 0
		for _, c := range b.pictures {
			if c.medium == m {
				n++
			}
		}
		b.bundle(end-n, end)
		end -= n
	}
}
