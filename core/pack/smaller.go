package pack

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
)

// Smaller makes pictures whose shorter side is above Side smaller, by Pillow's bilinear filter, and JPEGs of them. Others keep their
// bytes.
type Smaller struct {
	Side    int  // pixels of the shorter side
	Quality int  // of the JPEGs, 1 to 100
	Gray    bool // one channel
	Orient  bool // turn by the EXIF orientation, which the JPEGs do not have
}

// of is a smaller picture as JPEG; nil: it is small already.
func (s *Smaller) of(data []byte) ([]byte, error) {
	orientation, mode := "ignore", "rgb"
	if s.Orient {
		orientation = "apply"
	}
	if s.Gray {
		mode = "gray"
	}
	description := fmt.Sprintf(`{"image": {"mode": %q, "orientation": %q, "transform": [{"resize": %d}]}}`, mode, orientation, s.Side)
	m, err := load.Load([]byte(description), load.Source{Bytes: data}, nil)
	if err != nil {
		return nil, err
	}
	info := m.Info.(media.Info)
	if min(info.Width, info.Height) <= s.Side {
		return nil, nil
	}
	var b bytes.Buffer
	err = jpeg.Encode(&b, pictureOf(&m.Tensors[0]), &jpeg.Options{Quality: s.Quality})
	return b.Bytes(), err
}

// pictureOf is [H, W, C] as the encoder takes it.
func pictureOf(t *load.Tensor) image.Image {
	h, w := int(t.Shape[0]), int(t.Shape[1])
	frame := image.Rect(0, 0, w, h)
	if t.Shape[2] == 1 {
		return &image.Gray{Pix: t.Data, Stride: w, Rect: frame}
	}
	m := image.NewRGBA(frame)
	for i := range w * h {
		copy(m.Pix[4*i:], t.Data[3*i:3*i+3])
		m.Pix[4*i+3] = 0xff
	}
	return m
}
