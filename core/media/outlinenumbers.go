package media

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ReadNumbers reads the outlines of another picture as numbers, f64 in little-endian bytes, which cost no text to write and to read: of each object how many polygons it has, and of
// each of these how many numbers, and the numbers, x, y, x, y, ...; of an object of runs 0, the height and the width of its picture, how many counts there are, and the counts; or in
// their place, with a minus, how many characters pycocotools' text of them has, and the characters' codes.
func (o *Outlines) ReadNumbers(values []byte) error {
	*o = Outlines{text: values, numbers: o.numbers[:0], runs: o.runs[:0], shapes: o.shapes[:0], ends: o.ends[:0]}
	for len(o.text) > 0 {
		if err := o.objectOfNumbers(); err != nil {
			return fmt.Errorf("outline %d: %w", len(o.ends), err)
		}
		o.ends = append(o.ends, len(o.shapes))
	}
	return nil
}

func (o *Outlines) objectOfNumbers() error {
	polygons, err := o.count()
	switch {
	case err != nil:
		return err
	case polygons == 0:
		return o.runsOfNumbers()
	case polygons < 0:
		return errNoPolygon
	}
	for i := range polygons {
		if err := o.polygonOfNumbers(); err != nil {
			return fmt.Errorf("polygon %d: %w", i, err)
		}
	}
	return nil
}

func (o *Outlines) polygonOfNumbers() error {
	n, err := o.count()
	if err != nil {
		return err
	}
	first := len(o.numbers)
	for range n {
		v, err := o.value()
		if err == nil {
			err = o.point(v)
		}
		if err != nil {
			return err
		}
	}
	return o.closes(first)
}

func (o *Outlines) runsOfNumbers() error {
	s := outline{first: len(o.runs)}
	var all [3]int64
	for i := range all {
		var err error
		if all[i], err = o.count(); err != nil {
			return err
		}
	}
	if s.size = (Size{H: int(all[0]), W: int(all[1])}); s.size.H < 1 || s.size.W < 1 {
		return fmt.Errorf("got runs of a picture of %d x %d, want its height and width", s.size.H, s.size.W)
	}
	var p packedCount
	for range max(all[2], -all[2]) {
		v, err := o.count()
		switch {
		case err != nil:
		case all[2] > 0 && v < 0:
			err = fmt.Errorf("got %d, want a whole number from 0 on", v)
		case all[2] > 0:
			o.runs = append(o.runs, uint32(v))
		case v < 0 || v > math.MaxUint8:
			err = fmt.Errorf("counts: got %d, want the code of a character", v)
		default:
			err = o.unpack(&p, s.first, byte(v))
		}
		if err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	return o.comesTo(s)
}

// value is the next number.
func (o *Outlines) value() (float64, error) {
	if len(o.text) < 8 {
		return 0, errors.New("the numbers end within it")
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(o.text))
	o.text = o.text[8:]
	return v, nil
}

// count is the next number as a whole one of 32 bits, or the same with a minus.
func (o *Outlines) count() (int64, error) {
	v, err := o.value()
	if err == nil && !(v == math.Trunc(v) && math.Abs(v) <= math.MaxUint32) {
		err = fmt.Errorf("got %g, want a whole number", v)
	}
	return int64(v), err
}
