package spec

// pieces is what a row has in the place of one picture, patches or tiles, and how rows of fewer lie; "": it has one, or what many says.
func (i *Image) pieces() (name string, shape Cut) {
	switch {
	case i.Patches != nil:
		return "patches", i.Patches.Shape
	case i.Transform.Tiles != nil:
		return "tiles", i.Transform.Tiles.Shape
	}
	return "", ""
}

// checkPieces holds tiles and patches against the rest of the ring.
func (d *decoder) checkPieces(s *Spec) {
	for _, m := range s.Media() {
		if m.Image == nil {
			continue
		}
		i, at := m.Image, m.Path()
		name, _ := i.pieces()
		switch {
		case name == "":
		case i.Patches != nil && i.Transform.Tiles != nil:
			d.failAt(at+".tiles", "given beside patches; leave one of them out")
		case i.Many != nil:
			d.failAt(at+".many", "given beside %s, which are of one picture a sample; leave one of them out, or give each picture a field of its own, with from", name)
		case i.Transform.Tiles != nil && i.Open():
			d.failAt(at+".shape", "got %s beside tiles, which have one size, and whose own shape says how rows of fewer lie; leave it out", i.Shape)
		case i.Boxes != nil:
			d.failAt(at+".boxes", "given beside %s, over several of which a box may lie; leave one of them out: keep boxes as a column, and place them by size and grid, which say what the picture was and is", name)
		case i.Points != nil:
			d.failAt(at+".points", "given beside %s, each of which has a part of the picture; leave one of them out: keep points as a column, and place them by size and grid, which say what the picture was and is", name)
		case i.Affine:
			d.failAt(at+".affine", "given beside %s; leave it out: size and grid say what the picture was and where they lie", name)
		case i.Transform.Tiles != nil && i.Transform.besideTiles() != "":
			beside := i.Transform.besideTiles()
			d.failAt(at+".transform."+beside, "got %s beside tiles, which are cut from the picture as it is, and resized by their own rule; leave it out: normalize alone goes with them", beside)
		case s.Device.DecodesPictures():
			d.failAt("device.decode", "got nvjpeg beside %s.%s, want cpu: the device makes one picture of a file", at, name)
		case s.Device != nil && s.Device.Finish != nil:
			d.failAt("device.finish", "given beside %s.%s, want normalize and dtype in image: the device finishes one picture a sample", at, name)
		}
	}
}
