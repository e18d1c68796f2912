package grid

import (
	"errors"
	"fmt"
)

// Kinds of messages in an object's header.
const (
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgOldFill      = 0x04
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgFilters      = 0x0b
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
)

const maxH5Messages = 1 << 16

// h5Message is one of the things that an object's header says.
type h5Message struct {
	kind   int
	shared bool // the body is where it lies
	at     int64
	body   []byte
}

// messages are all that an object's header has, in as many blocks as it is in.
func (f *HDF5) messages(addr int64) ([]h5Message, error) {
	head, err := f.bytes(addr, min(16, max(f.size-f.base-addr, 0)))
	if err != nil {
		return nil, fmt.Errorf("header of an object: %w", err)
	}
	h := header{f: f, seen: map[int64]bool{}}
	switch {
	case len(head) == 16 && string(head[:4]) == "OHDR":
		err = h.begin2(addr)
	case len(head) == 16 && head[0] == 1:
		c := cursor{b: head, at: 8}
		h.blocks = append(h.blocks, [2]int64{addr + 16, int64(c.number(4))})
	default:
		return nil, fmt.Errorf("got no header of an object at %d", f.base+addr)
	}
	for err == nil && len(h.blocks) > 0 {
		next := h.blocks[0]
		h.blocks = h.blocks[1:]
		err = h.block(next[0], next[1])
	}
	if err != nil {
		return nil, fmt.Errorf("header of an object at %d: %w", f.base+addr, err)
	}
	return h.all, nil
}

// header reads one.
type header struct {
	f       *HDF5
	blocks  [][2]int64 // that are still to be read: address and size
	seen    map[int64]bool
	all     []h5Message
	version int  // 0: the first
	ordered bool // messages have numbers
}

// begin2 reads the beginning of a header of version 2, and its first block.
func (h *header) begin2(addr int64) error {
	c, err := h.f.signed(addr, min(64, h.f.size-h.f.base-addr), "OHDR")
	if err != nil {
		return err
	}
	flags := c.number(1)
	if flags&0x20 != 0 {
		c.skip(16)
	}
	if flags&0x10 != 0 {
		c.skip(4)
	}
	size := int64(c.number(1 << (flags & 3)))
	if c.short || size < 0 || size > maxH5Block {
		return fmt.Errorf("got a first block of %d bytes", size)
	}
	whole, err := h.f.bytes(addr, int64(c.at)+size+4)
	if err == nil {
		whole, err = h.f.summed(whole, addr)
	}
	if err != nil {
		return err
	}
	h.version, h.ordered = 2, flags&4 != 0
	return h.body(whole[c.at:], addr+int64(c.at))
}

// block reads a block of messages, each once.
func (h *header) block(addr, size int64) error {
	if h.seen[addr] {
		return errors.New("its blocks lead back to one of them")
	}
	h.seen[addr] = true
	if h.version == 0 {
		b, err := h.f.bytes(addr, size)
		if err != nil {
			return err
		}
		return h.body(b, addr)
	}
	b, err := h.f.bytes(addr, size)
	if err == nil {
		b, err = h.f.summed(b, addr)
	}
	if err != nil {
		return err
	}
	if len(b) < 4 || string(b[:4]) != "OCHK" {
		return fmt.Errorf("got no OCHK at %d", h.f.base+addr)
	}
	return h.body(b[4:], addr+4)
}

// body reads the messages of a block.
func (h *header) body(b []byte, at int64) error {
	c := cursor{b: b}
	for {
		m, size, flags := h5Message{}, 0, uint64(0)
		if h.version == 0 {
			m.kind, size, flags = int(c.number(2)), int(c.number(2)), c.number(1)
			c.skip(3)
		} else {
			m.kind, size, flags = int(c.number(1)), int(c.number(2)), c.number(1)
			if h.ordered {
				c.skip(2)
			}
		}
		m.at, m.shared = at+int64(c.at), flags&2 != 0
		if m.body = c.bytes(size); c.short { // a gap, or the end
			return nil
		}
		if m.kind == msgContinuation {
			next := cursor{b: m.body}
			h.blocks = append(h.blocks, [2]int64{h.f.address(&next), h.f.length(&next)})
			continue
		}
		if h.all = append(h.all, m); len(h.all) > maxH5Messages {
			return fmt.Errorf("got more than %d messages", maxH5Messages)
		}
	}
}

// message is the first of a kind; nil: there is none.
func messageOf(all []h5Message, kind int) *h5Message {
	for i := range all {
		if all[i].kind == kind {
			return &all[i]
		}
	}
	return nil
}

// resolved is a message that may lie in another object's header, as a named type does.
func (f *HDF5) resolved(m *h5Message) (*h5Message, error) {
	if m == nil || !m.shared {
		return m, nil
	}
	c := cursor{b: m.body}
	version, kind := c.number(1), c.number(1)
	if version == 1 {
		c.skip(6)
	}
	if version == 3 && kind != 2 || version < 1 || version > 3 {
		return nil, errors.New("it is shared in a heap of messages, which is not read here; write the file again without shared messages")
	}
	all, err := f.messages(f.address(&c))
	if err != nil {
		return nil, err
	}
	other := messageOf(all, m.kind)
	if other == nil || other.shared {
		return nil, errors.New("it is shared, and not where it should lie")
	}
	return other, nil
}
