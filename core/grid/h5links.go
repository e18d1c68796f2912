package grid

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	maxH5Links  = 1 << 20 // of a group
	maxSoftened = 16      // soft links on the way to one object
)

// link is a name in a group.
type link struct {
	name     string
	to       int64  // address of the object's header
	soft     string // the path that it stands for
	external bool   // it is of another file
}

// group are the links of the group at an address, sorted by name.
func (f *HDF5) group(addr int64) ([]link, error) {
	if all, ok := f.links[addr]; ok {
		return all, nil
	}
	messages, err := f.messages(addr)
	if err != nil {
		return nil, err
	}
	var all []link
	if table := messageOf(messages, msgSymbolTable); table != nil {
		all, err = f.oldLinks(table.body)
	} else {
		all, err = f.newLinks(messages)
	}
	if err != nil {
		return nil, fmt.Errorf("group at %d: %w", f.base+addr, err)
	}
	slices.SortStableFunc(all, func(a, b link) int { return cmp.Compare(a.name, b.name) })
	f.links[addr] = all
	return all, nil
}

// isGroup says that an object's header is that of a group.
func isGroup(messages []h5Message) bool {
	return messageOf(messages, msgSymbolTable) != nil || messageOf(messages, msgLinkInfo) != nil || messageOf(messages, msgLink) != nil
}

// newLinks are links of HDF5 1.8 and later: messages, or in a heap where there are many.
func (f *HDF5) newLinks(messages []h5Message) (all []link, err error) {
	for i := range messages {
		switch m := &messages[i]; m.kind {
		case msgLink:
			l, err := f.linkOf(m.body)
			if err != nil {
				return nil, err
			}
			all = append(all, l)
		case msgLinkInfo:
			c := cursor{b: m.body, at: 1}
			if c.number(1)&1 != 0 {
				c.skip(8)
			}
			heap, names := f.address(&c), f.address(&c)
			if c.short || heap < 0 || names < 0 {
				continue
			}
			if all, err = f.denseLinks(all, heap, names); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// denseLinks appends links that lie in a heap, and whose names are in a B-tree.
func (f *HDF5) denseLinks(all []link, heap, names int64) ([]link, error) {
	h, err := f.heap(heap)
	if err != nil {
		return nil, err
	}
	err = f.tree2(names, 5, func(record cursor) error {
		record.skip(4)
		body, err := h.object(record.bytes(h.idBytes))
		if err != nil {
			return err
		}
		l, err := f.linkOf(body)
		if all = append(all, l); len(all) > maxH5Links {
			return fmt.Errorf("got more than %d links", maxH5Links)
		}
		return err
	})
	return all, err
}

// linkOf reads a link.
func (f *HDF5) linkOf(body []byte) (l link, err error) {
	c := cursor{b: body, at: 1}
	flags, kind := c.number(1), uint64(0)
	if flags&8 != 0 {
		kind = c.number(1)
	}
	if flags&4 != 0 {
		c.skip(8)
	}
	if flags&16 != 0 {
		c.skip(1)
	}
	l.name = string(c.bytes(int(min(c.number(1<<(flags&3)), maxH5Block))))
	switch kind {
	case 0:
		l.to = f.address(&c)
	case 1:
		l.soft = string(c.bytes(int(c.number(2))))
	default:
		l.external = true
	}
	if c.short || body[0] != 1 {
		err = errors.New("a link is damaged")
	}
	return l, err
}

// oldLinks are those of a group as HDF5 had it first: names in a heap, and a B-tree of them.
func (f *HDF5) oldLinks(table []byte) (all []link, err error) {
	c := cursor{b: table}
	tree, heap := f.address(&c), f.address(&c)
	names, err := f.localHeap(heap)
	if err != nil {
		return nil, err
	}
	err = f.tree1(tree, 0, 0, func(_ cursor, node int64) error {
		all, err = f.symbols(all, node, names)
		return err
	})
	return all, err
}

// localHeap is the memory of one, in which names lie.
func (f *HDF5) localHeap(addr int64) ([]byte, error) {
	c, err := f.signed(addr, int64(8+2*f.lengthBytes+f.offsetBytes), "HEAP")
	if err != nil {
		return nil, err
	}
	c.skip(3)
	size := f.length(&c)
	f.length(&c)
	return f.bytes(f.address(&c), size)
}

// symbols appends the links of one node.
func (f *HDF5) symbols(all []link, addr int64, names []byte) ([]link, error) {
	c, err := f.signed(addr, 8, "SNOD")
	if err != nil {
		return nil, err
	}
	c.skip(1)
	n := int64(c.number(2))
	if int64(len(all))+n > maxH5Links {
		return nil, fmt.Errorf("got more than %d links", maxH5Links)
	}
	entries, err := f.bytes(addr+8, n*int64(2*f.offsetBytes+24))
	if err != nil {
		return nil, err
	}
	c = cursor{b: entries}
	for range n {
		name := cursor{b: names, at: int(min(c.number(f.offsetBytes), maxH5Block))}
		l := link{to: f.address(&c)}
		l.name = name.text()
		kind := c.number(4)
		c.skip(4)
		scratch := cursor{b: c.bytes(16)}
		if kind == 2 {
			value := cursor{b: names, at: int(scratch.number(4))}
			l.soft = value.text()
			name.short = name.short || value.short
		}
		if name.short {
			return nil, errors.New("the name of a link is damaged")
		}
		all = append(all, l)
	}
	return all, nil
}

// find is the address of the object of a path from the group at an address on; -1: there is none.
func (f *HDF5) find(from int64, name string, softened int) (int64, error) {
	at := from
	if strings.HasPrefix(name, "/") {
		at = f.root
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == "." {
			continue
		}
		all, err := f.group(at)
		if err != nil {
			return -1, err
		}
		k, found := slices.BinarySearchFunc(all, part, func(l link, name string) int { return cmp.Compare(l.name, name) })
		if !found {
			return -1, nil
		}
		if at, err = f.follow(at, &all[k], softened); at < 0 || err != nil {
			return -1, err
		}
	}
	return at, nil
}

// follow is the address that a link of the group at an address leads to; -1: to nothing.
func (f *HDF5) follow(group int64, l *link, softened int) (int64, error) {
	switch {
	case l.external:
		return -1, fmt.Errorf("%q is a link to another file, which is not followed; name that file", l.name)
	case l.soft == "":
		return l.to, nil
	case softened == maxSoftened:
		return -1, fmt.Errorf("%q is a link that leads from link to link, more than %d times", l.name, maxSoftened)
	}
	return f.find(group, l.soft, softened+1)
}

// Has says that there is something by that path.
func (f *HDF5) Has(name string) bool {
	f.begin()
	at, err := f.find(f.root, name, 0)
	return err == nil && at >= 0
}

// Match are the paths that a pattern is of, sorted part by part: *, ? and [...] stand for what is there, within one name. A pattern without
// them is a path, whether it is there or not.
func (f *HDF5) Match(pattern string) ([]string, error) {
	f.begin()
	if at, err := f.find(f.root, pattern, 0); !strings.ContainsAny(pattern, "*?[") || err == nil && at >= 0 {
		return []string{"/" + strings.Trim(pattern, "/")}, nil
	}
	names := []string{""}
	for _, part := range strings.Split(strings.Trim(pattern, "/"), "/") {
		var longer []string
		for _, name := range names {
			found, err := f.matching(name, part)
			if err != nil {
				return nil, err
			}
			longer = append(longer, found...)
		}
		if names = longer; len(names) > maxH5Links {
			return nil, fmt.Errorf("got more than %d names of %q", maxH5Links, pattern)
		}
	}
	return names, nil
}

// matching are the paths of what is in a group and has a name of a pattern.
func (f *HDF5) matching(group, pattern string) (names []string, err error) {
	at, err := f.find(f.root, group, 0)
	if err != nil || at < 0 {
		return nil, err
	}
	messages, err := f.messages(at)
	if err != nil || !isGroup(messages) {
		return nil, err
	}
	all, err := f.group(at)
	if err != nil {
		return nil, err
	}
	for i := range all {
		is, err := path.Match(pattern, all[i].name)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if is || all[i].name == pattern {
			names = append(names, group+"/"+all[i].name)
		}
	}
	return names, nil
}

// Names are the paths of datasets that the file has, up to so many.
func (f *HDF5) Names(most int) []string {
	f.begin()
	var names []string
	seen := map[int64]bool{}
	var look func(at int64, name string)
	look = func(at int64, name string) {
		if seen[at] || len(names) == most || len(seen) > 64*most {
			return
		}
		seen[at] = true
		messages, err := f.messages(at)
		switch {
		case err != nil:
			return
		case messageOf(messages, msgLayout) != nil:
			names = append(names, name)
			return
		case !isGroup(messages):
			return
		}
		all, _ := f.group(at)
		for i := range all {
			if to, err := f.follow(at, &all[i], 0); err == nil && to >= 0 {
				look(to, name+"/"+all[i].name)
			}
		}
	}
	look(f.root, "")
	return names
}
