package source

import (
	"fmt"
	"slices"
	"strings"
)

// Lists of files in Arrow, as Hugging Face's Sequence(Image()) is: pictures of which a sample has several. An index that is made for such a medium has each file of a row as a part
// with a number, images.bytes[0] and so on, and tells a column that is null in a row from one without bytes (several, of no size). The index of other media does neither, so that it
// stays what it was.

// maxListFiles is how many files a row's list has at most.
const maxListFiles = 512

// wantsFiles says that there is a medium of several pictures, and that the index is of Arrow.
func wantsFiles(media []Medium, x *index) bool {
	return several(media) && x.partNamed(arrowPackage) < 0 &&
		slices.ContainsFunc(x.parts, func(part string) bool { return strings.Contains(part, encodedMark+arrowMark) })
}

// lists says that a medium may be a column of lists of that name.
func (m *Medium) lists(column string) bool {
	from := m.columns()
	return slices.Contains(from, column) || slices.Contains(from, strings.TrimSuffix(column, ".bytes"))
}

// listed is the column of a part that is a file of a list, and its number there.
func listed(part string) (column string, n int, is bool) {
	at := strings.LastIndexByte(part, '[')
	if at < 0 {
		return "", 0, false
	}
	n, is = numberIn("["+numberMark+"]", part[at:])
	return part[:at], n, is
}

// ofFiles says that a part is lists of files, whose bytes lie one behind the other.
func (p *arrowPart) ofFiles() bool {
	leaf := p.leaf
	if len(p.path) == 0 || leaf.is != "binary" || leaf.words != nil || leaf.offsets() == 0 {
		return false
	}
	return p.path[0].isList() && !slices.ContainsFunc(p.path[1:], func(f *arrowField) bool { return f.isList() })
}

// readFiles finds the files of n rows of a part's lists, from one on: those of a row end where p.ends says.
func (a *arrowBuilder) readFiles(p *arrowPart, from int64, n int) error {
	p.found, p.ends = p.found[:0], p.ends[:0]
	nulls := make([]bool, n)
	for _, f := range append(slices.Clip(p.above), p.path[0]) {
		if err := a.validity(f, from, n, func(i int) { nulls[i] = true }); err != nil {
			return err
		}
	}
	ranges, err := a.listRanges(p.path[0], from, n)
	if err != nil {
		return err
	}
	begin, end := ranges[0][0], ranges[n-1][1]
	if end-begin > int64(n)*maxListFiles {
		return fmt.Errorf("got %d files in %d lists, want at most %d in each", end-begin, n, maxListFiles)
	}
	cells, err := a.readTexts(p.leaf, begin, int(end-begin), nil)
	if err != nil {
		return err
	}
	for _, f := range append(slices.Clip(p.path[1:]), p.leaf) {
		err := a.validity(f, begin, int(end-begin), func(i int) { cells[i].size = 0 }) // which is no file
		if err != nil {
			return err
		}
	}
	for i, r := range ranges {
		if r[1]-r[0] > maxListFiles {
			return fmt.Errorf("row %d: got a list of %d files, want at most %d", a.rows+int64(i), r[1]-r[0], maxListFiles)
		}
		for k := r[0]; k < r[1] && !nulls[i]; k++ {
			m := cells[k-begin].indexMember
			if m.part, err = a.file(p, int(k-r[0])); err != nil {
				return err
			}
			p.found = append(p.found, m)
		}
		p.ends = append(p.ends, len(p.found))
	}
	return nil
}

// file is the part of the nth file of a list.
func (a *arrowBuilder) file(p *arrowPart, n int) (uint16, error) {
	for len(p.each) <= n {
		id, err := a.b.part(fmt.Appendf(nil, "%s[%d]%s%sbinary", p.name, len(p.each), encodedMark, arrowMark))
		if err != nil {
			return 0, err
		}
		p.each = append(p.each, id)
	}
	return p.each[n], nil
}

// files appends those of row i of the block in hand.
func (p *arrowPart) files(i int, members []indexMember) []indexMember {
	first := 0
	if i > 0 {
		first = p.ends[i-1]
	}
	return append(members, p.found[first:p.ends[i]]...)
}
