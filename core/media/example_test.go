package media_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	"github.com/spdl/spdl/core/media"
)

func Example() {
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		panic(err)
	}
	op, err := media.Compile(media.Config{ResizeShort: 256, Out: media.Square(224)})
	if err != nil {
		panic(err)
	}
	worker, err := media.NewWorker(nil)
	if err != nil {
		panic(err)
	}
	defer worker.Close()
	row := make([]byte, op.RowBytes())
	info, err := worker.Row(row, encoded.Bytes(), op, media.Draw{})
	fmt.Println(info.Format, info.Width, info.Height, op.Shape(), len(row), err)
	// Output: png 640 480 [224 224 3] 150528 <nil>
}
