// Package array reads and writes NumPy's files: .npy, one array, and .npz, a zip archive of them. [Tar] and [Zip] go through the files of an
// archive in memory.
//
//	a, err := array.ParseNPY(data)      // a.Data is a part of data
//	dst := make([]byte, len(a.Data))
//	a.CopyTo(dst)                       // row-major, little-endian, whatever the file has
//
//	z, err := array.OpenNPZ(data)
//	a, err = z.Array("arr_0")
//
// [WriteNPZ] writes one that NumPy reads.
//
// An [Array] views the memory that it was parsed from and is valid as long as that is: a stored member of an archive is viewed, a
// deflated one has memory of its own. Nothing of a file is believed: the header's every word is checked, shape times element size
// against the bytes that are there, a member against its CRC-32, and what a deflated member says of its length against what deflate can
// do.
//
// Taken are booleans, whole numbers of 8 to 64 bits and floats of 16 to 64 bits, in either byte order, in C's and in Fortran's order of
// the indexes, of format versions 1.0, 2.0 and 3.0. Refused by name are objects (their bytes are a program), texts, structures, complex
// and longer floats. Bytes behind the last element are passed over, as NumPy does.
//
// Values of these types may be read by any number of goroutines; [Array.Parse] writes its receiver.
package array
