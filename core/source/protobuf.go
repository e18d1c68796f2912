package source

import (
	"encoding/binary"
	"errors"
	"math"
)

// The ways in which a field of a message is written.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// message is a range of a file that holds a message of Protocol Buffers.
type message struct {
	w       *window
	at, end int64
}

// protoField is one of its fields; of wireBytes with where they are.
type protoField struct {
	number, wire uint64
	at, size     int64
}

var errMessage = errors.New("it is no tf.train.Example or SequenceExample, or damaged; write or copy it again, or have a program of yours bring samples of other messages (source= in Python)")

func (m *message) more() bool { return m.at < m.end }

// field steps over the next one.
func (m *message) field() (f protoField, err error) {
	tag, err := m.varint()
	if err != nil {
		return f, err
	}
	f.number, f.wire = tag>>3, tag&7
	switch f.wire {
	case wireVarint:
		_, err = m.varint()
		return f, err
	case wire64:
		f.size = 8
	case wire32:
		f.size = 4
	case wireBytes:
		n, err := m.varint()
		if err != nil {
			return f, err
		}
		if n > uint64(m.end-m.at) || n > maxMemberSize {
			return f, errMessage
		}
		f.size = int64(n)
	default:
		return f, errMessage
	}
	if f.at, m.at = m.at, m.at+f.size; m.at > m.end {
		return f, errMessage
	}
	return f, nil
}

func (m *message) varint() (uint64, error) {
	text, err := m.w.bytes(m.at, int(min(maxVarint, m.end-m.at)))
	if err != nil {
		return 0, err
	}
	v, n := binary.Uvarint(text)
	if n <= 0 {
		return 0, errMessage
	}
	m.at += int64(n)
	return v, nil
}

var errFeature = errors.New("its numbers are damaged")

// eachNumber calls packed for every stretch of a list's numbers: one behind the other, or alone, as writers of old have them.
func eachNumber(list []byte, alone uint64, packed func(numbers []byte) error) error {
	for len(list) > 0 {
		tag, n := binary.Uvarint(list)
		if n <= 0 || tag>>3 != 1 {
			return errFeature
		}
		list = list[n:]
		size := uint64(4)
		switch wire := tag & 7; {
		case wire == wireBytes:
			var k int
			if size, k = binary.Uvarint(list); k <= 0 {
				return errFeature
			} else {
				list = list[k:]
			}
		case wire != alone:
			return errFeature
		case wire == wireVarint:
			_, k := binary.Uvarint(list)
			if k <= 0 {
				return errFeature
			}
			size = uint64(k)
		}
		if size > uint64(len(list)) {
			return errFeature
		}
		if err := packed(list[:size]); err != nil {
			return err
		}
		list = list[size:]
	}
	return nil
}

func eachWhole(list []byte, take func(v int64) error) error {
	return eachNumber(list, wireVarint, func(numbers []byte) error {
		for len(numbers) > 0 {
			v, n := binary.Uvarint(numbers)
			if n <= 0 {
				return errFeature
			}
			if err := take(int64(v)); err != nil {
				return err
			}
			numbers = numbers[n:]
		}
		return nil
	})
}

func eachFloat(list []byte, take func(v float64) error) error {
	return eachNumber(list, wire32, func(numbers []byte) error {
		if len(numbers)%4 != 0 {
			return errFeature
		}
		for ; len(numbers) > 0; numbers = numbers[4:] {
			if err := take(float64(math.Float32frombits(binary.LittleEndian.Uint32(numbers)))); err != nil {
				return err
			}
		}
		return nil
	})
}

// nextField is the first field of a message, and what lies behind it. Of one that is bytes its content is the body.
func nextField(data []byte) (tag uint64, body, rest []byte, err error) {
	tag, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, nil, errFeature
	}
	data = data[n:]
	size := uint64(0)
	switch tag & 7 {
	case wireVarint:
		_, n = binary.Uvarint(data)
	case wireBytes:
		size, n = binary.Uvarint(data)
	case wire64:
		size = 8
	case wire32:
		size = 4
	default:
		return 0, nil, nil, errFeature
	}
	if wire := tag & 7; wire == wire64 || wire == wire32 {
		n = 0
	} else if n <= 0 {
		return 0, nil, nil, errFeature
	}
	if size > uint64(len(data)-n) {
		return 0, nil, nil, errFeature
	}
	return tag, data[n:][:size], data[n+int(size):], nil
}

// eachSized calls take with every field of a message that has a number and is bytes.
func eachSized(data []byte, number uint64, take func(field []byte) error) error {
	for len(data) > 0 {
		tag, body, rest, err := nextField(data)
		if err == nil && tag == number<<3|wireBytes {
			err = take(body)
		}
		if err != nil {
			return err
		}
		data = rest
	}
	return nil
}
