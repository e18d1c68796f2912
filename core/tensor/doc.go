// Package tensor says what bytes mean: an element type, a shape, strides, and a view of memory somebody else owns.
//
// The types that matter are [DType], whose values are DLPack's DLDataType word, [Shape], and [View].
//
//	view, err := tensor.NewView(slot, tensor.U8, tensor.Shape{32, 224, 224, 3})
//	row := view.Row(5) // the bytes of sample 5; len == cap
//
// It allocates no tensor memory, converts nothing and computes nothing. Everything here is a plain value: any number of
// goroutines may read one at the same time.
package tensor
