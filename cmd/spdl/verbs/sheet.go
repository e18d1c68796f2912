package verbs

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	scale "golang.org/x/image/draw"
)

// Measures of a contact sheet, in pixels.
const (
	cellSide   = 176 // longest side of a picture
	smallSide  = 96  // pictures below are enlarged in whole steps
	cellGap    = 12
	lineHeight = 17
	headHeight = 44
	maxPixels  = 1 << 26 // of a sheet
)

var (
	paper  = color.RGBA{0xfa, 0xfa, 0xf8, 255}
	ink    = color.RGBA{0x1c, 0x1c, 0x1e, 255}
	faint  = color.RGBA{0x6b, 0x6b, 0x70, 255}
	warned = color.RGBA{0xd0, 0x34, 0x2c, 255}
)

// cell is a picture with what is written below it.
type cell struct {
	picture *image.RGBA
	title   string // the class
	text    string // the key
	warning string // what is unusual; drawn with a frame
	asIs    bool   // the picture has its size already
}

// size is what the picture has on the sheet.
func (c *cell) size() image.Point {
	if c.asIs {
		return c.picture.Bounds().Size()
	}
	return fitted(c.picture.Bounds())
}

// sheet is a page of pictures in rows.
type sheet struct {
	page       *image.RGBA
	bold, text font.Face
}

// drawSheet arranges cells below a heading and a line about the batch. columns 0 makes the page about as wide as high.
func drawSheet(heading, about string, cells []cell, columns int) (*image.RGBA, error) {
	w, h := 0, 0
	for i := range cells {
		size := cells[i].size()
		w, h = max(w, size.X), max(h, size.Y)
	}
	w = max(w, 120)
	cellW, cellH := w+cellGap, h+2*lineHeight+cellGap+4
	if columns <= 0 {
		columns = int(math.Ceil(math.Sqrt(float64(len(cells)) * 1.4 * float64(cellH) / float64(cellW))))
	}
	columns = max(1, min(columns, len(cells)))
	lines := (len(cells) + columns - 1) / columns
	width, height := max(columns*cellW+cellGap, 560), headHeight+lines*cellH+cellGap
	if width*height > maxPixels {
		return nil, usage("view: a sheet of %d x %d pixels is too large; show fewer rows (--rows) or use other --columns", width, height)
	}
	s := &sheet{page: image.NewRGBA(image.Rect(0, 0, width, height))}
	if err := s.fonts(); err != nil {
		return nil, err
	}
	draw.Draw(s.page, s.page.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	s.write(s.bold, ink, heading, cellGap, 20, width-2*cellGap)
	s.write(s.text, faint, about, cellGap, 37, width-2*cellGap)
	for i := range cells {
		if !cells[i].asIs {
			cells[i].picture = fit(cells[i].picture)
		}
		x, y := cellGap+i%columns*cellW, headHeight+cellGap/2+i/columns*cellH
		s.cell(&cells[i], x, y, w, h)
	}
	return s.page, nil
}

func (s *sheet) fonts() error {
	for _, f := range []struct {
		data []byte
		face *font.Face
	}{{gobold.TTF, &s.bold}, {goregular.TTF, &s.text}} {
		parsed, err := opentype.Parse(f.data)
		if err != nil {
			return fmt.Errorf("view: font: %w", err)
		}
		if *f.face, err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: 13, DPI: 72, Hinting: font.HintingFull}); err != nil {
			return fmt.Errorf("view: font: %w", err)
		}
	}
	return nil
}

// cell draws a picture, centred above its two lines.
func (s *sheet) cell(c *cell, x, y, w, h int) {
	b := c.picture.Bounds()
	at := image.Rect(0, 0, b.Dx(), b.Dy()).Add(image.Pt(x+(w-b.Dx())/2, y+h-b.Dy()))
	if c.warning != "" {
		draw.Draw(s.page, at.Inset(-3), image.NewUniform(warned), image.Point{}, draw.Src)
	}
	draw.Draw(s.page, at, c.picture, image.Point{}, draw.Src)
	title, shade := c.title, ink
	if c.warning != "" {
		title, shade = c.warning, warned
	}
	s.write(s.bold, shade, title, x, y+h+lineHeight, w)
	s.write(s.text, faint, tail(s.text, c.text, w), x, y+h+2*lineHeight, w)
}

// write puts one line of text at (x, y), cut to width.
func (s *sheet) write(face font.Face, shade color.Color, text string, x, y, width int) {
	d := font.Drawer{Dst: s.page, Src: image.NewUniform(shade), Face: face, Dot: fixed.P(x, y)}
	d.DrawString(head(face, text, width))
}

// head is the beginning of text that fits into width, with an ellipsis where it is cut.
func head(face font.Face, text string, width int) string {
	runes := []rune(text)
	if n := fitting(face, runes, width); n < len(runes) {
		return string(runes[:n]) + "…"
	}
	return text
}

// tail is the end of text that fits into width: of a path, the part that tells pictures apart.
func tail(face font.Face, text string, width int) string {
	runes := []rune(text)
	slices.Reverse(runes)
	n := fitting(face, runes, width)
	if n == len(runes) {
		return text
	}
	runes = runes[:n]
	slices.Reverse(runes)
	return "…" + string(runes)
}

// fitting is how many runes fit into width: all of them, or as many as leave room for an ellipsis.
func fitting(face font.Face, runes []rune, width int) (cut int) {
	limit := fixed.I(width)
	dots, _ := face.GlyphAdvance('…')
	var used fixed.Int26_6
	for i, r := range runes {
		advance, _ := face.GlyphAdvance(r)
		if used += advance; used > limit {
			return cut
		}
		if used+dots <= limit {
			cut = i + 1
		}
	}
	return len(runes)
}

// fitted is the size of a picture in its cell: large ones are made smaller, tiny ones larger in whole steps, so that pixels
// stay visible.
func fitted(b image.Rectangle) image.Point {
	side := max(b.Dx(), b.Dy(), 1)
	switch {
	case side > cellSide:
		return image.Pt(max(1, b.Dx()*cellSide/side), max(1, b.Dy()*cellSide/side))
	case side < smallSide:
		return b.Size().Mul(cellSide / side)
	}
	return b.Size()
}

// fit brings a picture to that size.
func fit(m *image.RGBA) *image.RGBA {
	from, size := m.Bounds(), fitted(m.Bounds())
	if size == from.Size() {
		return m
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	scaleInto(out, out.Bounds(), m)
	return out
}

// scaleInto fills part of a page with a picture. Enlarged pixels stay square.
func scaleInto(page *image.RGBA, part image.Rectangle, m *image.RGBA) {
	var how scale.Scaler = scale.CatmullRom
	if part.Dx() > m.Bounds().Dx() {
		how = scale.NearestNeighbor
	}
	how.Scale(page, part, m, m.Bounds(), scale.Src, nil)
}
