package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"strings"
)

// A TFRecord file is records, one behind the other: the length of the data, its masked CRC-32C, the data, and theirs. The data are a
// tf.train.Example, a message of Protocol Buffers: features by name, each a list of bytes, of floats or of whole numbers. A record is a sample, and its
// features are the parts: of one value of bytes these bytes, where they lie; of numbers the list as it is written, for setFeature to read. In the index
// the part's name has a mark behind it that tells which, and that no member of an archive has. A mark alone is the record: its data and their checksum.
const (
	recordHead  = 8 + 4 // before the data,
	recordEnd   = 4     // and behind
	bytesMark   = "\x00b"
	wholesMark  = "\x00i"
	floatsMark  = "\x00f"
	severalMark = "\x00s" // values of bytes, which no column takes
	recordPart  = "\x00r"
	crcMaskPlus = 0xa282ead8
	maxVarint   = 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum is a checksum as records have it: CRC-32C, turned and shifted.
func recordSum(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + crcMaskPlus
}

// sumBehind compares the checksum of some bytes, got, with that which stands behind them, want.
func sumBehind(all []byte) (got, want uint32, ok bool) {
	data := all[:len(all)-4]
	got, want = recordSum(data), binary.LittleEndian.Uint32(all[len(data):])
	return got, want, got == want
}

// areRecords says that a file begins as one of records does.
func areRecords(w *window) bool {
	head, err := w.bytes(0, recordHead)
	if err != nil {
		return false
	}
	_, _, ok := sumBehind(head)
	return ok
}

// AreRecords says that a local file begins as a TFRecord does, whatever it is called.
func AreRecords(path string) bool {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	return err == nil && st.Mode().IsRegular() && areRecords(&window{r: f, size: st.Size(), chunk: recordHead})
}

// buildRecordIndex walks a file of records until ctx ends. The features of a record are found without reading their values.
func buildRecordIndex(ctx context.Context, w *window) (*indexBuilder, error) {
	if w.size > maxArchive {
		return nil, fmt.Errorf("got %d bytes, want at most %d; split the file", w.size, int64(maxArchive))
	}
	b := newIndexBuilder()
	for at, n := int64(0), 0; at < w.size; n++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		end, err := addRecord(b, w, at, n)
		if errors.Is(err, errEnd) {
			return nil, fmt.Errorf("truncated: record %d at %d reaches beyond the %d bytes; write or copy it again", n, at, w.size)
		}
		if err != nil {
			return nil, fmt.Errorf("record %d at %d: %w", n, at, err)
		}
		at = end
	}
	return b, nil
}

// addRecord takes record n, and returns where the next one is.
func addRecord(b *indexBuilder, w *window, at int64, n int) (end int64, err error) {
	head, err := w.bytes(at, recordHead)
	if err != nil {
		return 0, err
	}
	length := binary.LittleEndian.Uint64(head)
	got, want, ok := sumBehind(head)
	switch {
	case !ok && n == 0 && packedAs(head) != "":
		return 0, packedRecords(head)
	case !ok:
		return 0, fmt.Errorf("its length has the checksum %08x, want %08x; the file is damaged, or no TFRecord; write or copy it again", got, want)
	case length > uint64(w.size-at-recordHead-recordEnd):
		return 0, errEnd
	}
	if length > maxMemberSize-recordEnd {
		return 0, fmt.Errorf("got %d bytes, want at most %d", length, int64(maxMemberSize-recordEnd))
	}
	from := at + recordHead
	end = from + int64(length)
	if err := b.numbered(int64(n)); err != nil {
		return 0, err
	}
	r := message{w, from, end}
	whole, err := b.part([]byte(recordPart))
	if err != nil {
		return 0, err
	}
	b.members = append(b.members, indexMember{off: from, size: uint32(length + recordEnd), part: whole})
	return end + recordEnd, b.example(r)
}

// example adds the features of a record to its sample.
func (b *indexBuilder) example(r message) error {
	first := len(b.members)
	for r.more() {
		f, err := r.field()
		switch {
		case err != nil:
			return err
		case f.number == 1 && f.wire == wireBytes:
			err = features(message{r.w, f.at, f.at + f.size}, first, b.feature)
		case f.number == 2 && f.wire == wireBytes:
			err = features(message{r.w, f.at, f.at + f.size}, first, b.featureList)
		}
		if err != nil {
			return err
		}
	}
	if len(b.members) == first && !b.fixed {
		return errors.New("it has no features; want a tf.train.Example or SequenceExample")
	}
	return nil
}

// unpacking are commands that unpack what records are compressed with, from FILE to PLAIN.
var unpacking = map[string]string{
	"GZIP": "gzip -dc < FILE > PLAIN",
	"ZLIB": `python3 -c "import sys, zlib; sys.stdout.buffer.write(zlib.decompress(sys.stdin.buffer.read()))" < FILE > PLAIN`,
}

// packedAs is GZIP or ZLIB, as TFRecordOptions has them, by what a file begins with, another compression, or "".
func packedAs(head []byte) string {
	switch {
	case head[0] == 0x1f && head[1] == 0x8b:
		return "GZIP"
	case head[0] == 0x78 && binary.BigEndian.Uint16(head)%31 == 0:
		return "ZLIB"
	case isCompressed(head):
		return "another way"
	}
	return ""
}

// packedRecords says what to do with compressed records.
func packedRecords(head []byte) error {
	as := packedAs(head)
	remedy := "unpack the file once"
	if command := unpacking[as]; command != "" {
		remedy += " (" + command + ")"
	}
	return fmt.Errorf("it is compressed (%s), so no record is found without unpacking all before it; %s, or write it without compression", as, remedy)
}

// features calls take with those of a record, or with its lists of them, whose members begin at first.
func features(r message, first int, take func(name string, value message, first int) error) error {
	for r.more() {
		entry, err := r.field()
		if err != nil {
			return err
		}
		if entry.number != 1 || entry.wire != wireBytes {
			continue
		}
		var name string
		var value message
		for in := (message{r.w, entry.at, entry.at + entry.size}); in.more(); {
			f, err := in.field()
			switch {
			case err != nil:
				return err
			case f.number == 1 && f.wire == wireBytes && f.size <= maxPartName-int64(len(bytesMark)):
				text, err := r.w.bytes(f.at, int(f.size))
				if err != nil {
					return err
				}
				name = string(text)
			case f.number == 2 && f.wire == wireBytes:
				value = message{r.w, f.at, f.at + f.size}
			}
		}
		if name == "" || strings.Contains(name, "\x00") {
			return fmt.Errorf("a feature has the name %.60q, want one of 1 to %d bytes", name, maxPartName-len(bytesMark))
		}
		if err := take(name, value, first); err != nil {
			return fmt.Errorf("feature %q: %w", name, err)
		}
	}
	return nil
}

// feature takes one, but for one without any value of bytes.
func (b *indexBuilder) feature(name string, r message, first int) error {
	for r.more() {
		list, err := r.field()
		if err != nil {
			return err
		}
		if list.wire != wireBytes || list.number < 1 || list.number > 3 {
			continue
		}
		m := indexMember{off: list.at, size: uint32(list.size)}
		values := message{r.w, list.at, list.at + list.size}
		switch list.number {
		case 1:
			n := 0
			for values.more() {
				f, err := values.field()
				if err != nil {
					return err
				}
				if f.number == 1 && f.wire == wireBytes {
					m.off, m.size = f.at, uint32(f.size)
					n++
				}
			}
			switch {
			case n == 0:
				continue
			case n == 1:
				name += bytesMark
			default:
				m.off, m.size = list.at, uint32(list.size)
				name += severalMark
			}
		case 2:
			name += floatsMark
		case 3:
			name += wholesMark
			if list.size <= maxVarint+2 {
				text, err := r.w.bytes(list.at, int(list.size))
				if err != nil {
					return err
				}
				m.value, m.number = oneWhole(text)
			}
		}
		if err := b.addFeature(name, m, first); err != nil {
			return err
		}
	}
	return nil
}

// addFeature adds a part, marked, to a record whose members begin at first.
func (b *indexBuilder) addFeature(name string, m indexMember, first int) (err error) {
	if m.wide() {
		b.wide++
	}
	if m.part, err = b.part([]byte(name)); err == errOtherPart {
		return nil
	} else if err != nil {
		return err
	}
	for _, other := range b.members[first:] {
		if other.part == m.part {
			return errors.New("it is there twice")
		}
	}
	if b.members = append(b.members, m); len(b.members) > math.MaxUint32/2 {
		return errors.New("got more than 2^31 features; split the file")
	}
	return nil
}

// oneWhole is the whole number of a list that has one.
func oneWhole(list []byte) (v int64, one bool) {
	n := 0
	err := eachWhole(list, func(x int64) error {
		v = x
		n++
		return nil
	})
	if err != nil || n != 1 {
		return 0, false
	}
	return v, true
}

// featureNamed is the place of a part, or of a feature, among the parts, or -1, with the mark of what its list holds.
func (x *index) featureNamed(name string) (part int, mark string) {
	for _, mark := range []string{"", bytesMark, wholesMark, floatsMark, severalMark, wholeStepsMark, floatStepsMark, byteStepsMark} {
		if k := x.partNamed(name + mark); k >= 0 {
			return k, mark
		}
	}
	return x.encodedNamed(name), ""
}

// markedOtherwise is why a column of a feature is not there though the record has a feature of that name; "": it has none.
func (sh *shard) markedOtherwise(b *Buffer, from, mark string) string {
	for _, m := range b.members {
		name, is, _ := strings.Cut(sh.index.parts[m.part], "\x00")
		if name == from && marksShown["\x00"+is] != "" {
			return fmt.Sprintf("it is a feature of %s, where other records of the file have %s; write the feature with one type", marksShown["\x00"+is], marksShown[mark])
		}
	}
	return ""
}

// marksShown says what features hold, by their marks.
var marksShown = map[string]string{
	bytesMark: "bytes", severalMark: "several values of bytes", wholesMark: "whole numbers", floatsMark: "floats",
	byteStepsMark: "steps of bytes", wholeStepsMark: "steps of whole numbers", floatStepsMark: "steps of floats",
}

// checks says that a member is a record whose checksum is looked at, for which all of it is read. One larger than any medium may be has small features
// that alone are wanted.
func (s *shards) checks(sh *shard, m indexMember) bool {
	return int(m.part) == sh.record && int64(m.size) <= s.maxBytes
}

// checkRecord compares the checksum of the record that was read, number k, with that behind it.
func (s *shards) checkRecord(sh *shard, k int64, b *Buffer) error {
	for _, m := range b.members {
		if !s.checks(sh, m) {
			continue
		}
		at, end := b.locate(m)
		if got, want, ok := sumBehind(b.mem[at:end]); !ok {
			return &Error{Cause: Checksum, Detail: fmt.Sprintf("record %d at %d: its %d bytes of data have the checksum %08x, want %08x; the file is damaged: write or copy it again",
				k, m.off-recordHead, end-at-recordEnd, got, want)}
		}
	}
	return nil
}

// ofOldRecords says that an index was made before records were parts.
func (x *index) ofOldRecords() bool {
	return x.partNamed(recordPart) < 0 && x.partNamed(arrayPart) < 0 && slices.ContainsFunc(x.parts, func(p string) bool { return strings.Contains(p, "\x00") && encodingMarked(p) == nil })
}

// partsShown are the names of parts without marks, and without those that have nothing else: records, and rows of nulls.
func partsShown(parts []string) (shown []string) {
	for _, p := range parts {
		if name := partShown(p); name != "" {
			shown = append(shown, name)
		}
	}
	return shown
}

// partShown is a part's name without a mark.
func partShown(part string) string {
	name, _, _ := strings.Cut(part, "\x00")
	return name
}

// setFeature appends the value of the buffer's next column from a list of numbers.
func (b *Buffer) setFeature(c *Column, list []byte, mark string) error {
	from := len(b.values)
	elements := texts{bytes: b.values}
	r := listRows{c: c, to: &elements}
	n := int64(0)
	count := func(err error) error {
		n++
		return err
	}
	var err error
	switch {
	case mark == severalMark:
		err = errors.New("a feature of several values of bytes, want one, or numbers")
	case mark == byteStepsMark:
		err = errors.New("a list of features of bytes, want one of numbers")
	case (mark == wholeStepsMark || mark == floatStepsMark) && c.Type != List:
		err = errors.New("a list of features, want a column of type list")
	case mark == wholeStepsMark || mark == floatStepsMark:
		n, err = r.setSteps(list, mark)
	case c.Type == Int64 && mark == wholesMark:
		err = eachWhole(list, func(v int64) error {
			elements.bytes = binary.NativeEndian.AppendUint64(elements.bytes, uint64(v))
			return count(nil)
		})
	case c.Type == Float64 && mark == wholesMark:
		err = eachWhole(list, func(v int64) error {
			elements.bytes = binary.NativeEndian.AppendUint64(elements.bytes, math.Float64bits(float64(v)))
			return count(nil)
		})
	case c.Type == Float64:
		err = eachFloat(list, func(v float64) error {
			elements.bytes = binary.NativeEndian.AppendUint64(elements.bytes, math.Float64bits(v))
			return count(nil)
		})
	case c.Type == List && mark == wholesMark:
		err = eachWhole(list, func(v int64) error { return count(r.whole(v)) })
	case c.Type == List:
		err = eachFloat(list, func(v float64) error { return count(r.float(v)) })
	default:
		err = fmt.Errorf("a feature of %s, want a column of type %s", marksShown[mark],
			map[string]string{wholesMark: "i64, f64 or list", floatsMark: "f64 or list"}[mark])
	}
	if err == nil {
		err = c.holds(n)
	}
	if err != nil {
		return &Error{Cause: Value, Detail: fmt.Sprintf("column %q: %v", c.Name, err)}
	}
	b.values = elements.bytes
	b.took(from)
	return nil
}

// holds refuses another number of numbers than the column has in a sample: lists are as they are stored, row by row.
func (c *Column) holds(n int64) error {
	if c.Type != List {
		if n != 1 {
			return fmt.Errorf("got %d numbers, want one", n)
		}
		return nil
	}
	each := int64(1)
	for _, d := range c.Shape {
		each *= d
	}
	switch {
	case c.MaxLength == 0 && n != each, c.MaxLength > 0 && n%each != 0:
		return fmt.Errorf("got %d numbers, want shape %s", n, c.shown())
	case c.MaxLength > 0:
		return c.longer(0, n/each)
	}
	return nil
}
