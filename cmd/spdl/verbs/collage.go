package verbs

import (
	"image"
	"image/draw"
	"strings"
)

const collageGap = 4 // pixels between the media of a sample

// collage draws samples of several media: those of each one below the other.
type collage []painter

func (c collage) about() string {
	var each []string
	for _, p := range c {
		each = append(each, p.about())
	}
	return strings.Join(each, " · ")
}

func (c collage) paint(l tensors, row int) *image.RGBA {
	var parts []*image.RGBA
	width, height := 1, -collageGap
	for _, p := range c {
		m := p.paint(l, row)
		if m == nil {
			return nil
		}
		switch p.(type) {
		case *pixels, *sized:
			m = fit(m)
		}
		parts = append(parts, m)
		width, height = max(width, m.Bounds().Dx()), height+m.Bounds().Dy()+collageGap
	}
	page := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(page, page.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	y := 0
	for _, m := range parts {
		draw.Draw(page, image.Rect(0, y, m.Bounds().Dx(), y+m.Bounds().Dy()), m, m.Bounds().Min, draw.Src)
		y += m.Bounds().Dy() + collageGap
	}
	return page
}
