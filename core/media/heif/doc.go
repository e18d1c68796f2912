// Package heif reads the boxes of still pictures in ISO base media files: AVIF and HEIC (ISO/IEC 23008-12, AV1 Image File
// Format 1.1). It says where the coded bytes of the primary picture are and how its tiles are put together; it decodes nothing.
//
//	still, err := heif.Parse(data)
//	for i, tile := range still.Tiles { ... } // row by row, all of one size
//
// What it reads may be hostile: every size is checked against what is there, references are followed two steps deep, and
// the memory it takes is a small multiple of the input's.
package heif
