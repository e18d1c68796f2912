package upload

import (
	"encoding/binary"
	"fmt"

	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/core/device/cuda"
	"github.com/spdl/spdl/shm"
)

// Pictures that the device decodes: the files of a batch become pixels in a lane's memory, as many at a time as fit, and these its rows.
// What of a batch the device does not decode the engine does: the batch is given back, and comes again with pixels in these rows.

// tableBytes bounds a lane's memory for coefficients.
const tableBytes = 32 << 20

// decoding is how the rows of one tensor are made of files.
type decoding struct {
	places int // the tensor that says what each row is
	h, w   int
	jpegs  *cuda.JPEGs
	resize cuda.Resize
	group  int // pictures at most at a time
}

// coder is what a lane needs to decode.
type coder struct {
	pixels cuda.Address // device.MaxPictureBytes
	files  *cuda.JPEGLane
	at     *cuda.Places

	rows    []int  // of the batch's files, in their order
	used    uint64 // of pixels, by the group in hand
	refused device.Refusal
}

// newDecoding finds what decodes; places is the tensor of that name.
func (u *uploader) newDecoding(d *device.Decode, places int) (*decoding, error) {
	if places < 0 || d.H < 1 || d.W < 1 {
		return nil, fmt.Errorf("device: plan: pictures of %d x %d by tensor %q; use engine and uploader of one release", d.H, d.W, d.Places)
	}
	c := &decoding{places: places, h: d.H, w: d.W}
	var err error
	if c.jpegs, err = u.gpu.OpenJPEGs(); err != nil {
		return nil, err
	}
	c.resize, err = u.gpu.NewResize(d.H, d.W, d.Bicubic)
	c.group = max(1, int(tableBytes/c.resize.TableBytes(1, device.MaxTaps)))
	return c, err
}

// newCoder is for batches of so many rows.
func (u *uploader) newCoder(d *decoding, rows int) (*coder, error) {
	c := &coder{rows: make([]int, 0, rows)}
	var err error
	if c.pixels, err = u.gpu.Alloc(device.MaxPictureBytes); err != nil {
		return nil, err
	}
	if c.files, err = d.jpegs.NewLane(rows); err != nil {
		return nil, err
	}
	c.at, err = u.gpu.NewPlaces(&d.resize, rows, min(rows, d.group), device.MaxTaps)
	return c, err
}

// decode begins to make the rows of a batch, [rows, h, w, 3] at an address. What the device refuses is in the lane's coder then.
func (u *uploader) decode(l *shm.Lease, t *transfer, to cuda.Address, on *lane) error {
	d, c := t.decode, on.coder
	values, offsets, places := l.Tensor(t.from), l.Offsets(t.from), l.Tensor(d.places)
	if len(offsets) != l.Rows+1 || len(places) < l.Rows*placeBytes {
		return fmt.Errorf("device: batch %d: %d offsets and %d bytes of places for %d rows of files", l.Ticket, len(offsets), len(places), l.Rows)
	}
	for row := range l.Rows {
		begin, end, size := offsets[row], offsets[row+1], 3*d.h*d.w
		if begin < 0 || end < begin || end > int64(len(values)) {
			return fmt.Errorf("device: batch %d: row %d: bytes %d to %d of %d", l.Ticket, row, begin, end, len(values))
		}
		file, p := values[begin:end], placeOf(places, row)
		switch kind := p[device.PlaceKind]; {
		case kind == device.NoPicture:
			c.at.Put(cuda.Place{Row: row})
		case kind == device.Pixels && len(file) == size:
			if err := u.gpu.Copy(to+cuda.Address(row*size), file, on.stream); err != nil {
				return err
			}
		case kind == device.JPEG && fits(&p):
			if err := u.add(d, c, row, file, &p, to, on.stream); err != nil {
				return err
			}
		default:
			return fmt.Errorf("device: batch %d: row %d: kind %d of %d bytes, place %v", l.Ticket, row, kind, len(file), p)
		}
		if c.at.Len() == d.group {
			if err := u.flush(d, c, to, on.stream); err != nil {
				return err
			}
		}
	}
	return u.flush(d, c, to, on.stream)
}

// maxSide is a JPEG's.
const maxSide = 65535

// fits says that a place makes sense: the kernels trust it.
func fits(p *place) bool {
	w, h := int64(p[device.PlaceWidth]), int64(p[device.PlaceHeight])
	inside := func(from, n int32, of int64) bool { return from >= 0 && n > 0 && int64(from)+int64(n) <= of }
	return w > 0 && h > 0 && w <= maxSide && h <= maxSide && 3*w*h <= device.MaxPictureBytes && inside(p[device.PlaceBoxX], p[device.PlaceBoxW], w) && inside(p[device.PlaceBoxY], p[device.PlaceBoxH], h) &&
		p[device.PlaceResW] > 0 && p[device.PlaceResH] > 0
}

// add puts a file into the group in hand, where there is room for its pixels, and else into the next.
func (u *uploader) add(d *decoding, c *coder, row int, file []byte, p *place, to cuda.Address, s cuda.Stream) error {
	number := func(i int) int { return int(p[i]) }
	w, h := number(device.PlaceWidth), number(device.PlaceHeight)
	need := (uint64(3*w*h) + 255) &^ 255
	if c.used+need > device.MaxPictureBytes {
		if err := u.flush(d, c, to, s); err != nil {
			return err
		}
	}
	at := c.pixels + cuda.Address(c.used)
	c.used += need
	c.rows = append(c.rows, row)
	c.files.Put(file, at, w, h)
	c.at.Put(cuda.Place{
		From: at, Pitch: 3 * w, Row: row, BoxX: number(device.PlaceBoxX), BoxY: number(device.PlaceBoxY), BoxW: number(device.PlaceBoxW), BoxH: number(device.PlaceBoxH),
		ResW: number(device.PlaceResW), ResH: number(device.PlaceResH), WinX: number(device.PlaceX), WinY: number(device.PlaceY), Flip: p[device.PlaceFlip] != 0,
	})
	return nil
}

// flush decodes the group in hand and makes rows of it.
func (u *uploader) flush(d *decoding, c *coder, to cuda.Address, s cuda.Stream) error {
	c.used = 0
	if err := c.files.Decode(s, c.refuse); err != nil {
		return err
	}
	return u.gpu.Resize(&d.resize, to, c.at, s)
}

// begin forgets the batch before.
func (c *coder) begin() {
	c.files.Begin()
	c.at.Begin()
	c.rows, c.used, c.refused = c.rows[:0], 0, device.Refusal{}
}

func (c *coder) refuse(file int, why string, lasting bool) {
	c.refused.Rows, c.refused.Why = append(c.refused.Rows, c.rows[file]), "nvJPEG: "+why
	c.refused.Once = c.refused.Once || !lasting
}

// place is a row's, copied: its slot may be another's to write, too.
type place [device.PlaceInts]int32

const placeBytes = 4 * device.PlaceInts

func placeOf(places []byte, row int) (p place) {
	for i := range p {
		p[i] = int32(binary.NativeEndian.Uint32(places[row*placeBytes+4*i:]))
	}
	return p
}

// maxTries bounds how often a batch with files is begun. Uploaders may have died of these files, or refused now some and now others.
const maxTries = 3

// hasFiles says that some of a batch are for the device to decode.
func (d *decoding) hasFiles(l *shm.Lease) bool {
	places := l.Tensor(d.places)
	for row := range min(l.Rows, len(places)/placeBytes) {
		if p := placeOf(places, row); p[device.PlaceKind] == device.JPEG {
			return true
		}
	}
	return false
}
