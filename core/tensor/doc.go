// Package tensor says what bytes mean: an element type, and a shape with its strides.
//
// The types that matter are [DType], whose values are DLPack's DLDataType word, and [Shape].
//
//	bytes, err := tensor.Shape{32, 224, 224, 3}.Bytes(tensor.U8)
//
// It allocates no tensor memory, converts nothing and computes nothing. Everything here is a plain value: any number of
// goroutines may read one at the same time.
package tensor
